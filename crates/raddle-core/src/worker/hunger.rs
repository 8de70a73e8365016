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
//! *How long it looks out*: at most [`MOST_NS`], and twice as long as it was kept busy by what it was given; half as
//! long after each time in vain, down to nothing, and as long as before when somebody has been handed over. A steal of
//! threads gives it another try.
//!
//! *Where it does not pay*: a slice may be long because it fills a channel. Two workers that do so at the same time
//! take its lines from each other at each step: several times what the step costs. So slices in which
//! operations that do not wait are frequent are not called long: these are counted already ([`slice`](super::slice)).
//!
//! What else was considered: *to wake a sleeper by a futex*, 5 us for the waker and 20 to 50 until it runs, which is
//! more than such a job takes; *to steal what has not aged*, a membarrier each, 2 to 10 us, by which talkers are torn
//! apart; *to steal while it looks out*: a barrier of four threads with 4.5 us each gained 20 %, and eight threads that
//! hold one lock for 4.5 us of 5.4 lost 25, since one that is about to try the lock is stolen.

use super::LocalWorker;
use super::wake_to::{MOST_NS, PROFIT_NS, WakeTo};
use crate::counters::Counters;
use raddle_protocol::header::Runnable;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};

/// So long after a steal, if it had given up.
const AGAIN_NS: u64 = MOST_NS / 4;
/// Less than this is not worth it.
const LEAST_NS: u64 = 2_000;

/// So many turns of the spin loop are between two looks.
const LOOKS: u32 = 8;

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

    /// It has run dry at `began`, and is counted as idle, but not as one that searches: looks out for who is handed
    /// over, if that pays. Whether there is mail. It steals nothing meanwhile: what it could waits for a lock, perhaps,
    /// that its owner is about to take again.
    #[inline(never)]
    pub(super) fn look_out_hungry(&self, began: u64) -> bool {
        let looks_ns = self.hungers(began);
        if looks_ns == 0 {
            return false;
        }
        let (shared, hunger) = (self.shared(), &self.own().hunger);
        shared.hungry.0.fetch_or(Hungry::bit(self.index), Ordering::Relaxed);
        let (mut now, until) = (began, began + looks_ns);
        while now < until && !self.inbox.has_mail() && !self.has_other_work(now) {
            (0..LOOKS).for_each(|_| spin_loop());
            now = shared.clock.now_ns();
        }
        if shared.hungry.end(self.index) {
            let half = Some(looks_ns / 2).filter(|half| *half >= LEAST_NS);
            hunger.budget_ns.set(half.unwrap_or(0));
        } else {
            hunger.budget_ns.set(MOST_NS);
            hunger.fed_ns.set(now);
        }
        // What is handed over is on its way, if it is not there; or there is mail of another's.
        let has_mail = self.inbox.has_mail();
        if has_mail {
            self.take_mail();
        }
        has_mail
    }

    /// How long this worker, which has run dry at `began`, looks out; 0 for not at all. No longer than what it was
    /// given would last; not while anything is to be asked of a poller, which it would not do meanwhile.
    fn hungers(&self, began: u64) -> u64 {
        let (shared, hunger) = (self.shared(), &self.own().hunger);
        hunger.note_dry(began);
        let (lasts_ns, slices_are_long) = (hunger.lasts_ns.get(), self.own().wakes_to.get() == WakeTo::First);
        let pays = lasts_ns >= PROFIT_NS && slices_are_long && Hungry::bit(self.index) != 0;
        let may = !shared.idle.is_crowded() && !shared.pollers.outstanding.any();
        if pays && may && shared.workers().len() > 1 { hunger.budget_ns.get().min(2 * lasts_ns) } else { 0 }
    }

    /// Something else is to be done than to wait: whoever is idle comes to that next.
    fn has_other_work(&self, now: u64) -> bool {
        let shared = self.shared();
        let is_over = || self.own().nested.is_over() || shared.is_stopping() || self.timers().is_due(now);
        shared.has_shared(self.index) || is_over() || self.sees_jobs()
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
        Counters::add(&self.counters.handed_over, 1);
        self.shared().worker(to).deliver(runnable);
        None
    }
}
