//! Owns: what the scheduler tells and asks who watches for hangs, and what it shows it of runtimes and workers.
//! May use: `observe`.
//! Never: a call from a place that is frequent.

use super::shared::Shared;
use crate::observe::{HangPlan, Slot};
use crate::worker::Worker;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Who looks for hangs.
pub trait Watcher: Sync {
    /// A runtime has begun. Until it [ends](Self::runtime_ends) it stays where it is.
    fn runtime_begins(&self, runtime: &Arc<Shared>, plan: HangPlan);

    /// A runtime is about to end: when this returns, nobody looks at it any more.
    fn runtime_ends(&self, runtime: &Shared);

    /// In which call this worker sleeps, of one of these runtimes. It may be interrupted for that, so that the call
    /// fails with `EINTR`. `None` if it does not sleep, or does not tell.
    fn sleeps_in(&self, worker: &Worker) -> Option<BlockingCall>;

    /// That call in words: its name, and the function and the line of the program, if those are known. `None` if it is
    /// one of ours. It may take long: it reads debug information.
    fn words_of(&self, call: &BlockingCall) -> Option<String>;

    /// The caller is about to fork. Nobody looks at anything until what is returned goes.
    fn hold_over_fork(&self) -> Box<dyn HeldOverFork>;
}

/// A system call in which a worker sleeps that the scheduler has not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockingCall {
    /// Its number.
    pub number: i64,
    /// The return addresses of the functions in which it was made, the innermost first.
    pub frames: Vec<usize>,
}

/// What a watcher keeps others from over a fork.
pub trait HeldOverFork {
    /// By the forked child, which has none of its parent's runtimes and of its OS threads only the caller.
    fn in_child(&mut self);
}

/// The watcher, if the program has linked one.
pub static WATCHER: Slot<dyn Watcher> = Slot::new();

impl Shared {
    /// How many processes and tasks live.
    pub fn count_alive(&self) -> u64 {
        self.alive(&self.total())
    }

    /// Whether something of it is in a call of `blocking`, or outstanding at a poller: it may be woken from there.
    pub fn waits_for_elsewhere(&self) -> bool {
        self.awaits_elsewhere()
    }

    /// How often something has come about that others than those who wake each other see: a beginning, an end, an
    /// alarm, something from outside.
    pub fn outcomes(&self) -> [u64; 4] {
        let total = self.total();
        [total.spawns, total.exits, total.alarms, total.shared_taken]
    }

    /// How long a slice may last while others wait for its worker.
    pub fn tick(&self) -> Duration {
        Duration::from_nanos(self.policy.tick_ns())
    }

    /// How long it may at present: a tick, unless [`set_slice`](Self::set_slice) has said less.
    pub fn slice(&self) -> Duration {
        Duration::from_nanos(self.slice_ns())
    }

    pub(crate) fn slice_ns(&self) -> u64 {
        self.slice_ns.load(Ordering::Relaxed)
    }

    /// Those who are taken off by signals spin for each other, perhaps: then they change more often.
    pub fn set_slice(&self, slice: Duration) {
        let nanoseconds = u64::try_from(slice.as_nanos()).unwrap_or(u64::MAX);
        self.slice_ns.store(nanoseconds.min(self.policy.tick_ns()), Ordering::Relaxed);
    }

    /// Whether all its workers sleep.
    pub fn all_workers_sleep(&self) -> bool {
        self.idle.all_asleep().is_some() && self.extras.all_asleep().is_some()
    }

    /// Whether something is outstanding at a poller, and no worker asks: none sleeps, of whom one would, and none has
    /// passed a boundary for so long, nor has an extra one.
    pub fn asks_no_poller(&self, lasts: Duration) -> bool {
        if !self.pollers.outstanding.exceeds(self.put_by()) || self.idle.sleepers() > 0 {
            return false;
        }
        let now = self.clock.now_ns();
        let since = |worker: &Worker| Duration::from_nanos(now.saturating_sub(worker.boundary_ns.get()));
        self.everybody().all(|worker| since(worker) >= lasts)
    }

    /// Whether the worker of this number sleeps, at a glance.
    pub fn worker_sleeps(&self, index: usize) -> bool {
        if index < self.workers().len() {
            self.idle.is_asleep(index)
        } else {
            self.worker(index).inbox.is_asleep()
        }
    }
}

impl Worker {
    /// Whether it follows a seed.
    pub fn follows_seed(&self) -> bool {
        self.seed.is_some()
    }

    /// Whether anything that it does is recorded.
    pub(crate) fn is_recorded(&self) -> bool {
        self.trace_level.load(Ordering::Relaxed) != 0
    }
}
