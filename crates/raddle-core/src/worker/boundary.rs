//! Owns: what a worker does once a batch, once a quantum, once a tick.
//! May use: `counters`, `policy`, `raddle-protocol`.
//! Never: more than one clock read a boundary.
//!
//! A boundary comes after at most `BUDGET_MAX` dispatches. If slices are long, so many of them would take long, so
//! the budget follows the mean slice: boundaries are meant to be about half a quantum apart, and a budget of one means
//! a boundary after each slice.
//!
//! The mean of one batch says little of the next: a hundred sleepers wake, each for a moment, and two that compute are
//! left, whose slices take 23 us. By the sleepers' mean, 64 such slices would come before the next look at a clock. So
//! while an alarm is set, or a poller has something outstanding, the budget is at most what [`LATE_NS`] allow of the
//! longest mean slice that is [remembered](LongSlices).
//!
//! At a **boundary**: timers that are due, mail, injected work. When a **quantum** (50 us) has passed and the batch is
//! not dry: start something fresh, and lay out or pass on surplus. When a **tick** (10 ms) has passed: the balance
//! `fair`, and a look at the other workers if there is hardly anything to run here. Under full load with nobody idle,
//! a quantum costs about a hundred nanoseconds in fifty thousand.
//!
//! It uses the clock, the timers, the shared queues, the idle set.

use super::{BUDGET_MAX, LocalWorker, Worker};
use crate::counters::Counters;
use crate::policy::{CHAIN_MAX, Policy, QUANTUM_NS};
use raddle_protocol::fifo::{Chain, Fifo};
use raddle_protocol::header::{Kind, PASSED, Runnable};
use std::cell::Cell;
use std::sync::atomic::Ordering;

/// What need not start as long as anything else can run starts nevertheless, one in so many nanoseconds.
const LATER_NS: u64 = 10 * QUANTUM_NS;
/// So many branches under way are enough for each worker: who is passed by begins rarely.
const BRANCHES_ENOUGH: usize = 4;
/// For so many ticks a queue is longer by one before the balance `fair` moves that one.
const ODD_TICKS: u32 = 8;

/// So late, about, an alarm rings, or a poller is asked, where slices are long and were short before.
///
/// PERF: a hundred that sleep for 1 ms each time, beside two that compute for 23 us and yield: a sleep took 2.8 ms on
/// one worker and 1.6 on two, and takes 1.3 and 1.08 with twice as much as this (Go 1.04 and 1.03). Not half a quantum,
/// as where slices are alike: what was long may be over, and a boundary costs as much as four short slices.
const LATE_NS: u64 = 2 * QUANTUM_NS;
/// A long slice is forgotten in about so long.
const MEMORY_NS: u64 = 1_000_000;

/// The longest mean slice of a batch, of those that were not long ago: it falls towards what has come since.
struct LongSlices(Cell<u64>);

impl LongSlices {
    /// A batch has ended, which has taken `elapsed` nanoseconds. Returns the longest, never 0.
    #[inline]
    fn note(&self, slice: u64, elapsed: u64) -> u64 {
        let over = self.0.get().saturating_sub(slice);
        let forgotten = if elapsed >= MEMORY_NS { over } else { over.saturating_mul(elapsed) / MEMORY_NS };
        let longest = slice.max(1) + (over - forgotten);
        self.0.set(longest);
        longest
    }
}

/// When things were last done, and how long slices are.
pub(super) struct Pace {
    quantum_ns: Cell<u64>,
    tick_ns: Cell<u64>,
    later_ns: Cell<u64>,
    /// When some who are passed by were last let in, and how many at most.
    passed_by_ns: Cell<u64>,
    passed_by_most: Cell<usize>,
    budget_given: Cell<u32>,
    slice_ns: Cell<u64>,
    long_slices: LongSlices,
    odd_ticks: Cell<u32>,
}

impl Pace {
    pub(super) fn new() -> Self {
        let zero = || Cell::new(0);
        Pace {
            quantum_ns: zero(),
            tick_ns: zero(),
            later_ns: zero(),
            passed_by_ns: zero(),
            passed_by_most: Cell::new(0),
            budget_given: Cell::new(BUDGET_MAX),
            slice_ns: zero(),
            long_slices: LongSlices(zero()),
            odd_ticks: Cell::new(0),
        }
    }
}

