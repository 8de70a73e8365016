//! Owns: `ProcessTable`, what all live processes did at one moment.
//! May use: `walks`, `raddle-core`.
//! Never: a look at anybody: what stands here is a copy.

use crate::walks::{Span, Walks};
use raddle_core::stack_search::Reached;
use raddle_core::stamp::Stamp;
use raddle_core::wait::{Thing, WaitCall};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Range;
use std::panic::Location;

/// No text is longer.
const TEXT_BYTES_MAX: usize = 160;
/// But for what is said of a wait, as long as all texts together have not so many bytes: who waits for several
/// variables tells of each where it was made, and who has written it.
pub(crate) const LONG_TEXTS_BYTES: usize = 32 << 10;
const LONG_TEXT_BYTES_MAX: usize = 1200;

/// Whether the workers are to be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// They run.
    Stopping,
    /// Certainly nothing runs, and nothing ever will.
    Quiescent,
    /// The same, but some workers are blocked by what is none of ours: they have to be stopped to see what they are at.
    Blocked,
}

/// What one is at.
#[derive(Clone, Debug)]
pub(crate) enum ProcessState {
    /// It has not begun.
    Fresh,
    /// Its turn will come; or it is about to wait, or has just been woken.
    Ready,
    /// On the worker of this number.
    Runs(usize),
    /// On the worker of this number, which sleeps in a system call.
    Blocked(usize, i64),
    /// In a call of `blocking`, on another OS thread.
    Away(Option<Waiting>),
    Waits(Waiting),
    /// The workers could not be stopped.
    Unknown,
}

/// Who holds something, and since where, if that is known.
pub(crate) type HeldSince = (usize, Option<&'static Location<'static>>);

/// A wait, copied.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) call: &'static WaitCall,
    pub(crate) kind: &'static str,
    pub(crate) site: &'static Location<'static>,
    pub(crate) subject: usize,
    pub(crate) more: Span,
    /// When it began to.
    pub(crate) since: Stamp,
    /// Who holds it, if that is known. They are several of what several may have.
    pub(crate) held: Span,
    /// Who alone could end it; 0 if that is not known.
    pub(crate) awaits: usize,
    /// The things by which others could.
    pub(crate) things: Span,
}

/// One process or thread.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) address: usize,
    pub(crate) id: u64,
    pub(crate) name: Option<Span>,
    pub(crate) is_thread: bool,
    /// Where those show themselves to wait who wait for its job; 0 if it is no job's.
    pub(crate) job: usize,
    pub(crate) site: &'static Location<'static>,
    pub(crate) state: ProcessState,
    /// The functions that it is in.
    pub(crate) frames: Span,
    /// Where it runs, if it has begun: the runtime's address.
    pub(crate) runtime: Option<usize>,
}

/// One OS thread of the program's that waits in a call of ours.
#[derive(Clone, Debug)]
pub(crate) struct OsThreadRow {
    pub(crate) address: usize,
    pub(crate) os_thread: i32,
    pub(crate) waits: Waiting,
    /// Those of the program, on its stack.
    pub(crate) frames: Range<usize>,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct ProcessTable {
    pub(crate) rows: Vec<Row>,
    pub(crate) os_threads: Vec<OsThreadRow>,
    /// Tasks that have not ended.
    pub(crate) tasks: u64,
    /// What futures wait for, in words, and how many.
    pub(crate) futures: BTreeMap<String, usize>,
    /// The pollers at which something is outstanding, and how much.
    pub(crate) outstanding: Vec<(String, usize)>,
    pub(crate) workers: usize,
    /// When that was.
    pub(crate) now: u64,
    /// The workers did not stand still: nothing was followed.
    pub(crate) is_shallow: bool,
    /// The control blocks of those who lie in queues, sorted: woken, they wait no more.
    pub(crate) queued: Vec<usize>,
    /// All of them are known: no worker was stopped in the midst of a queue.
    pub(crate) knows_queued: bool,
    pub(crate) running: Vec<Running>,
    /// The rows, by address: a million may wait for one.
    pub(crate) places: HashMap<usize, usize>,
    pub(crate) text: Text,
    pub(crate) walks: Walks,
    pub(crate) things: Vec<Thing>,
    pub(crate) holders: Vec<HeldSince>,
    /// Who has them.
    pub(crate) reached: Reached,
    /// All stacks of processes have been looked through for that.
    pub(crate) all_searched: bool,
    /// And nothing runs, and no OS thread is left out, that could have them, too.
    pub(crate) is_final: bool,
    /// Nothing will ever run again, though some workers are not asleep.
    pub(crate) is_stuck: bool,
}

/// What was found to run.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) header: usize,
    /// The worker's address and number.
    pub(crate) worker: usize,
    pub(crate) index: usize,
    /// Where its stack pointer is.
    pub(crate) stands_at: usize,
    pub(crate) frames: Span,
    /// The number of the system call in which it sleeps.
    pub(crate) blocked: Option<i64>,
}

