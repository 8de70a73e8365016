//! Owns: loom's atomic word with a count of what each thread does to it.
//! May use: `loom`.
//! Never: another order than it was asked for.

use super::stopped::step;
use loom::sync::atomic::{AtomicU64 as LoomWord, Ordering};

/// As loom's, with the functions that the protocols use. After each the thread may be stopped.
pub(crate) struct AtomicU64(LoomWord);

impl AtomicU64 {
    pub(crate) fn new(value: u64) -> AtomicU64 {
        AtomicU64(LoomWord::new(value))
    }

    fn counted<R>(&self, act: impl FnOnce(&LoomWord) -> R) -> R {
        let done = act(&self.0);
        step();
        done
    }

    pub(crate) fn load(&self, order: Ordering) -> u64 {
        self.counted(|word| word.load(order))
    }

    pub(crate) fn store(&self, value: u64, order: Ordering) {
        self.counted(|word| word.store(value, order));
    }

    pub(crate) fn swap(&self, value: u64, order: Ordering) -> u64 {
        self.counted(|word| word.swap(value, order))
    }

    pub(crate) fn fetch_or(&self, bits: u64, order: Ordering) -> u64 {
        self.counted(|word| word.fetch_or(bits, order))
    }

    pub(crate) fn fetch_and(&self, bits: u64, order: Ordering) -> u64 {
        self.counted(|word| word.fetch_and(bits, order))
    }

    pub(crate) fn compare_exchange(
        &self,
        seen: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        self.counted(|word| word.compare_exchange(seen, new, success, failure))
    }
}
