//! Owns: priorities of the machine's processes on several workers.
//! May use: `raddle-vm`.
//! Never: is asked before somebody has chosen a priority; keeps anybody from running for long.
//!
//! The workers' queues know no priorities. So a process whose turn it is waits for another turn while one that goes
//! first can run and does not yet: one of a higher priority than most, wherever it waits, and for one of a lower
//! priority than most, anybody who waits at its worker. A worker lets at most [`DEFERRED_MAX`] turns go by in a row:
//! what it waits for may be in the queue of another one that is busy.

use raddle_vm::{LEVEL, Process};
use std::sync::atomic::{AtomicU32, Ordering};

/// So many turns in a row go by at a worker.
const DEFERRED_MAX: u32 = 64;

/// How many can run and do not, of each priority above that of most. An estimate: who could run before the first one
/// chose a priority was not counted.
#[derive(Default)]
pub(super) struct ReadyAbove([AtomicU32; LEVEL as usize]);

impl ReadyAbove {
    /// A process can run.
    #[cold]
    pub(super) fn ready<L>(&self, process: &Process<L>) {
        if let Some(count) = self.0.get(process.level() as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// It is this one's turn at a worker where `others` wait. False if the turn goes by; it can run still.
    #[cold]
    pub(super) fn may_run<L>(&self, process: &Process<L>, deferred: &AtomicU32, others: bool) -> bool {
        let level = process.level() as usize;
        let above = self.0.iter().take(level).any(|count| count.load(Ordering::Relaxed) > 0);
        let waits = above || level > LEVEL as usize && others;
        // Only its own worker changes it.
        let before = deferred.load(Ordering::Relaxed);
        if waits && before < DEFERRED_MAX {
            deferred.store(before + 1, Ordering::Relaxed);
            return false;
        }
        deferred.store(0, Ordering::Relaxed);
        if let Some(count) = self.0.get(level) {
            let one_less = |count: u32| count.checked_sub(1);
            let _was_none = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        }
        true
    }
}
