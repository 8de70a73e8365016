//! Owns: `Shared`, the part of a runtime that all its workers see.
//! May use: `block::control`, `clock`, `counters`, `orphan`, `policy`, `raddle-context`, `raddle-protocol`,
//! `raddle-trace`.
//! Never: a worker's private half.

use crate::block::Block;
use crate::clock::Clock;
use crate::counters::{Counters, Stats};
use crate::orphan;
use crate::policy::Policy;
use crate::worker::extra::{EXTRAS_MAX, Extras};
use crate::worker::hooks::Hooks;
use crate::worker::hunger::Hungry;
use crate::worker::jobs::Line;
use crate::worker::lent::LentGate;
use crate::worker::live::Live;
use crate::worker::load::{Always, Sampler};
use crate::worker::polling::Pollers;
use crate::worker::recording::Trace;
use crate::worker::shared_queue::SharedQueue;
use crate::worker::timer::{Alarm, AlarmId};
use crate::worker::{LocalWorker, Worker};
use raddle_context::SizeClass;
use raddle_context::tls::TlsBlock;
use raddle_protocol::fifo::Fifo;
use raddle_protocol::header::{Header, MOVABLE, PLACED, Runnable};
use raddle_protocol::protocol::idle::IdleSet;
use raddle_protocol::protocol::jobs::Node;
use raddle_trace::Event;
use std::fmt::Write as _;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// About what it takes to put an OS thread to sleep and to wake it.
const LEAVE: Duration = Duration::from_micros(50);

/// What a runtime shows of itself.
pub(crate) struct Looks {
    /// For how many of its workers there are cores.
    pub(crate) room: usize,
    pub(crate) prints_stats: bool,
    pub(crate) measure_stacks: bool,
    pub(crate) scatters: bool,
    pub(crate) process_flags: u16,
    pub(crate) job_flags: u16,
    pub(crate) follows_seed: bool,
    pub(crate) trace: Trace,
    pub(crate) hooks: Hooks,
    pub(crate) make_job: MakeJob,
    pub(crate) make_retiree: MakeRetiree,
}

/// Makes a thread of a worker that runs, on storage which processes have used, the destructors of what they left there.
/// Nobody has its handle, and it is in no queue.
pub(crate) type MakeRetiree = fn(&LocalWorker, TlsBlock) -> &'static Block;

/// Makes a process of a worker that runs a job to its end. Nobody has its handle, and it is in no queue.
///
/// Unsafe: the job was taken, and is run by this process only.
pub(crate) type MakeJob = unsafe fn(&LocalWorker, NonNull<Node>) -> &'static Block;

/// What all workers of a runtime see.
pub struct Shared {
    pub(crate) policy: Policy,
    /// How long a slice may last at present while others wait: a tick, or less, as the watcher says.
    pub(crate) slice_ns: AtomicU64,
    pub(crate) clock: Clock,
    pub(crate) idle: IdleSet,
    pub(super) hungry: Hungry,
    pub(crate) stack_class: SizeClass,
    pub(crate) prints_stats: bool,
    pub(crate) measure_stacks: bool,
    /// For tests: a thread that yields goes to the next worker.
    pub(crate) scatters: bool,
    /// In which storage processes run.
    pub(crate) process_flags: u16,
    pub(crate) job_flags: u16,
    pub(crate) trace: Trace,
    pub(crate) sampler: Sampler,
    pub(crate) pollers: Pollers,
    pub(crate) live: Live,
    pub hooks: Hooks,
    /// If an OS thread of the program stands for the first worker.
    pub(crate) gate: Option<LentGate>,
    pub(crate) make_job: MakeJob,
    pub(crate) make_retiree: MakeRetiree,
    /// What is spawned and nobody waits for, at each worker.
    pub lines: Box<[Line]>,
    pub(crate) extras: Extras,
    deepest: AtomicUsize,
    workers: OnceLock<Box<[Worker]>>,
    groups: Box<[SharedQueue]>,
    group_size: usize,
    turn: AtomicUsize,
    /// Processes that were passed by, have begun, and have waited for children since.
    branches: AtomicUsize,
    spawned_outside: AtomicU64,
    ended_outside: AtomicU64,
    /// Workers whose OS thread has not ended.
    at_work: AtomicUsize,
    dropped_inside: AtomicBool,
    closing: AtomicBool,
    /// Nothing can run any more: storage that processes have used retires.
    retiring: AtomicBool,
    /// Threads that run its destructors, and have not ended.
    retirees: AtomicU64,
    /// Workers that have heard of it, and have no such storage left.
    retired: AtomicUsize,
    stopping: AtomicBool,
    /// It has stopped since nothing could run any more.
    at_rest: AtomicBool,
    /// How many of its OS threads stay.
    kept: AtomicUsize,
    /// The process, of those that a fork lies between, in which its workers are.
    generation: u64,
    /// Calls that spare OS threads make for this runtime, until whoever waits for them is back.
    away: AtomicUsize,
}

