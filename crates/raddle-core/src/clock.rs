//! Owns: the runtime's clock, nanoseconds since it started.
//! May use: nothing.
//! Never: being read on the fast path; a read costs about 20 ns.
//!
//! The clock of a runtime that follows a seed stands still until its worker says what time it is.
//!
//! It uses the operating system's monotonic clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Counts from the runtime's start.
#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
    /// What time it is, if time is virtual. Written by the one worker, read by it and by reports.
    virtual_ns: Option<AtomicU64>,
}

impl Clock {
    pub(crate) fn new(is_virtual: bool) -> Self {
        Clock { start: Instant::now(), virtual_ns: is_virtual.then(AtomicU64::default) }
    }

    pub(crate) fn now_ns(&self) -> u64 {
        match &self.virtual_ns {
            // 584 years fit.
            None => self.start.elapsed().as_nanos() as u64,
            Some(now) => now.load(Ordering::Relaxed),
        }
    }

    /// The virtual time as a point of time; `None` if time is real.
    pub(crate) fn virtual_now(&self) -> Option<Instant> {
        let now = self.virtual_ns.as_ref()?.load(Ordering::Relaxed);
        self.start.checked_add(Duration::from_nanos(now))
    }

    /// Virtual time passes, until then.
    pub(crate) fn jump_to(&self, ns: u64) {
        if let Some(now) = &self.virtual_ns {
            now.store(ns, Ordering::Relaxed);
        }
    }
}
