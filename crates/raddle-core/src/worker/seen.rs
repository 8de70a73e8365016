//! Owns: what the watcher may see of a worker from outside, while it runs.
//! May use: nothing.
//! Never: following anything; writing.
//!
//! What is read here may be old; that the same is read twice, a tenth of a
//! second apart, says that the worker has dispatched nothing between.

use super::Worker;
use std::sync::atomic::Ordering;

impl Worker {
    /// What is another after each dispatch, boundary and sleep.
    pub fn progress(&self) -> [u64; 3] {
        let parks = self.counters.parks.load(Ordering::Relaxed);
        [u64::from(self.budget.get()), self.boundary_ns.get(), parks]
    }

    /// How many turns it has given, to one that yields though nobody else can run, too. Counted once a batch.
    pub fn turns(&self) -> u64 {
        self.counters.dispatches.load(Ordering::Relaxed)
    }

    /// For how long it has been idle, without the time since it last became so.
    pub fn idle_ns(&self) -> u64 {
        self.counters.idle_ns.load(Ordering::Relaxed)
    }

    /// Whether an alarm is set here.
    pub fn has_alarm(&self) -> bool {
        self.timers.next_ns().is_some()
    }

    /// Whether an alarm that is set here should have rung.
    pub fn has_alarm_due(&self) -> bool {
        self.timers.is_due(self.shared().clock.now_ns())
    }

    /// How many wait for their turn here, at a glance.
    pub fn waiting_behind(&self) -> usize {
        let threads = self.ready.len_hint() + self.fresh.len_hint();
        self.glance_at_batch().0 + threads + usize::from(self.inbox.has_mail())
    }
}
