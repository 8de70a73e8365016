//! Owns: the snapshot: how a `ProcessTable` comes about. The workers are stopped, and each that lives is looked at.
//! May use: `age`, `kernel`, `process_table`, `runtimes`, `stop`, `walks`, `raddle-context`, `raddle-core`,
//! `raddle-protocol`, `raddle-syscall`.
//! Never: an allocation while the workers stand: one of them may hold the allocator's lock.
//!
//! Control blocks stay with the program, so that all that have ever lived can be walked (`observe::blocks`): those with
//! a number live. A block that an OS thread of the program fills, or takes out of life, does so under the list's lock
//! or before its number stands there, and whoever walks holds that lock. All else is the workers', which stand still,
//! or sleep for good.

use crate::age;
use crate::kernel::Stay;
use crate::process_table::{
    How, LONG_TEXTS_BYTES, OsThreadRow, ProcessState, ProcessTable, Row, Running, Text, Waiting,
};
use crate::runtimes::Watched;
use crate::stop::{self, Stopped};
use crate::walks::Span;
use crate::walks::Walks;
use raddle_context::Stack;
use raddle_core::block::Block;
use raddle_core::block::Blocks;
use raddle_core::os_thread::{self, Record, Records, Role};
use raddle_core::runtime::Shared;
use raddle_core::stack_search::{Candidate, Reached, Search};
use raddle_core::wait::Wait;
use raddle_core::worker::Worker;
use raddle_protocol::header::{AWAY, Header, Kind, STARTED, is_thread};
use raddle_protocol::protocol::jobs::Node;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::mem::offset_of;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// So many bytes of names and of states are kept for each process, beside the long ones; what is more is cut off.
const TEXT_BYTES_EACH: usize = 96;
/// So many things there may be more than those who wait: an alternation waits for several.
const CHOICES_MAX: usize = 4096;

/// The list of the runtimes that live, by the addresses of their workers: and each runtime's own.
struct Workers<'a>(Vec<(&'a [Worker], usize)>);

impl Workers<'_> {
    fn has(&self, worker: *const ()) -> bool {
        self.runtime_of(worker).is_some()
    }

    fn runtime_of(&self, worker: *const ()) -> Option<usize> {
        let own = self.0.iter().find(|(workers, _)| workers.as_ptr_range().contains(&worker.cast()));
        own.map(|(_, runtime)| *runtime)
    }
}

