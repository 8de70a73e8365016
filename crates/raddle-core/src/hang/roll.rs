//! Owns: `Roll`, what all live processes do, as it was at one moment.
//! May use: the list of all control blocks, `seat`, `stop`.
//! Never: an allocation while the workers stand: one of them may hold the allocator's lock.
//!
//! Control blocks stay with the program, so that all that have ever lived can be walked (`process::pool`): those with
//! a number live. A block that an OS thread of the program fills, or takes out of life, does so under the depot's lock
//! or before its number stands there, and whoever walks holds that lock. All else is the workers', which stand still,
//! or sleep for good.

use super::age::{self, Stamp};
use super::seat::{self, Seat, Seats, Sitter};
use super::stop::{self, Stopped};
use super::walks::Walks;
use super::watch::Watched;
use crate::header::{AWAY, OWN_TLS, STARTED};
use crate::process::block::Block;
use crate::process::pool;
use crate::protocol::jobs::Node;
use crate::runtime::Shared;
use crate::wait::Wait;
use crate::worker::Worker;
use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::mem::offset_of;
use std::ops::Range;
use std::panic::Location;
use std::sync::atomic::Ordering;

/// So many bytes of names and of states are kept for each process; what is more is cut off.
const TEXT_BYTES_EACH: usize = 96;
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
    running: Vec<Running>,
    /// The rows, by address: a million may wait for one.
    places: HashMap<usize, usize>,
    text: Text,
    walks: Walks,
}

/// What was found to run.
#[derive(Debug)]
struct Running {
    header: usize,
    /// The worker's address and number.
    worker: usize,
    index: usize,
    /// Where its stack pointer is.
    stands_at: usize,
    frames: Span,
}

/// Text of a size that was fixed before.
#[derive(Debug, Default)]
struct Text(Vec<u8>);

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
    fn span(&mut self, write: impl FnOnce(&mut Text) -> fmt::Result) -> Span {
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

/// The list of the runtimes that live, by the addresses of their workers.
struct Homes<'a>(Vec<&'a [Worker]>);

impl Homes<'_> {
    fn has(&self, worker: *const ()) -> bool {
        self.0.iter().any(|workers| workers.as_ptr_range().contains(&worker.cast()))
    }
}

impl Roll {
    /// Looks at everybody, and into which functions some `walked` are in. `runtimes` are those that live; the caller
    /// holds their list, and is the only one who looks.
    pub(super) fn call(runtimes: &[Watched], how: How, walked: usize) -> Roll {
        let shared = || runtimes.iter().map(Watched::shared);
        let homes = Homes(shared().map(Shared::workers).collect());
        let workers = homes.0.iter().map(|workers| workers.len()).sum();
        let depot = pool::depot();
        let seats = seat::seats();
        let most = depot.cut_blocks();
        let mut roll = Roll {
            rows: Vec::with_capacity(most),
            outsiders: Vec::with_capacity(seats.len()),
            cells: 0,
            workers,
            now: 0,
            is_shallow: false,
            running: Vec::with_capacity(seats.len()),
            places: HashMap::new(),
            text: Text(Vec::with_capacity((most + seats.len()) * TEXT_BYTES_EACH)),
            walks: Walks::with_room(most + seats.len(), walked),
        };
        let alive: u64 = shared().map(|shared| shared.alive(&shared.total())).sum();
        let stopped = (how == How::Stopping).then(|| stop::stop(&seats));
        roll.now = age::milliseconds();
        roll.is_shallow = stopped.as_ref().is_some_and(|stopped| !stopped.all);
        roll.note_running(stopped.as_ref(), &seats, &homes);
        depot.for_each_block(|block| roll.look_at(block, &homes));
        roll.look_outside(&seats, how);
        drop((stopped, depot, seats));
        roll.cells = alive.saturating_sub(roll.rows.len() as u64);
        roll.rows.sort_by_key(|row| row.id);
        let jobs =
            roll.rows.iter().enumerate().filter(|(_, row)| row.job != 0).map(|(at, row)| (row.job, at));
        roll.places = roll.rows.iter().enumerate().map(|(at, row)| (row.address, at)).chain(jobs).collect();
        roll
    }

    /// Who runs on the worker at this address, and the functions that it is in.
    pub(super) fn who_runs_on(&self, worker: usize) -> (Option<&Row>, &[usize]) {
        let Some(one) = self.running.iter().find(|one| one.worker == worker) else { return (None, &[]) };
        (self.row_at(one.header).map(|at| &self.rows[at]), self.walks.get(&one.frames))
    }

    /// The functions that one is in: return addresses, the innermost first.
    pub(super) fn frames(&self, row: &Row) -> &[usize] {
        self.walks.get(&row.frames)
    }

    /// The place of the one whose control block, or job, is at this address.
    pub(super) fn row_at(&self, address: usize) -> Option<usize> {
        self.places.get(&address).copied()
    }

