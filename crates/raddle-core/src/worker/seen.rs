//! Owns: what the watcher may see of a worker from outside, while it runs.
//! May use: single words of the private half, read as atomics.
//! Never: following anything; writing.
//!
//! These words are plain cells to their owner. What is read here may be old; that the same is read twice, a tenth of a
//! second apart, says that the worker has dispatched nothing between.

use super::Worker;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

impl Worker {
    /// What is another after each dispatch, boundary and sleep.
    pub(crate) fn progress(&self) -> [u64; 3] {
        // SAFETY: as large as an atomic word and aligned as one; read only.
        let budget = unsafe { AtomicU32::from_ptr(self.budget.as_ptr()) };
        // SAFETY: as above.
        let boundary = unsafe { AtomicU64::from_ptr(self.pace.last_boundary()) };
        let relaxed = Ordering::Relaxed;
        [u64::from(budget.load(relaxed)), boundary.load(relaxed), self.counters.parks.load(relaxed)]
    }

    /// How many wait for their turn here, at a glance.
    pub(crate) fn waiting_behind(&self) -> usize {
        let threads = self.ready.len_hint() + self.fresh.len_hint();
        self.batch.len_hint() + threads + usize::from(self.inbox.has_mail())
    }
}
