//! Owns: how often and how long a worker was idle, by decade of the length. Always counted.
//! May use: nothing.
//! Never: a clock; who is idle reads it anyway.
//!
//! The histogram of the K42 study of thread migration: idle incidents of 0-10 us, 10-100 us, and so on.
//!
//! It uses relaxed atomics, each written by one worker only.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many decades are told apart.
pub const DECADES: usize = 8;

/// One worker's idle incidents.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct IdleTimes {
    count: [AtomicU64; DECADES],
    ns: [AtomicU64; DECADES],
    /// Since when it is idle, on the runtime's clock; 0 if it is not.
    since: AtomicU64,
}

/// The idle incidents of one length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdleDecade {
    /// How many there were.
    pub incidents: u64,
    /// How long they were together, in nanoseconds.
    pub ns: u64,
}

/// The names of the decades, from the shortest to the longest.
pub const DECADE_NAMES: [&str; DECADES] =
    ["0-10 us", "10-100 us", "100 us-1 ms", "1-10 ms", "10-100 ms", "100 ms-1 s", "1-10 s", ">= 10 s"];

/// The decade of a length.
fn decade(ns: u64) -> usize {
    (ns / 10_000).checked_ilog10().map_or(0, |log| log as usize + 1).min(DECADES - 1)
}

impl IdleTimes {
    /// An incident begins. Called by the owner.
    pub(crate) fn begin(&self, now: u64) {
        self.since.store(now.max(1), Ordering::Relaxed);
    }

    /// Since when the worker is idle, on the runtime's clock, if it is.
    pub(crate) fn since(&self) -> Option<u64> {
        Some(self.since.load(Ordering::Relaxed)).filter(|since| *since > 0)
    }

    /// An incident is over. Called by the owner.
    pub(crate) fn add(&self, ns: u64) {
        self.since.store(0, Ordering::Relaxed);
        let more = |to: &AtomicU64, by| to.store(to.load(Ordering::Relaxed) + by, Ordering::Relaxed);
        more(&self.count[decade(ns)], 1);
        more(&self.ns[decade(ns)], ns);
    }

    /// Reads each count once; together they need not be of one instant.
    pub(crate) fn snapshot(&self) -> [IdleDecade; DECADES] {
        let read = |from: &AtomicU64| from.load(Ordering::Relaxed);
        std::array::from_fn(|at| IdleDecade { incidents: read(&self.count[at]), ns: read(&self.ns[at]) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_begin_at_powers_of_ten() {
        let lengths = [0, 9_999, 10_000, 99_999, 100_000, 9_999_999, 10_000_000_000, u64::MAX];
        assert_eq!(lengths.map(decade), [0, 0, 1, 1, 2, 3, 7, 7]);
    }

    #[test]
    fn the_histogram_adds_up() {
        let times = IdleTimes::default();
        [5_u64, 12_000, 15_000, 3_000_000].into_iter().for_each(|ns| times.add(ns));
        let seen = times.snapshot();
        assert_eq!(seen.map(|decade| decade.incidents), [1, 2, 0, 1, 0, 0, 0, 0]);
        assert_eq!(seen.iter().map(|decade| decade.ns).sum::<u64>(), 3_027_005);
    }
}
