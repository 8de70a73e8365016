//! Owns: what a worker records of itself, and what that costs where nothing is recorded.
//! May use: `block::control`, `block::current`, `counters`, `describe::wait`, `tracer`, `raddle-context`,
//! `raddle-protocol`, `raddle-trace`.
//! Never: a lock, an allocation or a system call, but for the name of a thread that is given one.
//!
//! Without a trace a switch tests one byte on a line that it touches anyway, and a wait another time; spawns and wakes
//! test nothing, since a trace sends them the less common way. What records is out of line, so that the common way
//! needs no more registers than before.
//!
//! A switch is one record: the next to run, and why the one before stopped. Whoever waits notes the reason down
//! ([`LocalWorker::note_stop`]); a switch without such a note is a yield.

use super::choice;
use super::engine;
use super::{Here, LocalWorker, OPERATIONS, RECORDED, Worker, current_header};
use crate::block::Block;
use crate::counters::{Counters, Stats};
use crate::describe::Wait;
use crate::tracer;
use crate::worker::load::Always;
use raddle_context::Context;
use raddle_protocol::call::{WaitCall, WaitReason};
use raddle_protocol::header::{HOLDS, Header, Kind, OWN_TLS};
use raddle_trace::event::{Freedom, IdleCause, pack};
use raddle_trace::{Event, Level, StopReason};
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Worker {
    /// Whether anything is recorded.
    #[inline(always)]
    pub(crate) fn traces(&self) -> bool {
        !cfg!(raddle_uncounted) && self.trace_level.load(Ordering::Relaxed) != Level::Off as u8
    }

    /// Whether each spawned job is to be a process: it is shown in a trace, or may be chosen by a seed; or one that
    /// waits goes on only when what has begun above it on its OS thread has ended, which must be as little as possible.
    pub fn runs_jobs_singly(&self) -> bool {
        self.traces() || choice::is_on() || self.shared().job_flags & HOLDS != 0
    }

    /// Whether what belongs to `level` is recorded.
    pub(crate) fn traces_at(&self, level: Level) -> bool {
        !cfg!(raddle_uncounted) && self.trace_level.load(Ordering::Relaxed) >= level as u8
    }

    /// Records from now on what belongs to `level`. From any thread; the rings are there.
    pub fn set_trace_level(&self, level: Level) {
        let policy = &self.shared().policy;
        let off = level == Level::Off;
        self.spawns_stay.store(policy.spawns_stay() && off, Ordering::Relaxed);
        self.wakes_stay.store(!policy.queues_shared() && off, Ordering::Relaxed);
        self.trace_level.store(level as u8, Ordering::Relaxed);
        let operations = if level >= Level::Sync { OPERATIONS } else { 0 };
        let now = if off { 0 } else { RECORDED | operations };
        self.watched.fetch_and(!(RECORDED | OPERATIONS) | now, Ordering::Relaxed);
        self.watched.fetch_or(now, Ordering::Relaxed);
    }

    /// What has a wait here do more than wait: [`SEEDED`](super::SEEDED) and its like. 0 in the common case.
    #[inline(always)]
    pub fn watched(&self) -> u8 {
        self.watched.load(Ordering::Relaxed)
    }

    /// What traces call it. An engine's gets its name with its number.
    fn number_of(&self, header: &Header) -> u32 {
        let is_new = header.kind == Kind::Engine && header.number.get() == 0;
        let number = tracer::number_of(header);
        if is_new {
            // SAFETY: the kind says that it is a link, and whoever records of it has it.
            unsafe { engine::name_of(header) }.inspect(|name| self.tracer.keep_name(number, name));
        }
        number
    }

    /// An OS thread that is no worker of this runtime is about to queue something: at worker `target`, or for any. From
    /// any thread.
    #[cold]
    pub(crate) fn trace_outside(&self, event: Event, header: &Header, target: Option<usize>) {
        let target = target.map_or(u8::MAX, |target| target.min(254) as u8);
        self.shared().trace.note_outside(event, self.number_of(header), target);
    }

    /// What its counters say, with what is counted in its batch until the next boundary.
    pub(crate) fn stats(&self) -> Stats {
        let mut stats = self.counters.snapshot();
        stats.local_wakes += self.glance_at_batch().1 as u64;
        stats
    }

    /// All that is always counted of it.
    pub(crate) fn always(&self) -> Always {
        Always { stats: self.stats(), idle: self.idle_times.snapshot(), load: self.loads.snapshot() }
    }
}