impl LocalWorker {
    /// The end of a batch's budget.
    pub(super) fn boundary(&self) {
        let now = self.shared().clock.now_ns();
        self.renew_budget(now);
        self.fire_timers(now);
        self.ask_at_boundary(now);
        if self.inbox.has_mail() {
            self.take_mail();
        }
        self.take_shared(CHAIN_MAX);
        if now - self.own().pace.quantum_ns.get() >= QUANTUM_NS {
            self.own().pace.quantum_ns.set(now);
            self.quantum(now);
        }
        self.send_home_if_coupled();
        self.own().ran_dry.set(false);
    }

    /// Counts the dispatches of the last batch, and sizes the next by how long they took.
    pub(super) fn renew_budget(&self, now: u64) {
        let given = self.own().pace.budget_given.get();
        let used = u64::from(given - self.budget.get());
        Counters::add(&self.counters.dispatches, used);
        Counters::add(&self.counters.local_wakes, self.turns().batch.take_woken() as u64);
        let elapsed = now - self.boundary_ns.replace(now);
        let slice = elapsed / used.max(1);
        self.own().pace.slice_ns.set((self.own().pace.slice_ns.get() * 3 + slice) / 4);
        let mut fits = (QUANTUM_NS / 2).checked_div(slice).unwrap_or(u64::from(BUDGET_MAX));
        let longest = self.own().pace.long_slices.note(slice, elapsed);
        self.note_slices(longest);
        self.note_batch(elapsed);
        if self.timers.next_ns().is_some() || self.shared().pollers.outstanding.any() {
            fits = fits.min(LATE_NS / longest);
        }
        let budget = fits.clamp(1, u64::from(BUDGET_MAX)) as u32;
        // The budget is counted down before it is tested, so that one dispatch needs a budget of two.
        self.own().pace.budget_given.set(budget + 1);
        self.budget.set(budget + 1);
        self.keep_budget();
        self.publish_backlog(self.own().pace.slice_ns.get());
        self.shared().sampler.look(self.shared(), now);
    }

    /// Whatever is left of the budget, whoever is next passes a boundary.
    pub(crate) fn cut_budget(&self) {
        let left = self.budget.get().saturating_sub(1);
        if self.seeded().is_none() {
            let given = &self.own().pace.budget_given;
            given.set(given.get() - left);
            self.budget.set(1);
        }
    }

    /// Time has passed while the worker slept, or has begun again: not the slices' time.
    pub(super) fn restart_clock(&self, now: u64) {
        self.boundary_ns.set(now);
        self.own().pace.quantum_ns.set(self.own().pace.quantum_ns.get().min(now));
        self.own().pace.tick_ns.set(self.own().pace.tick_ns.get().min(now));
    }

    fn quantum(&self, now: u64) {
        if self.shared().policy.shares() {
            self.share_fresh();
        }
        self.let_threads_in();
        self.start_some_fresh(now);
        if self.shared().idle.wants_knock() {
            self.knock_for_threads();
        }
        if let Some(job) = self.take_own_job() {
            self.turns().batch.push(job);
        }
        let had_slack = !self.own().ran_dry.get();
        if had_slack && self.turns().batch.movable() > 1 && self.shared().policy.moves_started() {
            self.give_surplus();
        } else {
            let _whether_or_not = self.retract();
        }
        if now - self.own().pace.tick_ns.get() >= self.shared().policy.tick_ns() {
            self.own().pace.tick_ns.set(now);
            self.end_put_by();
            self.look_around(now);
            self.even_out();
        }
    }

    /// Whoever yields in a loop until others have done something keeps its worker from being idle, though that has
    /// nothing else to run. If those wait behind an endless slice elsewhere, nobody would take them: so it looks once
    /// a tick.
    fn look_around(&self, now: u64) {
        let has_more = self.turns().batch.len() > 1 || !self.ready.is_empty_for_owner() || self.has_fresh();
        if !has_more && let Some(found) = self.steal_from_others(now) {
            self.turns().batch.push(found);
        }
    }