impl ProcessTable {
    /// Looks at everybody, and into which functions some `walked` are in. `runtimes` are those that live; the caller
    /// holds their list, and is the only one who looks.
    pub(crate) fn snapshot(runtimes: &[Watched], how: How, walked: usize) -> ProcessTable {
        let shared = || runtimes.iter().map(Watched::shared);
        let mut live = Workers(Vec::new());
        for shared in shared() {
            let own = std::iter::once(shared.workers());
            let all = own.chain(shared.extra_workers().map(std::slice::from_ref));
            live.0.extend(all.map(|workers| (workers, std::ptr::from_ref(shared).addr())));
        }
        let workers = shared().map(|shared| shared.workers().len()).sum();
        let outstanding = shared().flat_map(Shared::outstanding).collect();
        let blocks = raddle_core::block::blocks();
        let records = os_thread::records();
        let most = blocks.count();
        let mut table = ProcessTable {
            rows: Vec::with_capacity(most),
            os_threads: Vec::with_capacity(records.len()),
            tasks: 0,
            futures: BTreeMap::new(),
            outstanding,
            workers,
            now: 0,
            is_shallow: false,
            queued: Vec::with_capacity(most),
            knows_queued: true,
            running: Vec::with_capacity(records.len()),
            places: HashMap::new(),
            text: Text::with_room(LONG_TEXTS_BYTES + (most + records.len()) * TEXT_BYTES_EACH),
            walks: Walks::with_room(most + records.len(), walked),
            things: Vec::with_capacity(most + records.len() + CHOICES_MAX),
            holders: Vec::with_capacity(most + records.len() + CHOICES_MAX),
            reached: Reached::default(),
            all_searched: false,
            is_final: false,
            is_stuck: how == How::Blocked,
        };
        let mut search = Search::with_room(if walked > 0 { table.things.capacity() } else { 0 });
        let alive: u64 = shared().map(Shared::count_alive).sum();
        let stays = stays(&records);
        let stopped = (how != How::Quiescent).then(|| stop::stop(&records));
        table.now = age::milliseconds();
        table.is_shallow = stopped.as_ref().is_some_and(|stopped| !stopped.all);
        table.note_running(stopped.as_ref(), &records, (&live, &stays));
        if stopped.is_some() && !table.is_shallow {
            table.note_queued(runtimes);
        }
        blocks.for_each(|block| table.add_process(block, &live));
        table.add_os_threads(&records, how);
        if walked > 0 && !table.is_shallow {
            table.search(&mut search, (walked, how), &blocks, &records);
        }
        drop((stopped, blocks, records));
        table.tasks = alive.saturating_sub(table.rows.len() as u64);
        // They have a lock, which one that was stopped might have had.
        table.futures = raddle_core::observe::waiting_futures();
        table.rows.sort_by_cached_key(|row| row.id);
        let jobs =
            table.rows.iter().enumerate().filter(|(_, row)| row.job != 0).map(|(at, row)| (row.job, at));
        table.places = table.rows.iter().enumerate().map(|(at, row)| (row.address, at)).chain(jobs).collect();
        table.reached = search.end(|who| table.candidate(who));
        table
    }

