//! Owns: the muster: how a `Roll` comes about. The workers are stopped, and each that lives is looked at.
//! May use: the list of all control blocks, `seat`, `stop`, `walks`.
//! Never: an allocation while the workers stand: one of them may hold the allocator's lock.
//!
//! Control blocks stay with the program, so that all that have ever lived can be walked (`process::pool`): those with
//! a number live. A block that an OS thread of the program fills, or takes out of life, does so under the depot's lock
//! or before its number stands there, and whoever walks holds that lock. All else is the workers', which stand still,
//! or sleep for good.

use super::age;
use super::reach::{Reached, Search, Stander};
use super::roll::{How, Outsider, Roll, Row, Running, Span, State, Text, Waiting};
use super::seat::{self, Seat, Seats, Sitter};
use super::stop::{self, Stopped};
use super::walks::Walks;
use super::watch::Watched;
use crate::block::Block;
use crate::block::pool::{self, Depot};
use crate::runtime::Shared;
use crate::wait::Wait;
use crate::worker::Worker;
use raddle_context::Stack;
use raddle_context::walk::kept;
use raddle_protocol::header::{AWAY, OWN_TLS, STARTED};
use raddle_protocol::protocol::jobs::Node;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::mem::offset_of;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// So many bytes of names and of states are kept for each process; what is more is cut off.
const TEXT_BYTES_EACH: usize = 96;
/// So many things there may be more than those who wait: an alternation waits for several.
const CHOICES_MAX: usize = 4096;

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
            text: Text::with_room((most + seats.len()) * TEXT_BYTES_EACH),
            walks: Walks::with_room(most + seats.len(), walked),
            things: Vec::with_capacity(most + seats.len() + CHOICES_MAX),
            reached: Reached::default(),
            all_searched: false,
        };
        let mut search = Search::with_room(if walked > 0 { roll.things.capacity() } else { 0 });
        let alive: u64 = shared().map(|shared| shared.alive(&shared.total())).sum();
        let stopped = (how == How::Stopping).then(|| stop::stop(&seats));
        roll.now = age::milliseconds();
        roll.is_shallow = stopped.as_ref().is_some_and(|stopped| !stopped.all);
        roll.note_running(stopped.as_ref(), &seats, &homes);
        depot.for_each_block(|block| roll.look_at(block, &homes));
        roll.look_outside(&seats, how);
        if walked > 0 && !roll.is_shallow {
            roll.search(&mut search, (walked, how), &depot, &seats);
        }
        drop((stopped, depot, seats));
        roll.cells = alive.saturating_sub(roll.rows.len() as u64);
        roll.rows.sort_by_key(|row| row.id);
        let jobs =
            roll.rows.iter().enumerate().filter(|(_, row)| row.job != 0).map(|(at, row)| (row.job, at));
        roll.places = roll.rows.iter().enumerate().map(|(at, row)| (row.address, at)).chain(jobs).collect();
        roll.reached = search.end(|who| roll.stander(who));
        roll
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
            let waiting = self.wait_of(block, flags).map(|wait| self.copy(&wait));
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

    /// What one waits for that has begun and does not run here, nor will before this look is over.
    fn wait_of<'a>(&self, block: &'static Block, flags: u8) -> Option<Wait<'a>> {
        // SAFETY: it does not end meanwhile.
        let stack = unsafe { block.stack_there() };
        if flags & AWAY != 0 || stack.is_none_or(|stack| self.somebody_stands_on(stack)) {
            // SAFETY: as above; while it is away it shows nothing but the `blocking` that it is in.
            return unsafe { block.shows() };
        }
        // SAFETY: as above, and the switch by which it left is done: no worker stands on its stack any more.
        unsafe { block.waits_for() }
    }

    /// Whether a worker was stopped on that stack: who has it may be about to leave it.
    fn somebody_stands_on(&self, stack: &Stack) -> bool {
        let memory = stack.limit().addr()..stack.top().addr();
        self.running.iter().any(|one| memory.contains(&one.stands_at))
    }

    /// The functions in which one is that does not run.
    fn walk(&mut self, block: &'static Block, state: &State) -> Span {
        // SAFETY: it does not end meanwhile.
        let Some(stack) = (unsafe { block.stack_there() }) else { return 0..0 };
        if self.somebody_stands_on(stack) {
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
        let begin = self.things.len() as u32;
        wait.things(&mut |thing| {
            if self.things.len() < self.things.capacity() {
                self.things.push(thing);
            }
        });
        let things = begin..self.things.len() as u32;
        Waiting { call, kind, site, subject, more, since, held, awaits, things }
    }

    /// Looks through some `most` stacks for the things that somebody waits for.
    fn search(
        &mut self,
        search: &mut Search,
        (most, how): (usize, How),
        depot: &Depot,
        seats: &[&'static Seat],
    ) {
        self.things.iter().for_each(|thing| search.add(*thing));
        search.begin();
        // As they were found: in the order of the blocks.
        let mut rows = self.rows.iter().take(most).peekable();
        depot.for_each_block(|block| {
            if let Some(row) = rows.next_if(|row| row.address == block.as_header().addr()) {
                let memory = self.memory_of(block, row);
                // SAFETY: it stands still, as `memory_of` says.
                unsafe { search.look_through(row.address, memory) };
            }
        });
        for seat in seats.iter().filter(|seat| seat.is(Sitter::Worker)) {
            let running = seat.running.load(Ordering::Relaxed).addr();
            if self.running.iter().any(|one| one.header == running && one.stands_at != 0) {
                seat.interrupted().registers.iter().for_each(|word| search.note(running, *word));
            }
        }
        for one in &self.outsiders {
            // SAFETY: it sleeps for good, in a call that was made with this memory as its caller's frames.
            unsafe { search.look_through(one.address, one.frames.clone()) };
        }
        self.all_searched = self.rows.len() <= most && how == How::Still;
    }

    /// The live part of the stack of one who stands still; nothing of one who is on another OS thread.
    fn memory_of(&self, block: &Block, row: &Row) -> Range<usize> {
        // SAFETY: it does not end meanwhile.
        let Some(stack) = (unsafe { block.stack_there() }) else { return 0..0 };
        let memory = stack.limit().addr()..stack.top().addr();
        let stands_there = self.running.iter().find(|one| memory.contains(&one.stands_at));
        match (&row.state, stands_there) {
            (State::Runs(_), Some(one)) => one.stands_at..memory.end,
            // SAFETY: it has left its stack, and nobody writes its context meanwhile.
            (State::Waits(_) | State::Ready, None) => kept(unsafe { &*block.context.get() }, stack),
            _ => 0..0,
        }
    }

    /// What a search has to know of one.
    fn stander(&self, who: usize) -> Stander {
        let row = self.row_at(who).map(|at| &self.rows[at]);
        let waiting = match row.map(|row| &row.state) {
            Some(State::Waits(waiting)) => Some(waiting),
            Some(_) => None,
            None => self.outsiders.iter().find(|one| one.address == who).map(|one| &one.waits),
        };
        Stander {
            waits_for: waiting.map_or_else(Vec::new, |waiting| {
                self.things(waiting).iter().map(|thing| thing.subject).collect()
            }),
            just_joins: waiting.is_some_and(Waiting::for_an_end),
            born: row.map_or(0, |row| row.id),
        }
    }

    /// OS threads run on, so that what they wait for can be followed only if nothing runs at all.
    fn look_outside(&mut self, seats: &[&'static Seat], how: How) {
        if how != How::Still {
            return;
        }
        for seat in seats.iter().filter(|seat| seat.is(Sitter::Outside) && seat.sleeps().is_some()) {
            // SAFETY: it sleeps for good, so that its frame stays.
            let Some(wait) = (unsafe { seat.wait().as_ref() }) else { continue };
            let (waits, at, stack) = (self.copy(wait), seat.wait().addr(), seat.stack());
            let frames = if stack.contains(&at) { at..stack.end } else { 0..0 };
            let (address, os_thread) = (seat.address(), seat.os_thread());
            self.outsiders.push(Outsider { address, os_thread, waits, frames });
        }
    }
}