    /// The text of a piece.
    pub(super) fn text(&self, span: &Span) -> &str {
        std::str::from_utf8(&self.text.0[span.start as usize..span.end as usize]).unwrap_or("?")
    }

    /// What runs where.
    fn note_running(&mut self, stopped: Option<&Stopped>, seats: &Seats, homes: &Homes<'_>) {
        let Some(stopped) = stopped else { return };
        let own = raddle_context::current::get().addr();
        // SAFETY: touches no memory of ours.
        let own_thread = unsafe { libc::gettid() };
        for seat in seats.iter().filter(|seat| seat.is(Sitter::Worker)) {
            let worker = seat.worker().addr();
            let has_home = homes.has(seat.worker().cast());
            // SAFETY: a worker of a runtime that lives.
            let index = if has_home { unsafe { (*seat.worker()).index } } else { usize::MAX };
            let (header, stands_at, frames) = if seat.os_thread() == own_thread {
                (own, 0, 0..0)
            } else if stopped.has(seat) {
                let running = seat.running.load(Ordering::Relaxed);
                let frames = if has_home { self.walks.of_worker(seat, running) } else { 0..0 };
                (running.addr(), seat.interrupted().stack_pointer(), frames)
            } else {
                continue;
            };
            self.running.push(Running { header, worker, index, stands_at, frames });
        }
    }

    fn look_at(&mut self, block: &'static Block, homes: &Homes<'_>) {
        let Some(id) = block.number() else { return };
        let flags = block.header.flags_now();
        let has_begun = flags & STARTED != 0;
        let is_known = !has_begun || homes.has(block.header.worker.get());
        if !is_known || block.join.is_done() {
            return;
        }
        let address = block.as_header().addr();
        let mut frames = 0..0;
        let state = if self.is_shallow {
            State::Unknown
        } else if !has_begun {
            State::Fresh
        } else if let Some(one) = self.running.iter().find(|one| one.header == address) {
            frames.clone_from(&one.frames);
            State::Runs(one.index)
        } else {
            // SAFETY: it does not run here, nor will it before this look is over; and while it is away it shows nothing
            // but the `blocking` that it is in.
            let waiting = unsafe { block.waits_for() }.map(|wait| self.copy(wait));
            match (flags & AWAY != 0, waiting) {
                (true, waiting) => State::Away(waiting),
                (false, Some(waiting)) => State::Waits(waiting),
                (false, None) => State::Ready,
            }
        };
        if let State::Ready | State::Waits(_) = &state {
            frames = self.walk(block, &state);
        }
        let name = if self.is_shallow { None } else { self.name_of(block) };
        let is_thread = flags & OWN_TLS != 0;
        // SAFETY: as above.
        let job = unsafe { block.job() }.map_or(0, |node| node.addr() + offset_of!(Node, join));
        self.rows.push(Row { address, id, name, is_thread, job, site: block.site.get(), state, frames });
    }

    /// The functions in which one is that does not run.
    fn walk(&mut self, block: &'static Block, state: &State) -> Span {
        // SAFETY: it does not end meanwhile.
        let Some(stack) = (unsafe { block.stack_there() }) else { return 0..0 };
        let memory = stack.limit().addr()..stack.top().addr();
        if self.running.iter().any(|one| memory.contains(&one.stands_at)) {
            // Not quite suspended.
            return 0..0;
        }
        let waits_at =
            if let State::Waits(waiting) = state { std::ptr::from_ref(waiting.site).addr() } else { 0 };
        // SAFETY: it has left its stack, and only a worker could resume it: they stand still, or sleep.
        unsafe { self.walks.of_suspended(block, (std::ptr::from_ref(block.site.get()).addr(), waits_at)) }
    }

    fn name_of(&mut self, block: &Block) -> Option<Span> {
        // SAFETY: whoever could end its life stands still, or waits for the depot's lock.
        let name = unsafe { block.name() }?;
        Some(self.text.span(|text| text.write_str(name)))
    }

    fn copy(&mut self, wait: &Wait<'_>) -> Waiting {
        let more = self.text.span(|text| wait.write_state(text));
        let held = wait.held().map(|held| (held.who().addr(), held.site()));
        let (call, kind) = (wait.name(), wait.kind());
        let (site, since) = (wait.site(), wait.since());
        let (subject, awaits) = (wait.subject().addr(), wait.awaits().addr());
        Waiting { call, kind, site, subject, more, since, held, awaits }
    }

    /// OS threads run on, so that what they wait for can be followed only if nothing runs at all.
    fn look_outside(&mut self, seats: &[&'static Seat], how: How) {
        if how != How::Still {
            return;
        }
        for seat in seats.iter().filter(|seat| seat.is(Sitter::Outside) && seat.sleeps().is_some()) {
            // SAFETY: it sleeps for good, so that its frame stays.
            let Some(wait) = (unsafe { seat.wait().as_ref() }) else { continue };
            let waits = self.copy(wait);
            self.outsiders.push(Outsider { address: seat.address(), os_thread: seat.os_thread(), waits });
        }
    }
}
