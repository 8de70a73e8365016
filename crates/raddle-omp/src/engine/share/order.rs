//! Owns: waiting for the order of a loop's iterations: a count, or one by one (doacross).
//! May use: `wait`, `raddle-core`.
//! Never: who runs which iteration.

use crate::wait::{sleep_at, wake_all};
use raddle_core::door::team;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Until the word is so.
pub(super) fn wait_word(word: &AtomicU64, is_so: impl Fn(u64) -> bool, spin: Duration) {
    loop {
        let now = word.load(Ordering::Acquire); // pairs with the release of who changes it
        // pairs with the same
        if is_so(now) || team::spin_until(spin, || is_so(word.load(Ordering::Acquire))) {
            return;
        }
        sleep_at(word, now);
    }
}

/// Which iterations of a loop have been passed, one by one: a bit for each.
pub(crate) struct Doacross {
    passed: UnsafeCell<Passed>,
    posts: AtomicU32,
}

#[derive(Default)]
struct Passed {
    dimensions: Vec<u64>,
    bits: Vec<AtomicU64>,
}

impl Doacross {
    pub(super) fn new() -> Doacross {
        Doacross { passed: UnsafeCell::default(), posts: AtomicU32::new(0) }
    }

    /// By the first of a team, while the others wait.
    pub(super) fn begin(&self, dimensions: &[u64]) {
        let words = dimensions.iter().product::<u64>().div_ceil(64);
        let bits = (0..words).map(|_| AtomicU64::new(0)).collect();
        // SAFETY: nobody else looks before the loop is ready.
        unsafe { *self.passed.get() = Passed { dimensions: dimensions.to_vec(), bits } };
    }

    /// By the last that leaves.
    pub(super) fn clear(&self) {
        // SAFETY: nobody is in the loop.
        let passed = unsafe { &mut *self.passed.get() };
        if !passed.bits.is_empty() {
            *passed = Passed::default();
        }
    }

    fn passed(&self) -> &Passed {
        // SAFETY: written before the loop was ready, and not until the last has left.
        unsafe { &*self.passed.get() }
    }

    pub(crate) fn dimensions(&self) -> usize {
        self.passed().dimensions.len()
    }

    /// The word and the bit of an iteration; none if there is no such one.
    fn place(&self, at: &[u64]) -> Option<(&AtomicU64, u64)> {
        let passed = self.passed();
        let mut number = 0;
        for (&at, &size) in at.iter().zip(&passed.dimensions) {
            if at >= size {
                return None;
            }
            number = number * size + at;
        }
        passed.bits.get(number as usize / 64).map(|word| (word, 1 << (number % 64)))
    }

    pub(crate) fn post(&self, at: &[u64]) {
        let Some((word, bit)) = self.place(at) else { return };
        word.fetch_or(bit, Ordering::Release); // pairs with the acquire in `wait`
        self.posts.fetch_add(1, Ordering::Release); // pairs with the acquire in `wait`
        wake_all(&self.posts);
    }

    pub(crate) fn wait(&self, at: &[u64], spin: Duration) {
        let Some((word, bit)) = self.place(at) else { return };
        // pairs with the release in `post`
        let is_passed = || word.load(Ordering::Acquire) & bit != 0;
        loop {
            let posts = self.posts.load(Ordering::Acquire); // pairs with the release in `post`
            if is_passed() || team::spin_until(spin, is_passed) {
                return;
            }
            sleep_at(&self.posts, posts);
        }
    }
}
