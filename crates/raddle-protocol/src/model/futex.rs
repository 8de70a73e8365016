//! Owns: the door to the futex, with a sleeper that loom can search and a handful of buckets.
//! May use: `protocol::futex`, `protocol::sleeper`.
//! Never: a decision.

use super::locks::{Flag, MODEL};
use crate::protocol::futex::{Bucket, FutexTable, Requeued, Waited};
use crate::protocol::sleeper::Sleeper;
use std::ops::Range;

/// A table of its own. A word is an address that nobody follows, and a value that the model keeps elsewhere.
pub struct Futex(Box<[Bucket<Flag>]>);

impl Futex {
    /// With so many buckets.
    pub fn new(buckets: usize) -> Futex {
        Futex((0..buckets).map(|_| Bucket::new()).collect())
    }

    fn table(&self) -> FutexTable<'_, Flag> {
        FutexTable::over(&self.0)
    }

    /// Two addresses of the range in different buckets, or in one.
    pub fn addresses(&self, range: Range<usize>, apart: bool) -> (usize, usize) {
        let bucket = |address| self.table().number(address);
        let other = |one: usize| range.clone().skip(1).find(|two| (bucket(*two) != bucket(one)) == apart);
        (range.start, other(range.start).expect("there are such in the range"))
    }

    /// Waits if `unchanged`, with a deadline that passes at once if `expires`.
    pub fn wait(&self, address: usize, bits: u32, expires: bool, unchanged: impl FnOnce() -> bool) -> Waited {
        let sleeper = if expires { Flag::with_deadline() } else { Flag::new(&MODEL) };
        self.table().wait(address, bits, (sleeper, None), unchanged)
    }

    /// See the protocol.
    pub fn wake(&self, address: usize, count: u32, bits: u32) -> u32 {
        self.table().wake(address, count, bits)
    }

    /// See the protocol.
    pub fn requeue(&self, from: usize, wake: u32, to: usize, moves: u32) -> Requeued {
        self.table().requeue((from, || true), wake, to, moves).expect("it is unchanged")
    }

    /// Whether nobody waits: the caller has joined all threads.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Bucket::is_quiet)
    }
}