impl LocalWorker {
    /// The running one is about to wait in `what`, a call's name, on the object at that address, if it has one.
    #[inline(always)]
    pub fn note_stop(&self, call: &'static WaitCall, object: usize) {
        if self.traces() {
            self.record_stop(call, object);
        }
    }

    /// As [`note_stop`](LocalWorker::note_stop), at that place of the program.
    #[cold]
    pub fn note_stop_at(&self, call: &'static WaitCall, object: usize, site: &'static Location<'static>) {
        // Lock convoys and wake storms are told with their lines: a record more for whoever waits there.
        let is_told = matches!(call.reason(), WaitReason::Lock | WaitReason::Wait | WaitReason::Descriptor);
        let site = (is_told || self.traces_at(Level::Sync)).then_some(site);
        self.own().stop.note_stop(call.reason(), object, site);
    }

    /// What runs here has ended.
    pub(crate) fn note_exit(&self) {
        if self.traces() {
            self.own().stop.note_reason(StopReason::Exit, 0, (0, 0));
        }
    }

    #[cold]
    #[inline(never)]
    fn record_stop(&self, call: &'static WaitCall, object: usize) {
        let Some(wait) = waited_for() else { return self.own().stop.note_stop(call.reason(), object, None) };
        let object = if object == 0 { wait.subject().addr() } else { object };
        self.note_stop_at(call, object, wait.site());
    }

    /// An engine's process is about to stop: see [`Turn::stops`](engine::Turn::stops).
    pub(crate) fn note_engine_stop(&self, reason: StopReason, site: u32) {
        self.own().stop.note_reason(reason, 0, (site, tracer::SITE_OF_ENGINE));
    }

    /// Records that what `next` is of runs now.
    #[inline(always)]
    pub(super) fn trace_next(&self, next: *mut Context) {
        if self.traces() {
            self.record_next(next);
        }
    }

    #[cold]
    #[inline(never)]
    fn record_next(&self, next: *mut Context) {
        let number = if next == self.own().home.place.get() {
            0
        } else {
            // SAFETY: every context that a worker enters is its home's or a block's.
            self.number_of(&unsafe { Block::of_context(next) }.header)
        };
        self.tracer.switch(number, &self.own().stop, StopReason::Yield);
    }

    /// Records that `next`, a task or an engine's, runs now on the worker's own stack.
    #[cold]
    pub(crate) fn trace_switch_to(&self, next: &Header) {
        self.tracer.switch(self.number_of(next), &self.own().stop, StopReason::Wait);
    }

    /// Runs the turn of something that has no stack of its own.
    #[inline(always)]
    pub(super) fn trace_turn(&self, header: &Header, turn: impl FnOnce()) {
        if self.traces() {
            self.trace_switch_to(header);
        }
        turn();
        if self.traces() {
            self.tracer.switch(0, &self.own().stop, StopReason::Wait);
        }
    }

    /// Something that waited is about to be queued at worker `target`.
    #[cold]
    pub(crate) fn trace_wake(&self, woken: &Header, target: usize) {
        if !matches!(woken.kind, Kind::OsThread | Kind::Bell) {
            self.tracer.record(Event::Wake, self.number_of(woken), pack(target.min(255) as u8, 0));
        }
    }

    /// Something is about to be queued for the first time, at worker `target`; where the program has placed it, if so.
    #[cold]
    pub(super) fn trace_spawn(&self, fresh: *mut Header, target: usize, is_placed: bool) {
        // SAFETY: its maker calls, who still holds it.
        let header = unsafe { &*fresh };
        let number = self.number_of(header);
        if header.kind == Kind::Process {
            // SAFETY: the kind says that it is a block.
            self.tracer.name(number, unsafe { Block::of_header(fresh) });
        }
        let freedom = match header.kind {
            _ if is_placed => Freedom::Placed,
            Kind::Process if !header.is(OWN_TLS) => Freedom::UntilBegun,
            _ => Freedom::Always,
        };
        self.tracer.record(Event::Spawn, number, pack(target.min(255) as u8, freedom as u32));
    }

