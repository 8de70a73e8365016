//! Owns: `Roll`, what all live processes do, as it was at one moment.
//! May use: what `muster` has noted.
//! Never: a look at anybody: what stands here is a copy.

use super::age::Stamp;
use super::reach::Reached;
use super::walks::Walks;
use crate::wait::Thing;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::panic::Location;

/// No text is longer.
const TEXT_BYTES_MAX: usize = 160;

/// Whether the workers are to be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// They run.
    Stopping,
    /// Certainly nothing runs, and nothing ever will.
    Still,
}

/// A piece of the roll's text.
pub(super) type Span = Range<u32>;

/// What one is at.
#[derive(Clone, Debug)]
pub(super) enum State {
    /// It has not begun.
    Fresh,
    /// Its turn will come; or it is about to wait, or has just been woken.
    Ready,
    /// On the worker of this number.
    Runs(usize),
    /// In a call of `blocking`, on another OS thread.
    Away(Option<Waiting>),
    Waits(Waiting),
    /// The workers could not be stopped.
    Unknown,
}

/// A wait, copied.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) call: &'static str,
    pub(super) kind: &'static str,
    pub(super) site: &'static Location<'static>,
    pub(super) subject: usize,
    pub(super) more: Span,
    /// When it began to.
    pub(super) since: Stamp,
    pub(super) held: Option<(usize, &'static Location<'static>)>,
    /// Who alone could end it; 0 if that is not known.
    pub(super) awaits: usize,
    /// The things by which others could.
    pub(super) things: Span,
}

/// One process or thread.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) address: usize,
    pub(super) id: u64,
    pub(super) name: Option<Span>,
    pub(super) is_thread: bool,
    /// Where those show themselves to wait who wait for its job; 0 if it is no job's.
    pub(super) job: usize,
    pub(super) site: &'static Location<'static>,
    pub(super) state: State,
    /// The functions that it is in.
    pub(super) frames: Span,
}

/// One OS thread of the program's that waits in a call of ours.
#[derive(Clone, Debug)]
pub(super) struct Outsider {
    pub(super) address: usize,
    pub(super) os_thread: i32,
    pub(super) waits: Waiting,
    /// Those of the program, on its stack.
    pub(super) frames: Range<usize>,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Roll {
    pub(super) rows: Vec<Row>,
    pub(super) outsiders: Vec<Outsider>,
    /// Cells that have not ended.
    pub(super) cells: u64,
    pub(super) workers: usize,
    /// When that was.
    pub(super) now: u64,
    /// The workers did not stand still: nothing was followed.
    pub(super) is_shallow: bool,
    pub(super) running: Vec<Running>,
    /// The rows, by address: a million may wait for one.
    pub(super) places: HashMap<usize, usize>,
    pub(super) text: Text,
    pub(super) walks: Walks,
    pub(super) things: Vec<Thing>,
    /// Who has them.
    pub(super) reached: Reached,
    /// All stacks have been looked through for that, and nothing runs that could have them in a register.
    pub(super) all_searched: bool,
}

/// What was found to run.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) header: usize,
    /// The worker's address and number.
    pub(super) worker: usize,
    pub(super) index: usize,
    /// Where its stack pointer is.
    pub(super) stands_at: usize,
    pub(super) frames: Span,
}

/// Text of a size that was fixed before.
#[derive(Debug, Default)]
pub(super) struct Text(Vec<u8>);

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
    pub(super) fn with_room(bytes: usize) -> Text {
        Text(Vec::with_capacity(bytes))
    }

    /// A piece, of what `write` writes.
    pub(super) fn span(&mut self, write: impl FnOnce(&mut Text) -> fmt::Result) -> Span {
        let begin = self.0.len();
        let _infallible = write(self);
        let mut end = self.0.len().min(begin + TEXT_BYTES_MAX);
        while end < self.0.len() && self.0[end] & 0xc0 == 0x80 {
            end -= 1;
        }
        self.0.truncate(end);
        begin as u32..end as u32
    }
}

impl Roll {
    /// Who runs on the worker at this address, and the functions that it is in.
    pub(super) fn who_runs_on(&self, worker: usize) -> (Option<&Row>, &[usize]) {
        let Some(one) = self.running.iter().find(|one| one.worker == worker) else { return (None, &[]) };
        (self.row_at(one.header).map(|at| &self.rows[at]), self.walks.get(&one.frames))
    }

    /// The functions that one is in: return addresses, the innermost first.
    pub(super) fn frames(&self, row: &Row) -> &[usize] {
        self.walks.get(&row.frames)
    }

    /// The things by which others could end a wait.
    pub(super) fn things(&self, waiting: &Waiting) -> &[Thing] {
        &self.things[waiting.things.start as usize..waiting.things.end as usize]
    }

    /// The place of the one whose control block, or job, is at this address.
    pub(super) fn row_at(&self, address: usize) -> Option<usize> {
        self.places.get(&address).copied()
    }

    /// The text of a piece.
    pub(super) fn text(&self, span: &Span) -> &str {
        std::str::from_utf8(&self.text.0[span.start as usize..span.end as usize]).unwrap_or("?")
    }
}
