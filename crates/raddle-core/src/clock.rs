//! Owns: the runtime's clock, nanoseconds since it started.
//! May use: the operating system's monotonic clock.
//! Never: being read on the fast path; a read costs about 20 ns.

use std::time::Instant;

/// Counts from the runtime's start.
#[derive(Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn new() -> Self {
        Clock(Instant::now())
    }

    pub(crate) fn now_ns(&self) -> u64 {
        // 584 years fit.
        self.0.elapsed().as_nanos() as u64
    }
}
