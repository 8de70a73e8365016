//! Owns: workers that have just run dry and look out, for a moment, for whom others wake.
//! May use: `counters`, `raddle-protocol`.
//! Never: a word by which anybody sleeps: what is said here are hints.
//!
//! Whom somebody wakes goes to its waker, where it most often has its peers, and a thief must wait until it has waited
//! for longer than a steal costs. Where jobs of a few microseconds go through a channel to a pool of threads, none of
//! these waits for so long: one worker had all of them, and the other slept. So where slices are long
//! ([`first`](super::first)) a worker that runs dry looks out before it lies down, and says so by a bit; who then wakes
//! a thread on a worker where another one waits already hands it over: no steal, no call of the kernel. Who talks to
//! one other only, turn by turn, has nobody else waiting, and stays.
//!
//! PERF: 40 000 us of jobs through a pool of threads between two channels of 16, two workers, ms before and now; one
//! worker takes 18.2 to 20:
//!
//! | a job, us | 2 threads | 16 threads | Go, 2 threads |
//! |---|---|---|---|
//! | 0.45 | 22.3, 23.4 | 29.9, 34.3 | 22.9 |
//! | 0.9 | 21.0, 20.8 | 28.5, 27.1 | 20.2 |
//! | 2.3 | 19.4, 18.9 | 19.7, 16.5 | 17.6 |
//! | 4.5 | 18.6, 14.3 | 15.7, 13.7 | 13.9 |
//! | 9 | 15.4, 10.9 | 12.4, 10.9 | 10.9 |
//!
//! *How long it looks out*: at most [`MOST_NS`]; half as long after each time in vain, down to nothing, and as long as
//! before when somebody has been handed over. A steal of threads gives it another try.
//!
//! *Where it does not pay*: a slice may be long because it fills a channel. Then two workers that do so at the same time
//! take its lines from each other at each step, which costs several times what the step does. So slices in which
//! operations that do not wait are frequent are not called long: these are counted already ([`slice`](super::slice)).
//!
//! What else was considered: *to wake a sleeper by a futex*, 5 us for the waker and 20 to 50 until it runs, which is
//! more than such a job takes; *to steal what has not aged*, a membarrier each, 2 to 10 us, by which talkers are torn
//! apart; *to steal while it looks out*: a barrier of four threads with 4.5 us each gained 20 %, and eight threads that
//! hold one lock for 4.5 us of 5.4 lost 25, since one that is about to try the lock is stolen.

use super::LocalWorker;
use super::own::WakeTo;
use crate::counters::Counters;
use raddle_protocol::header::Runnable;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// So long a worker looks out at most, ns.
const MOST_NS: u64 = 50_000;
/// So long after a steal, if it had given up.
const AGAIN_NS: u64 = MOST_NS / 4;
/// Less than this is not worth it.
const LEAST_NS: u64 = 2_000;

/// What keeps it busy for less, on the mean, costs more than it brings: the lines of a channel go from core to core.
const PROFIT_NS: u64 = 5_000;

/// Operations are rare if each of them comes with so much other work.
const RARE_NS: u64 = 700;
/// That is found out once in so long.
const WINDOW_NS: u64 = 200_000;

/// Which of the first 64 workers look out.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Hungry(AtomicU64);

impl Hungry {
    fn bit(worker: usize) -> u64 {
        u32::try_from(worker).ok().and_then(|worker| 1_u64.checked_shl(worker)).unwrap_or(0)
    }

    /// Whether that is `worker`'s own doing: it does not look out any more. False if somebody has handed it one over.
    fn end(&self, worker: usize) -> bool {
        let bit = Hungry::bit(worker);
        self.0.fetch_and(!bit, Ordering::Relaxed) & bit != 0
    }

    /// One of those, to be given one. By one that is none of them.
    fn take(&self) -> Option<usize> {
        let seen = self.0.load(Ordering::Relaxed);
        let worker = (seen != 0).then(|| seen.trailing_zeros() as usize)?;
        self.end(worker).then_some(worker)
    }
}

