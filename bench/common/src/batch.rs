//! Owns: the values of a batch of jobs that nobody has a handle of, and how many are left.
//! May use: atomics.
//! Never: waiting; that is the runtime's.

use std::sync::atomic::{AtomicU64, Ordering};

/// A batch of jobs, each of which leaves a value.
pub struct Batch {
    left: AtomicU64,
    values: Box<[AtomicU64]>,
}

impl Batch {
    /// A batch of `size` jobs, all of which are over.
    pub fn new(size: u64) -> Batch {
        Batch { left: AtomicU64::new(0), values: (0..size).map(|_| AtomicU64::new(0)).collect() }
    }

    /// All jobs are left again.
    pub fn begin(&self) {
        self.left.store(self.values.len() as u64, Ordering::Relaxed);
    }

    /// A job leaves its value; `true` for the last one.
    pub fn leave(&self, place: u64, value: u64) -> bool {
        self.values[place as usize].store(value, Ordering::Relaxed);
        self.left.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Whether no job is left.
    pub fn is_over(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0
    }

    /// The sum of the values.
    pub fn sum(&self) -> u64 {
        self.values.iter().map(|value| value.load(Ordering::Relaxed)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_job_says_so() {
        let batch = Batch::new(2);
        assert!(batch.is_over());
        batch.begin();
        assert_eq!([batch.leave(1, 5), batch.is_over(), batch.leave(0, 7)], [false, false, true]);
        assert_eq!((batch.is_over(), batch.sum()), (true, 12));
    }
}