    /// An engine has made something that it queues itself.
    #[cold]
    pub(crate) fn trace_made(&self, header: &Header) {
        let place = pack(self.index.min(255) as u8, Freedom::Always as u32);
        self.tracer.record(Event::Spawn, self.number_of(header), place);
    }

    /// An engine waits, on this OS thread, until it has something to run.
    #[cold]
    pub(crate) fn trace_rest<R>(&self, wait: impl FnOnce() -> R) -> R {
        self.tracer.switch(0, &self.own().stop, StopReason::Wait);
        let began = self.shared().clock.now_ns();
        self.note_idle_begin(began);
        let result = wait();
        let ns = self.shared().clock.now_ns() - began;
        Counters::add(&self.counters.idle_incidents, 1);
        Counters::add(&self.counters.idle_ns, ns);
        self.note_idle(ns, false);
        result
    }

    /// Something that has run on worker `from` runs here now.
    pub(super) fn trace_migration(&self, header: &Header, from: usize) {
        if self.traces() {
            self.tracer.record(Event::Migrate, self.number_of(header), from as u32);
        }
    }

    /// The worker has taken something from `victim`.
    pub(super) fn trace_steal(&self, victim: usize) {
        if self.traces() {
            self.tracer.record(Event::Steal, 1, victim as u32);
        }
    }

    /// What runs begins an operation that is worth to be seen whether or not it waits.
    pub(crate) fn trace_operation(&self, name: &'static str) {
        if self.traces_at(Level::Sync) {
            self.tracer.record(Event::Operation, tracer::place_of_text(name), name.len() as u32);
        }
    }

    /// Something has become of a job, by its number: what the table of events says.
    pub(crate) fn trace_job(&self, event: Event, job: u32, other: u32) {
        if self.traces_at(Level::Sync) {
            self.tracer.record(event, job, other);
        }
    }

    /// The worker has nothing to run from now on.
    pub(super) fn note_idle_begin(&self, now: u64) {
        if cfg!(raddle_uncounted) {
            return;
        }
        self.idle_times.begin(now);
        if self.traces() {
            self.tracer.record(Event::IdleBegin, 0, 0);
        }
    }

    /// The worker was idle for so long.
    pub(super) fn note_idle(&self, ns: u64, searching: bool) {
        if cfg!(raddle_uncounted) {
            return;
        }
        self.idle_times.add(ns);
        if self.traces() {
            let cause = if searching { IdleCause::Own } else { IdleCause::Mail };
            self.tracer.record(Event::IdleEnd, cause as u32, 0);
        }
    }
}

/// Something has become of a job, by its number, on the worker that this OS thread is.
pub(crate) fn trace_job(event: Event, job: u32) {
    // SAFETY: it is gone when this returns, and nothing leaves its stack meanwhile.
    if let Some(worker) = unsafe { Here::current() } {
        worker.trace_job(event, job, 0);
    }
}

/// Gives the process that runs here a name. None runs in a job that could not get a stack.
pub(crate) fn name_running(name: &Arc<str>) {
    // SAFETY: the word is null or the header of what runs here, which is alive.
    let running = unsafe { current_header().as_ref() };
    let process = running.filter(|running| running.kind == Kind::Process);
    Worker::with_current(|worker| {
        process.into_iter().for_each(|process| worker.tracer.keep_name(tracer::number_of(process), name));
    });
}

/// What the running process says that it is about to wait for, if it does. Not to be kept.
fn waited_for<'a>() -> Option<Wait<'a>> {
    // SAFETY: the word is null or the header of what runs here, which is alive.
    let running = unsafe { current_header().as_ref() }?;
    if running.kind != Kind::Process {
        return None;
    }
    // SAFETY: the kind says that it is a block.
    let block = unsafe { Block::of_header(current_header()) };
    // SAFETY: it is the caller, who goes on to wait only after what is returned has gone.
    unsafe { block.shows() }
}