/// Text of a size that was fixed before.
#[derive(Debug, Default)]
pub(crate) struct Text(Vec<u8>);

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.0.capacity() - self.0.len();
        let mut len = text.len().min(room);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        self.0.extend_from_slice(&text.as_bytes()[..len]);
        Ok(())
    }
}

impl Text {
    pub(crate) fn with_room(bytes: usize) -> Text {
        Text(Vec::with_capacity(bytes))
    }

    /// A piece, of what `write` writes.
    pub(crate) fn span(&mut self, write: impl FnOnce(&mut Text) -> fmt::Result) -> Span {
        self.span_of(TEXT_BYTES_MAX, write)
    }

    /// As [`span`](Self::span), of what may be long.
    pub(crate) fn long_span(&mut self, write: impl FnOnce(&mut Text) -> fmt::Result) -> Span {
        let is_early = self.0.len() < LONG_TEXTS_BYTES;
        self.span_of(if is_early { LONG_TEXT_BYTES_MAX } else { TEXT_BYTES_MAX }, write)
    }

    fn span_of(&mut self, bytes_max: usize, write: impl FnOnce(&mut Text) -> fmt::Result) -> Span {
        let begin = self.0.len();
        let _infallible = write(self);
        let mut end = self.0.len().min(begin + bytes_max);
        while end < self.0.len() && self.0[end] & 0xc0 == 0x80 {
            end -= 1;
        }
        self.0.truncate(end);
        begin as u32..end as u32
    }
}

impl ProcessTable {
    /// Who runs on the worker at this address, and the functions that it is in.
    pub(crate) fn who_runs_on(&self, worker: usize) -> (Option<&Row>, &[usize]) {
        let Some(one) = self.running.iter().find(|one| one.worker == worker) else { return (None, &[]) };
        (self.row_at(one.header).map(|at| &self.rows[at]), self.walks.get(&one.frames))
    }

    /// The functions that one is in: return addresses, the innermost first.
    pub(crate) fn frames(&self, row: &Row) -> &[usize] {
        self.walks.get(&row.frames)
    }

    /// The things by which others could end a wait.
    pub(crate) fn things(&self, waiting: &Waiting) -> &[Thing] {
        &self.things[waiting.things.start as usize..waiting.things.end as usize]
    }

    /// Those who hold what is waited for.
    pub(crate) fn held(&self, waiting: &Waiting) -> &[HeldSince] {
        &self.holders[waiting.held.start as usize..waiting.held.end as usize]
    }

    /// The place of the one whose control block, or job, is at this address.
    pub(crate) fn row_at(&self, address: usize) -> Option<usize> {
        self.places.get(&address).copied()
    }

    /// The text of a piece.
    pub(crate) fn text(&self, span: &Span) -> &str {
        std::str::from_utf8(&self.text.0[span.start as usize..span.end as usize]).unwrap_or("?")
    }
}
