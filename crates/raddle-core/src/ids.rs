//! Owns: the numbers of processes and tasks.
//! May use: nothing.
//! Never: giving a number twice.
//!
//! It uses one atomic for the whole program.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

const RANGE: u64 = 1 << 12;
static NEXT: AtomicU64 = AtomicU64::new(1);

/// One worker's range of numbers; asks for another when it is used up.
#[derive(Debug)]
pub(crate) struct Ids {
    next: Cell<u64>,
    end: Cell<u64>,
}

impl Ids {
    pub(crate) fn new() -> Self {
        Ids { next: Cell::new(0), end: Cell::new(0) }
    }

    #[inline(always)]
    pub(crate) fn next(&self) -> u64 {
        if self.next.get() == self.end.get() {
            self.refill();
        }
        let id = self.next.get();
        self.next.set(id + 1);
        id
    }

    #[cold]
    fn refill(&self) {
        let start = NEXT.fetch_add(RANGE, Ordering::Relaxed);
        self.next.set(start);
        self.end.set(start + RANGE);
    }
}

/// A number for a thread that is no worker.
pub(crate) fn one() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}