    /// The batch has had its quantum: fresh ones join it, at its front, so that each gets its share.
    ///
    /// What has left the fresh list cannot be stolen any more, so they are as many as will have had their first turn in
    /// a quarter of a quantum, if they are like the others, and no more than the others.
    fn start_some_fresh(&self, now: u64) {
        let fit = (QUANTUM_NS / 4).checked_div(self.own().pace.slice_ns.get()).unwrap_or(1).max(1);
        let fit = usize::try_from(fit).unwrap_or(usize::MAX);
        let passed_by = self.own().out_of_turn.replace(false);
        let most = if passed_by {
            self.let_in(now, fit)
        } else {
            self.own().pace.passed_by_most.set(0);
            self.turns().batch.len().clamp(1, fit)
        };
        let starting = Fifo::new();
        while starting.len() < most
            && let Some(fresh) = self.my_fresh().pop()
        {
            if passed_by && fresh.header().kind == Kind::Process {
                let flags = &fresh.header().flags;
                flags.set(flags.get() | PASSED);
            }
            starting.push(fresh);
        }
        // Whether any began or not: others may be fresh at every quantum.
        if let Some(later) = self.start_later(now) {
            starting.push(later);
        }
        self.turns().batch.prepend(&starting);
    }

    /// Trees are walked depth first here: how many of those who are passed by begin now.
    ///
    /// Twice as many each time, up to those that `fit`. But each that waits for children in turn is another branch, all
    /// of whose parents wait: once enough of these are under way, it is one in a while, until some have ended. PERF:
    /// bench `tree`; with the more of them the longer the list, the list grew without bound. With one in half a
    /// millisecond of any, 20 000 detached beside one that joins child after child took 11 s to begin, and 5 ms where
    /// nobody is passed by; with one in half a millisecond of those that join a child each, 10 s.
    fn let_in(&self, now: u64, fit: usize) -> usize {
        let pace = &self.own().pace;
        if self.shared().branches() >= BRANCHES_ENOUGH * self.shared().workers().len() {
            pace.passed_by_most.set(0);
            if now - pace.passed_by_ns.get() < LATER_NS {
                // They are passed by still.
                self.own().out_of_turn.set(true);
                return 0;
            }
        }
        pace.passed_by_ns.set(now);
        let most = pace.passed_by_most.get().saturating_mul(2).clamp(1, fit);
        pace.passed_by_most.set(most);
        most
    }

    /// What could wait has waited for long.
    ///
    /// Not once a quantum: what has started cannot be stolen. PERF: bench `granularity`, whose bodies run 70 us each:
    /// with one more of them started in each quantum, all had started when less than half of the work was done.
    fn start_later(&self, now: u64) -> Option<Runnable> {
        if now - self.own().pace.later_ns.get() < LATER_NS {
            return None;
        }
        self.own().pace.later_ns.set(now);
        self.my_later().pop()
    }

    /// A batch that never runs dry would keep the threads waiting: some join it, as many as are in it.
    ///
    /// At its end: where each slice takes longer than a quantum they join after each slice, and those that have just
    /// run, of which the ready list has none other left by then, would go before all others for ever.
    fn let_threads_in(&self) {
        for _ in 0..self.turns().batch.len() {
            let Some(thread) = self.my_ready().pop() else { return };
            self.turns().batch.push(thread);
        }
    }

    /// More movable work than this worker needs at once: into the window, or to an idle worker, by the policy.
    fn give_surplus(&self) {
        let policy = &self.shared().policy;
        if policy.steals() {
            if self.retract() {
                return;
            }
            let half = Policy::surplus(self.turns().batch.movable());
            let chain = self.turns().batch.split_movable(half);
            Counters::add(&self.counters.published, half as u64);
            if let Err(chain) = self.window.publish(chain) {
                self.turns().batch.append(chain);
            }
            self.shared().idle.notify_if_room();
        } else if policy.shares()
            && let Some(idle) = self.shared().some_sleeper(self.index)
        {
            // As GHC pushes: keep one share, the free one gets the other.
            let half = Policy::surplus(self.turns().batch.movable());
            Counters::add(&self.counters.shared_out, half as u64);
            self.send(idle, self.turns().batch.split_movable(half));
        }
    }

    /// What begins here takes long, and comes to no boundary: all that could run elsewhere is laid out for whoever is
    /// idle, or will be. What nobody has taken comes back as surplus does.
    pub(crate) fn lay_out(&self) {
        let policy = &self.shared().policy;
        let movable = self.turns().batch.movable();
        if movable == 0 || !policy.steals() || !policy.moves_started() || self.seeded().is_some() {
            return;
        }
        let chain = self.turns().batch.split_movable(movable);
        match self.window.publish(chain) {
            Ok(()) => {
                Counters::add(&self.counters.published, movable as u64);
                self.shared().idle.notify_if_room();
            }
            Err(chain) => self.turns().batch.append(chain),
        }
    }

