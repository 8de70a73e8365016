//! Owns: the time from wake to run under full load: the state shared by sleeper, waker and load.
//! May use: atomics.
//! Never: a runtime; how to sleep and to wake is the program's.
//!
//! The load computes in slices and yields between them until the sleeper has been woken often enough. One process of
//! the load is the waker: before a slice it checks whether the sleeper waits, takes the time, wakes it, and then
//! computes its slice, as a producer does.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use raddle_measure::Sample;
use raddle_measure::stats::percentile;

/// Processes of the load per worker.
pub const LOAD_A_WORKER: usize = 4;

/// Shared by sleeper, waker and load.
pub struct Probe {
    start: Instant,
    waiting: AtomicBool,
    /// When the waker woke it; 0 while the sleeper should sleep.
    called_ns: AtomicU64,
    over: AtomicBool,
}

impl Default for Probe {
    fn default() -> Self {
        let (waiting, over) = (AtomicBool::new(false), AtomicBool::new(false));
        Probe { start: Instant::now(), waiting, called_ns: AtomicU64::new(0), over }
    }
}

impl Probe {
    /// Whether the load should end.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Called by the waker before each slice; if true, the time has started and it must wake the sleeper.
    pub fn must_wake(&self) -> bool {
        let waits = self.waiting.load(Ordering::Acquire);
        if waits {
            self.waiting.store(false, Ordering::Relaxed);
            self.called_ns.store(self.now_ns(), Ordering::Release);
        }
        waits
    }

    /// Called by the sleeper before it sleeps.
    pub fn waits(&self) {
        self.waiting.store(true, Ordering::Release);
    }

    /// Called by the sleeper: how many nanoseconds ago it was woken, if it was.
    pub fn called(&self) -> Option<f64> {
        let called_ns = self.called_ns.load(Ordering::Acquire);
        if called_ns == 0 {
            return None;
        }
        let elapsed_ns = self.now_ns() - called_ns;
        self.called_ns.store(0, Ordering::Relaxed);
        Some(elapsed_ns as f64)
    }

    /// Ends the load and summarises, after the last wake.
    pub fn finish(&self, figures: &[f64]) -> Result<Sample, String> {
        self.over.store(true, Ordering::Relaxed);
        let at = |percent| percentile(figures, percent).ok_or("no wake was measured".to_owned());
        Ok(Sample::new(at(50.0)?, figures.len() as u64).with("p99_ns", at(99.0)?))
    }

    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64 + 1
    }
}
