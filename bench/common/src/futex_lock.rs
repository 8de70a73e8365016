//! Owns: what is done with a futex, whoever provides it: a wake of nobody, a word that two pass on, and a mutex.
//! May use: atomics.
//! Never: spinning, so that the futex is measured.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Waits and wakes.
pub trait Futex: 'static {
    /// Sleeps while the word is `expected`; may return early.
    fn wait(word: &AtomicU32, expected: u32);

    /// Wakes one who sleeps at the word.
    fn wake(word: &AtomicU32);
}

/// Wakes nobody, `rounds` times.
pub fn wake_nobody<F: Futex>(rounds: u64) -> u64 {
    let word = AtomicU32::new(0);
    (0..rounds).for_each(|_| F::wake(std::hint::black_box(&word)));
    rounds
}

/// A word that two hand to each other; each returns how often it has.
pub fn pass<F: Futex>(word: &AtomicU32, me: u32, rounds: u64) -> u64 {
    for round in 0..rounds {
        let turn = 2 * round as u32 + me;
        loop {
            let seen = word.load(Acquire);
            if seen == turn {
                break;
            }
            F::wait(word, seen);
        }
        word.store(turn + 1, Release);
        F::wake(word);
    }
    rounds
}

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// Taken, and perhaps somebody waits.
const WANTED: u32 = 2;

/// The mutex of Drepper's "Futexes are tricky", around a counter.
pub struct Lock<F> {
    word: AtomicU32,
    count: std::cell::Cell<u64>,
    futex: PhantomData<fn(F)>,
}

// SAFETY: the counter is touched by the holder of the lock only.
unsafe impl<F> Sync for Lock<F> {}

impl<F: Futex> Lock<F> {
    /// A free one.
    pub fn shared() -> Arc<Lock<F>> {
        Arc::new(Lock { word: AtomicU32::new(FREE), count: std::cell::Cell::new(0), futex: PhantomData })
    }

    /// Adds to the counter so many times, each under the lock; returns how often.
    pub fn add(&self, times: u64) -> u64 {
        for _ in 0..times {
            if self.word.compare_exchange(FREE, TAKEN, Acquire, Relaxed).is_err() {
                while self.word.swap(WANTED, Acquire) != FREE {
                    F::wait(&self.word, WANTED);
                }
            }
            self.count.set(self.count.get() + 1);
            if self.word.swap(FREE, Release) == WANTED {
                F::wake(&self.word);
            }
        }
        times
    }
}