    /// Work-sharing: half of what has not started goes to an idle worker, which may not take it by itself.
    fn share_fresh(&self) {
        let half = Policy::surplus(self.fresh.len_hint());
        if half == 0 {
            return;
        }
        let Some(idle) = self.shared().some_sleeper(self.index) else { return };
        let given = Fifo::new();
        while given.len() < half
            && let Some(fresh) = self.my_fresh().pop()
        {
            given.push(fresh);
        }
        Counters::add(&self.counters.shared_out, given.len() as u64);
        self.send(idle, given.drain());
    }

    /// What lies in the window comes home; false if nothing lay there. It was about to run when it was laid out, so it
    /// runs next, and nothing takes its place in the window before it has had a quantum to do so. At the batch's end it
    /// would be laid out again before its turn, for ever, where a round of the batch takes longer than a quantum.
    fn retract(&self) -> bool {
        let back = Fifo::new();
        while self.window.filled() > 0 {
            back.append(self.window.take());
        }
        let any = !back.is_empty();
        self.turns().batch.prepend(&back);
        any
    }

    /// Balance `fair`: nobody is idle, so once a tick one movable runnable goes to the shortest ready queue. A queue
    /// that is longer by only one gives, too, once in [`ODD_TICKS`]: the one too many then goes round, and each gets
    /// its share in time. (With three threads on two workers it stayed, and those two got half as much: spread 58 % in
    /// `apps/warehouse`. PERF: given each tick, the threads' tables went from cache to cache 200 times a second, and
    /// five warehouses on two workers lost 5 to 12 % of their throughput.)
    fn even_out(&self) {
        let shared = self.shared();
        let movable = self.turns().batch.movable() + self.ready.len_hint();
        if !shared.policy.is_fair() || shared.idle.sleepers() > 0 || movable == 0 {
            return;
        }
        let others = shared.workers().iter().filter(|other| other.index != self.index);
        let ready = |other: &&Worker| other.published.ready.load(Ordering::Relaxed);
        let Some(shortest) = others.min_by_key(ready) else { return };
        let longer_by = self.ready().saturating_sub(ready(&shortest));
        let odd_ticks = if longer_by == 1 { self.own().pace.odd_ticks.get() + 1 } else { 0 };
        self.own().pace.odd_ticks.set(odd_ticks % ODD_TICKS);
        if longer_by > 1 || odd_ticks == ODD_TICKS {
            let thread = self.my_ready().pop();
            let chain = thread.map_or_else(|| self.turns().batch.split_movable(1), Chain::one);
            Counters::add(&self.counters.fair_moves, u64::from(!chain.is_empty()));
            self.send(shortest.index, chain);
        }
    }

    pub(super) fn send(&self, to: usize, chain: Chain) {
        if chain.is_empty() {
            return;
        }
        let to = self.shared().worker(to);
        if to.inbox.push_chain(chain) {
            self.shared().wake_owner(to.index);
        }
    }

    /// Takes up to `most` from the queue of this worker's group.
    pub(super) fn take_shared(&self, most: usize) {
        let taken = self.shared().take_shared(self.ways.takes_as, most, &self.turns().batch);
        if taken > 0 {
            Counters::add(&self.counters.shared_taken, taken as u64);
        }
    }

    /// Wakes whoever's alarm has rung.
    pub(super) fn fire_timers(&self, now: u64) {
        if self.timers.is_due(now) {
            self.ring(self, now);
        }
    }

    /// Rings the due alarms of `of`, which may be another, busy worker.
    pub(super) fn ring(&self, of: &Worker, now: u64) {
        while let Some(alarm) = of.timers.pop_due(now) {
            Counters::add(&self.counters.alarms, 1);
            alarm.ring(self);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_slice_is_remembered_for_as_long_as_it_matters() {
        let long = LongSlices(Cell::new(0));
        assert_eq!(long.note(0, 0), 1);
        assert_eq!(long.note(25_000, 50_000), 25_000);
        // A hundred short ones say nothing of what comes behind them.
        assert!((24_000..25_000).contains(&long.note(300, 30_000)));
        // A millisecond of them does.
        for _ in 0..100 {
            long.note(300, 50_000);
        }
        assert!(long.note(300, 50_000) < 1_000);
        assert_eq!(long.note(u64::MAX, 1), u64::MAX);
        assert_eq!(long.note(20, u64::MAX), 20);
    }
}