/// Keeps a runtime from ending while something of it is on a spare OS thread.
pub(crate) struct Away<'a>(&'a Shared);

impl Drop for Away<'_> {
    fn drop(&mut self) {
        self.0.away.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    pub(crate) fn new(policy: Policy, workers: usize, stack_class: SizeClass, looks: Looks) -> Self {
        let group_size = policy.group_size(workers);
        Shared {
            slice_ns: AtomicU64::new(policy.tick_ns()),
            policy,
            clock: Clock::new(looks.follows_seed),
            idle: IdleSet::new(workers, looks.room),
            hungry: Hungry::default(),
            stack_class,
            prints_stats: looks.prints_stats,
            measure_stacks: looks.measure_stacks,
            scatters: looks.scatters,
            process_flags: looks.process_flags,
            job_flags: looks.job_flags,
            trace: looks.trace,
            sampler: Sampler::new(),
            pollers: Pollers::new(),
            live: Live::default(),
            gate: looks.hooks.first_is_foreign.then(LentGate::default),
            hooks: looks.hooks,
            make_job: looks.make_job,
            make_retiree: looks.make_retiree,
            lines: (0..workers + EXTRAS_MAX).map(|_| Line::default()).collect(),
            extras: Extras::new(),
            deepest: AtomicUsize::new(0),
            workers: OnceLock::new(),
            groups: (0..workers.div_ceil(group_size)).map(|_| SharedQueue::new()).collect(),
            group_size,
            turn: AtomicUsize::new(0),
            branches: AtomicUsize::new(0),
            spawned_outside: AtomicU64::new(0),
            ended_outside: AtomicU64::new(0),
            at_work: AtomicUsize::new(workers),
            dropped_inside: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            retiring: AtomicBool::new(looks.process_flags == 0),
            retirees: AtomicU64::new(0),
            retired: AtomicUsize::new(if looks.process_flags == 0 { workers } else { 0 }),
            stopping: AtomicBool::new(false),
            at_rest: AtomicBool::new(false),
            kept: AtomicUsize::new(0),
            generation: orphan::generation(),
            away: AtomicUsize::new(0),
        }
    }

    /// Whether its workers are in this process. Not in a child of it: what waits there for them waits for ever, and
    /// what is theirs may be locked for ever.
    pub fn is_here(&self) -> bool {
        self.generation == orphan::generation()
    }

    /// Gives the workers, which point back to this, their place. Once, before any of them runs.
    pub(crate) fn install(&self, workers: Box<[Worker]>) {
        assert!(self.workers.set(workers).is_ok(), "a runtime's workers are installed once");
    }

    /// The queues that several workers share.
    pub(super) fn groups(&self) -> &[SharedQueue] {
        &self.groups
    }

    /// Whether more workers are awake than there are cores.
    pub fn is_crowded(&self) -> bool {
        self.idle.is_crowded()
    }

    #[inline]
    pub fn workers(&self) -> &[Worker] {
        self.workers.get().map_or(&[], |w| w)
    }

    pub(crate) fn worker(&self, index: usize) -> &Worker {
        self.workers().get(index).unwrap_or_else(|| self.extra_worker(index))
    }

    // Relaxed: a number to go by.

    pub(super) fn branches(&self) -> usize {
        self.branches.load(Ordering::Relaxed)
    }

    pub(crate) fn branch_begins(&self) {
        self.branches.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn branch_ends(&self) {
        self.branches.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn next_round_robin(&self) -> usize {
        self.turn.fetch_add(1, Ordering::Relaxed) % self.workers().len()
    }

    pub(crate) fn some_sleeper(&self, but_not: usize) -> Option<usize> {
        self.idle.some_sleeper(but_not)
    }

    /// Puts movable work into the queue of the worker's group.
    pub(crate) fn share(&self, worker: &Worker, runnable: Runnable) {
        Counters::add(&worker.counters.queue_shared, 1);
        self.push_to_group(worker.index / self.group_size, runnable);
    }

    /// Hands work to whatever worker comes first, from outside.
    pub(crate) fn inject(&self, runnable: Runnable) {
        let group = self.turn.fetch_add(1, Ordering::Relaxed) % self.groups.len();
        self.push_to_group(group, runnable);
    }

    fn push_to_group(&self, group: usize, runnable: Runnable) {
        self.groups[group].push(runnable);
        self.notify_group(group);
    }

    /// Work lies in the queue of `group`: wakes somebody who may take it.
    fn notify_group(&self, group: usize) {
        if self.groups.len() == 1 || self.policy.takes_from_other_groups() {
            self.idle.notify();
        } else {
            let first = group * self.group_size;
            self.idle.notify_one_of(first..self.workers().len().min(first + self.group_size));
        }
    }

    /// `worker`, which has just found work, leaves some: wakes another one who may take it. If it leaves it in a shared
    /// queue, whoever is awake.
    pub(crate) fn notify_for(&self, worker: usize) {
        if self.groups.len() == 1 && !self.has_shared(worker) {
            self.idle.notify_if_room();
        } else {
            self.notify_group(worker / self.group_size);
        }
    }

    /// Hands over a process that was made outside.
    pub(crate) fn inject_process(&self, block: &'static Block, placed: Option<usize>) {
        // SAFETY: the block was just made, and the right to run it is its maker's.
        let fresh = unsafe { block.as_runnable() };
        self.spawned_outside.fetch_add(1, Ordering::Relaxed);
        self.trace.note_birth(block);
        self.trace_spawn_outside(fresh.header(), placed);
        if let Some(index) = placed {
            let flags = &fresh.header().flags;
            flags.set(flags.get() & !MOVABLE | PLACED);
            return self.worker(index).deliver(fresh);
        }
        self.inject_fresh(fresh);
    }

    /// Hands over a task that was made outside.
    pub(crate) fn inject_task(&self, task: Runnable) {
        self.spawned_outside.fetch_add(1, Ordering::Relaxed);
        self.trace_spawn_outside(task.header(), None);
        self.inject_fresh(task);
    }

    fn trace_spawn_outside(&self, fresh: &Header, placed: Option<usize>) {
        if self.trace.looks_outside() {
            self.worker(0).trace_outside(Event::SpawnOutside, fresh, placed);
        }
    }

    fn inject_fresh(&self, fresh: Runnable) {
        if self.policy.places_round_robin() {
            self.worker(self.next_round_robin()).deliver(fresh);
        } else {
            self.inject(fresh);
        }
    }

    /// Moves this worker's share of its group's queue to the end of `batch`. Returns how many.
    #[inline]
    pub(crate) fn take_shared(&self, worker: usize, most: usize, batch: &Fifo) -> usize {
        let group = &self.groups[worker / self.group_size];
        if group.len() == 0 {
            return 0;
        }
        // First, since it may sleep at a lock: nobody but the owner changes its batch between these two looks.
        let taken = group.take(most, self.group_size);
        let before = batch.len();
        batch.append(taken);
        batch.len() - before
    }

    pub fn has_shared(&self, worker: usize) -> bool {
        let mine = worker / self.group_size;
        let everywhere = self.policy.takes_from_other_groups();
        self.groups.iter().enumerate().any(|(at, group)| (everywhere || at == mine) && group.len() > 0)
    }

    /// An idle worker of a group with an empty queue helps another group.
    pub(crate) fn take_from_other_group(&self, worker: &Worker) -> Option<Runnable> {
        let mine = worker.index / self.group_size;
        for step in 1..self.groups.len() {
            let mut chain = self.groups[(mine + step) % self.groups.len()].take(1, 1);
            if let Some(found) = chain.next() {
                Counters::add(&worker.counters.group_taken, 1);
                return Some(found);
            }
        }
        None
    }

    /// Sets an alarm from a thread that is no worker; the first worker keeps it.
    pub(crate) fn set_alarm_outside(&self, at_ns: u64, alarm: Alarm) -> AlarmId {
        let keeper = self.worker(0);
        let id = keeper.timers().set(at_ns, alarm);
        self.idle.wake_for_alarm(keeper.index);
        id
    }

    /// Takes an alarm back, from any thread. A runtime that ends may have waited for nothing else.
    pub(crate) fn cancel_alarm(&self, keeper: usize, alarm: AlarmId) {
        if !self.is_here() {
            return;
        }
        self.worker(keeper).timers().cancel(alarm);
        if Worker::with_current(|worker| std::ptr::eq(worker.shared(), self)) == Some(true) {
            return; // which looks itself before it next sleeps
        }
        fence(Ordering::SeqCst); // pairs with the one in `wake_all`: the closer wakes the keeper after this, or we do
        if self.closing.load(Ordering::Relaxed) {
            if keeper < self.workers().len() {
                self.idle.wake_for_alarm(keeper)
            } else {
                self.ring_extra(keeper)
            }
        }
    }

    /// From now on the runtime ends when nothing can run any more.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.gate.as_ref().into_iter().for_each(LentGate::open_for_good);
        // The idle protocol's fences order this store before the sleepers' next look.
        self.wake_all();
    }

    fn wake_all(&self) {
        self.idle.wake_all();
        self.extras.ring_all();
    }

    /// Whether it ends as soon as nothing can run.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// The caller has marked its inbox asleep: if the runtime is closing and nothing can run any more, it ends. Before
    /// that each worker has the destructors run of what processes have left in their storage, which may do whatever a
    /// process may.
    pub(crate) fn note_quiet(&self) {
        if !self.closing.load(Ordering::Relaxed) || self.is_quiet().is_none() {
            return;
        }
        if !self.retiring.swap(true, Ordering::Relaxed) {
            return self.wake_all();
        }
        // Who is asleep has counted itself before, if at all: the fences in `is_quiet` order that before this load.
        let all_have_heard = self.retired.load(Ordering::Relaxed) >= self.workers().len();
        if all_have_heard && !self.stopping.swap(true, Ordering::Relaxed) {
            // Release pairs with the acquire in `has_left_nothing`: the counts of all who sleep are seen, which
            // `is_quiet` has seen.
            self.at_rest.store(true, Ordering::Release);
            self.wake_all();
        }
    }

    /// Whether storage that processes have used is to retire.
    pub(crate) fn retires(&self) -> bool {
        self.process_flags != 0 && self.retiring.load(Ordering::Relaxed)
    }

    /// One more thread runs destructors of storage, until [`end_retiree`](Self::end_retiree).
    pub(crate) fn begin_retiree(&self) {
        self.retirees.fetch_add(1, Ordering::Relaxed);
    }

    /// It has ended.
    pub(crate) fn end_retiree(&self) {
        // Release pairs with the acquire in `alive`: after it the runtime may be freed.
        self.retirees.fetch_sub(1, Ordering::Release);
    }

    /// A worker has heard that storage is to retire.
    pub(crate) fn note_retiring(&self) {
        self.retired.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the runtime has come to rest, and everything in it has ended. False, too, if that cannot be said.
    pub(crate) fn has_left_nothing(&self) -> bool {
        // Acquire pairs with the release in `note_quiet`.
        self.at_rest.load(Ordering::Acquire) && self.alive(&self.total()) == 0
    }

    /// If nobody runs, is about to, or has an alarm set, and nothing is outstanding elsewhere: a number that is another
    /// as soon as anybody has lain down anew. Argued in `crates/raddle-protocol/src/protocol/idle.md`.
    pub fn is_quiet(&self) -> Option<u64> {
        fence(Ordering::SeqCst); // pairs with itself: of two that marked their inboxes asleep, one sees both marks
        let before = self.idle.all_asleep()?;
        let sleeps = |worker: &Worker| worker.inbox.is_asleep() && worker.timers().next_ns().is_none();
        let all_sleep = self.workers().iter().all(sleeps);
        let extras = self.extras.all_asleep()?;
        fence(Ordering::SeqCst); // pairs with the sleeper's fence, which stands between announcement and mark
        // Counted on a worker that was awake then, so the fences above order this look, too.
        let nobody_is_away = !self.may_be_woken_from_elsewhere();
        let stays = self.idle.all_asleep() == Some(before) && self.extras.all_asleep() == Some(extras);
        (all_sleep && nobody_is_away && stays).then(|| before.wrapping_add(extras))
    }

    /// Something goes to a spare OS thread. To be counted, and dropped, on a worker of this runtime, which looks for
    /// the runtime's end itself before it next sleeps.
    pub(crate) fn count_away(&self) -> Away<'_> {
        self.away.fetch_add(1, Ordering::Relaxed);
        Away(self)
    }

    /// Something goes to a spare OS thread that nobody of this runtime comes back from. Until
    /// [`back_outside`](Self::back_outside).
    pub(crate) fn leave_outside(&self) {
        self.away.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether an exploration hears of how this runtime ends.
    pub(crate) fn is_explored(&self) -> bool {
        self.workers().iter().any(|worker| worker.seed.as_ref().is_some_and(|seed| seed.is_explored))
    }

    /// Whether something of this runtime is on a spare OS thread, or outstanding at a poller.
    pub(crate) fn may_be_woken_from_elsewhere(&self) -> bool {
        self.away.load(Ordering::Relaxed) > 0 || self.pollers.outstanding.any()
    }

    /// The same, without waits that have ended and are put by.
    pub(crate) fn awaits_elsewhere(&self) -> bool {
        self.away.load(Ordering::Relaxed) > 0 || self.pollers.outstanding.exceeds(self.put_by())
    }

    /// This runtime, held. By one of its own, or for the default one.
    pub fn hold(&self) -> Arc<Shared> {
        self.worker(0).hold_runtime()
    }

    /// Something is back from a spare OS thread, where this is called. The runtime's end may have waited for it.
    pub(crate) fn back_outside(&self) {
        self.away.fetch_sub(1, Ordering::Relaxed);
        fence(Ordering::SeqCst); // pairs with the one in `wake_all`: the closer wakes a worker after this, or we do
        if self.closing.load(Ordering::Relaxed) {
            self.idle.wake_for_alarm(0);
        }
    }

    /// The workers end as soon as they have nothing to run, and whoever sleeps is woken to find out: there is nothing
    /// to run any more, or not all of them could be started.
    pub(crate) fn stop_now(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.wake_all();
    }

    /// From now on a worker ends that has nothing to run. Whoever sleeps is still to be woken.
    pub(crate) fn let_stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// As [`close`](Self::close), and nobody waits for the workers, which end by themselves when the rest has come to
    /// its end.
    pub fn close_alone(&self) {
        self.dropped_inside.store(true, Ordering::Relaxed);
        self.close();
    }

    /// True if all workers have left, for which it waits as long as it takes to be woken otherwise.
    pub(crate) fn wait_briefly_for_leave(&self) -> bool {
        // Not the runtime's clock, which stands still under a seed.
        let begun = Instant::now();
        loop {
            // Acquire pairs with the release in `leave_last_alone`: what they did is seen.
            if self.at_work.load(Ordering::Acquire) == 0 {
                return true;
            }
            if begun.elapsed() >= LEAVE {
                return false;
            }
            std::hint::spin_loop();
        }
    }

    /// How many of its OS threads stay. For who has seen that all workers have left.
    pub(crate) fn kept(&self) -> usize {
        self.kept.load(Ordering::Relaxed)
    }

    /// A worker has left, and its OS thread is about to end, or stays. True if it is the last and nobody waits for it.
    pub(crate) fn leave_last_alone(&self, stays: bool) -> bool {
        // Relaxed: published by the next line, or by what the worker says last.
        self.kept.fetch_add(usize::from(stays), Ordering::Relaxed);
        // Acquire pairs with the release of the other workers here: the last one sees the counters of all.
        self.at_work.fetch_sub(1, Ordering::AcqRel) == 1 && self.dropped_inside.load(Ordering::Relaxed)
    }

    /// One more worker begins, unless all have left: then nobody may.
    pub(super) fn one_more_at_work(&self) -> bool {
        let more = |at_work: usize| (at_work > 0).then_some(at_work + 1);
        self.at_work.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// That one does not begin after all.
    pub(super) fn one_less_at_work(&self) {
        self.at_work.fetch_sub(1, Ordering::Relaxed);
    }

    /// A task has been dropped, before its end, by a thread that is no worker of this runtime.
    pub(crate) fn count_exit_outside(&self) {
        // Release pairs with the acquire in `alive`: after it the runtime may be freed.
        self.ended_outside.fetch_add(1, Ordering::Release);
    }

    /// The counters of all workers now.
    pub fn total(&self) -> Stats {
        let mut total = Stats::default();
        for worker in self.everybody() {
            total += worker.stats();
        }
        total
    }

    /// How many processes and tasks have been spawned and have not ended.
    pub(crate) fn alive(&self, total: &Stats) -> u64 {
        // Acquire pairs with the release in `count_exit_outside`.
        let outside = |count: &AtomicU64| count.load(Ordering::Acquire);
        (total.spawns + outside(&self.spawned_outside) + outside(&self.retirees))
            .saturating_sub(total.exits + outside(&self.ended_outside))
    }

    /// A process has ended that used so many bytes of its stack.
    pub(crate) fn note_depth(&self, bytes: usize) {
        self.deepest.fetch_max(bytes, Ordering::Relaxed);
    }

    /// The deepest use of a stack, if it is measured.
    pub(crate) fn deepest_stack(&self) -> Option<usize> {
        self.measure_stacks.then(|| self.deepest.load(Ordering::Relaxed))
    }

    /// How many started runnables `worker` got from each worker.
    pub(crate) fn migrations_to<'a>(&self, worker: &'a Worker) -> impl Iterator<Item = u64> + 'a {
        worker.came_from.iter().map(|count| count.load(Ordering::Relaxed))
    }

    /// The counters of all workers and of each, for `RADDLE_STATS`.
    pub(crate) fn stats_text(&self) -> String {
        let outside = self.spawned_outside.load(Ordering::Relaxed);
        let mut total = Always::default();
        self.everybody().for_each(|worker| total += worker.always());
        let mut text = format!("raddle: {} workers", self.workers().len());
        let extra = self.extra_workers().count();
        if extra > 0 {
            let _infallible = write!(text, " and {extra} extra");
        }
        let _infallible = write!(text, ", {outside} spawned from outside\n{total}");
        if let Some(deepest) = self.deepest_stack() {
            let _infallible = writeln!(text, "deepest_stack_bytes  {deepest}");
        }
        for worker in self.everybody() {
            let kind = if worker.index < self.workers().len() { "worker" } else { "extra worker" };
            let _infallible = write!(text, "{kind} {}\n{}", worker.index, worker.always());
            for (from, count) in self.migrations_to(worker).enumerate().filter(|(_, count)| *count > 0) {
                let _infallible = writeln!(text, "{:20} {count}", format!("migrations_from_{from}"));
            }
        }
        text
    }
}