/// What a worker remembers of its hunger.
pub(super) struct Hunger {
    /// How long it looks out next time.
    budget_ns: Cell<u64>,
    /// Since when it has had what it was given, until it has run dry; 0 if it was not.
    fed_ns: Cell<u64>,
    /// For how long it was kept busy by that, as a mean that forgets.
    lasts_ns: Cell<u64>,
    /// How many operations that did not wait there have been in so long a time.
    operations: Cell<u64>,
    in_ns: Cell<u64>,
    /// And before: whether there were so few that other work takes most of the time.
    are_rare: Cell<bool>,
}

impl Hunger {
    pub(super) fn new() -> Hunger {
        Hunger {
            budget_ns: Cell::new(MOST_NS),
            fed_ns: Cell::new(0),
            lasts_ns: Cell::new(2 * PROFIT_NS),
            operations: Cell::new(0),
            in_ns: Cell::new(0),
            are_rare: Cell::new(true),
        }
    }

    /// Another batch has taken so long.
    fn note_time(&self, elapsed_ns: u64) {
        let in_ns = self.in_ns.get().saturating_add(elapsed_ns);
        if in_ns < WINDOW_NS {
            return self.in_ns.set(in_ns);
        }
        self.are_rare.set(in_ns / (self.operations.replace(0) + 1) >= RARE_NS);
        self.in_ns.set(0);
    }

    /// At `now` it has run dry.
    fn note_dry(&self, now: u64) {
        let fed_ns = self.fed_ns.replace(0);
        if fed_ns > 0 {
            let lasted = now.saturating_sub(fed_ns).min(8 * PROFIT_NS);
            self.lasts_ns.set((3 * self.lasts_ns.get() + lasted) / 4);
        }
    }
}

impl LocalWorker {
    /// So many more operations of those who run here have not waited.
    pub(super) fn note_operations(&self, count: u32) {
        let operations = &self.own().hunger.operations;
        operations.set(operations.get() + u64::from(count));
    }

    /// At a boundary, before which a batch has taken so long.
    pub(super) fn note_batch(&self, elapsed_ns: u64) {
        self.own().hunger.note_time(elapsed_ns);
    }

    /// Whether those who run here do other work most of the time than operations that do not wait.
    pub(super) fn operations_are_rare(&self) -> bool {
        self.own().hunger.are_rare.get()
    }

    /// How long this worker, which has run dry just `now`, looks out; it says so, until [`sated`](Self::sated).
    pub(super) fn hungers(&self, now: u64) -> u64 {
        let (shared, hunger) = (self.shared(), &self.own().hunger);
        hunger.note_dry(now);
        let budget_ns = hunger.budget_ns.get();
        let slices_are_long = self.own().wakes_to.get() == WakeTo::First;
        let pays = hunger.lasts_ns.get() >= PROFIT_NS && budget_ns > 0;
        if !pays || !slices_are_long || shared.workers().len() == 1 || shared.idle.is_crowded() {
            return 0;
        }
        shared.hungry.0.fetch_or(Hungry::bit(self.index), Ordering::Relaxed);
        budget_ns
    }

    /// It has looked out for so long, if at all.
    pub(super) fn sated(&self, looked_ns: u64) {
        if looked_ns == 0 {
            return;
        }
        let in_vain = self.shared().hungry.end(self.index);
        let hunger = &self.own().hunger;
        if in_vain {
            let half = Some(looked_ns / 2).filter(|half| *half >= LEAST_NS);
            hunger.budget_ns.set(half.unwrap_or(0));
        } else {
            hunger.budget_ns.set(MOST_NS);
            hunger.fed_ns.set(self.shared().clock.now_ns());
        }
    }

    /// It has stolen threads: perhaps there are more to come.
    pub(super) fn note_threads_stolen(&self) {
        let hunger = &self.own().hunger;
        hunger.budget_ns.set(hunger.budget_ns.get().max(AGAIN_NS));
        hunger.lasts_ns.set(hunger.lasts_ns.get().max(PROFIT_NS));
    }

    /// What has been woken, and may go elsewhere, goes to a worker that looks out, if another one waits here.
    pub(super) fn feed(&self, runnable: Runnable) -> Option<Runnable> {
        if self.ready.is_empty_for_owner() && self.turns().batch.is_empty() {
            return Some(runnable);
        }
        let Some(to) = self.shared().hungry.take() else { return Some(runnable) };
        Counters::add(&self.counters.shared_out, 1);
        self.shared().worker(to).deliver(runnable);
        None
    }
}