    /// What runs where.
    fn note_running(
        &mut self,
        stopped: Option<&Stopped>,
        records: &Records,
        (live, stays): (&Workers<'_>, &[(i32, Stay)]),
    ) {
        let Some(stopped) = stopped else { return };
        let own = raddle_context::current::get().addr();
        let own_thread = raddle_syscall::thread_number();
        for record in records.iter().filter(|record| record.is(Role::Worker)) {
            let worker = record.worker().addr();
            let is_live = live.has(record.worker().cast());
            let worker_there = record.worker().cast::<Worker>();
            // SAFETY: a worker of a runtime that lives.
            let index = if is_live { unsafe { (*worker_there).index } } else { usize::MAX };
            let (header, stands_at, frames) = if record.tid() == own_thread {
                (own, 0, 0..0)
            } else if stopped.has(record) {
                let running = record.running.load(Ordering::Relaxed);
                let frames = if is_live { self.walks.of_worker(record, running) } else { 0..0 };
                (running.addr(), record.interrupted().stack_pointer(), frames)
            } else {
                continue;
            };
            // Where it stood before it was stopped, if it has not moved since.
            let stay = stays.iter().find(|(os_thread, _)| *os_thread == record.tid());
            let stay = stay.filter(|(_, stay)| stands_at != 0 && stay.stands_at == stands_at);
            let blocked = stay.map(|(_, stay)| stay.number);
            self.running.push(Running { header, worker, index, stands_at, frames, blocked });
        }
    }

    /// Who lies in a queue.
    fn note_queued(&mut self, runtimes: &[Watched]) {
        for watched in runtimes {
            let mut note = |header: &Header| {
                if header.kind == Kind::Process && self.queued.len() < self.queued.capacity() {
                    self.queued.push(std::ptr::from_ref(header).addr());
                }
            };
            // SAFETY: all workers stand still; what they did before they came to the gate is seen.
            self.knows_queued &= unsafe { watched.shared().for_each_queued(&mut note) };
        }
        self.queued.sort_unstable();
    }

    fn add_process(&mut self, block: &'static Block, live: &Workers<'_>) {
        let Some(id) = block.number() else { return };
        let flags = block.header.flags_now();
        let has_begun = flags & STARTED != 0;
        let runtime = if has_begun { live.runtime_of(block.header.worker.get()) } else { None };
        let is_known = !has_begun || runtime.is_some();
        if !is_known || block.has_ended() {
            return;
        }
        let address = block.as_header().addr();
        let mut frames = 0..0;
        let state = if self.is_shallow {
            ProcessState::Unknown
        } else if !has_begun {
            ProcessState::Fresh
        } else if let Some(one) = self.running.iter().find(|one| one.header == address) {
            frames.clone_from(&one.frames);
            one.blocked.map_or(ProcessState::Runs(one.index), |call| ProcessState::Blocked(one.index, call))
        } else if self.queued.binary_search(&address).is_ok() {
            ProcessState::Ready
        } else {
            let waiting = self.wait_of(block, flags).map(|wait| self.copy(&wait));
            match (flags & AWAY != 0, waiting) {
                (true, waiting) => ProcessState::Away(waiting),
                (false, Some(waiting)) => ProcessState::Waits(waiting),
                (false, None) => ProcessState::Ready,
            }
        };
        if let ProcessState::Ready | ProcessState::Waits(_) = &state {
            frames = self.walk(block, &state);
        }
        let name = if self.is_shallow { None } else { self.name_of(block) };
        let is_thread = is_thread(flags);
        let job = if self.is_shallow {
            0 // its life may end meanwhile
        } else {
            // SAFETY: as above.
            unsafe { block.job() }.map_or(0, |node| node.addr() + offset_of!(Node, join))
        };
        let site = block.spawned_at();
        self.rows.push(Row { address, id, name, is_thread, job, site, state, frames, runtime });
    }

    /// What one waits for that has begun and does not run here, nor will before this look is over.
    fn wait_of<'a>(&self, block: &'static Block, flags: u16) -> Option<Wait<'a>> {
        // SAFETY: it does not end meanwhile.
        let stack = unsafe { block.stack_there() };
        if flags & AWAY != 0 || stack.is_none_or(|stack| self.somebody_stands_on(stack)) {
            // SAFETY: as above; while it is away it shows nothing but the `blocking` that it is in.
            return unsafe { block.shows() };
        }
        // SAFETY: as above, and no worker stands on its stack any more: the switch by which it left is done but for its
        // last store, without which its context reads as one that has left nothing behind.
        unsafe { block.waits_for() }
    }

    /// Whether a worker was stopped on that stack: who has it may be about to leave it.
    fn somebody_stands_on(&self, stack: &Stack) -> bool {
        let memory = stack.limit().addr()..stack.top().addr();
        self.running.iter().any(|one| memory.contains(&one.stands_at))
    }

    /// The functions in which one is that does not run.
    fn walk(&mut self, block: &'static Block, state: &ProcessState) -> Span {
        // SAFETY: it does not end meanwhile.
        let Some(stack) = (unsafe { block.stack_there() }) else { return 0..0 };
        if self.somebody_stands_on(stack) {
            // Not quite suspended.
            return 0..0;
        }
        let waits_at = if let ProcessState::Waits(waiting) = state {
            std::ptr::from_ref(waiting.site).addr()
        } else {
            0
        };
        // SAFETY: it has left its stack, and only a worker could resume it: they stand still, or sleep.
        unsafe { self.walks.of_suspended(block, (std::ptr::from_ref(block.spawned_at()).addr(), waits_at)) }
    }

    fn name_of(&mut self, block: &Block) -> Option<Span> {
        // SAFETY: whoever could end its life stands still, or waits for the depot's lock.
        let name = unsafe { block.name() }?;
        Some(self.text.span(|text| text.write_str(name)))
    }

    fn copy(&mut self, wait: &Wait<'_>) -> Waiting {
        let more = self.text.long_span(|text| wait.write_state(text));
        let first = self.holders.len() as u32;
        wait.holders(&mut |held| {
            if self.holders.len() < self.holders.capacity() {
                self.holders.push((held.who().addr(), held.since()));
            }
        });
        let held = first..self.holders.len() as u32;
        let (call, kind) = (wait.call(), wait.kind());
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
        all: &Blocks,
        records: &[&'static Record],
    ) {
        self.things.iter().for_each(|thing| search.add(*thing));
        search.begin();
        // As they were found: in the order of the blocks.
        let mut rows = self.rows.iter().take(most).peekable();
        all.for_each(|block| {
            if let Some(row) = rows.next_if(|row| row.address == block.as_header().addr()) {
                let memory = self.memory_of(block, row);
                // SAFETY: it stands still, as `memory_of` says.
                unsafe { search.look_through(row.address, memory) };
            }
        });
        for record in records.iter().filter(|record| record.is(Role::Worker)) {
            let running = record.running.load(Ordering::Relaxed).addr();
            if self.running.iter().any(|one| one.header == running && one.stands_at != 0) {
                record.interrupted().registers.iter().for_each(|word| search.note(running, *word));
            }
        }
        for one in &self.os_threads {
            // SAFETY: it sleeps for good, in a call that was made with this memory as its caller's frames.
            unsafe { search.look_through(one.address, one.frames.clone()) };
        }
        self.all_searched = self.rows.len() <= most;
        self.is_final = self.all_searched && how != How::Stopping;
    }

    /// The live part of the stack of one who stands still; nothing of one who is on another OS thread.
    fn memory_of(&self, block: &Block, row: &Row) -> Range<usize> {
        // SAFETY: it does not end meanwhile.
        let Some(stack) = (unsafe { block.stack_there() }) else { return 0..0 };
        let memory = stack.limit().addr()..stack.top().addr();
        let stands_there = self.running.iter().find(|one| memory.contains(&one.stands_at));
        match (&row.state, stands_there) {
            (ProcessState::Runs(_) | ProcessState::Blocked(..), Some(one)) => one.stands_at..memory.end,
            (ProcessState::Waits(_) | ProcessState::Ready, None) => {
                // SAFETY: it has left its stack, and nobody resumes it meanwhile.
                unsafe { block.kept() }.unwrap_or(0..0)
            }
            _ => 0..0,
        }
    }

    /// What a search has to know of one.
    fn candidate(&self, who: usize) -> Candidate {
        let row = self.row_at(who).map(|at| &self.rows[at]);
        let waiting = match row.map(|row| &row.state) {
            Some(ProcessState::Waits(waiting)) => Some(waiting),
            Some(_) => None,
            None => self.os_threads.iter().find(|one| one.address == who).map(|one| &one.waits),
        };
        Candidate {
            waits_for: waiting.map_or_else(Vec::new, |waiting| {
                self.things(waiting).iter().map(|thing| thing.subject).collect()
            }),
            just_joins: waiting.is_some_and(Waiting::for_an_end),
            born: row.map_or(0, |row| row.id),
        }
    }

    /// OS threads run on, so that what they wait for can be followed only if nothing runs at all.
    fn add_os_threads(&mut self, records: &[&'static Record], how: How) {
        if how == How::Stopping {
            return;
        }
        for record in records.iter().filter(|record| record.is(Role::Program) && record.sleeps().is_some()) {
            // SAFETY: it sleeps for good, so that its frame stays.
            let Some(wait) = (unsafe { record.wait().cast::<Wait<'_>>().as_ref() }) else { continue };
            let (waits, at, stack) = (self.copy(wait), record.wait().addr(), record.stack());
            let frames = if stack.contains(&at) { at..stack.end } else { 0..0 };
            let (address, os_thread) = (record.address(), record.tid());
            self.os_threads.push(OsThreadRow { address, os_thread, waits, frames });
        }
    }
}

/// In which system calls the workers sleep now, as far as the kernel says.
fn stays(records: &[&'static Record]) -> Vec<(i32, Stay)> {
    let workers = records.iter().filter(|record| record.is(Role::Worker) && record.tid() != 0);
    workers.filter_map(|record| Some((record.tid(), Stay::of(record.tid())?))).collect()
}
