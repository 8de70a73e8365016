//! Owns: the word by which a thread that rests lets others have its heap.
//! May use: `mistake`, `loom`.
//! Never: a wait for who has it.
//!
//! | word | the heap is | who may change it |
//! |---|---|---|
//! | 0 | its thread's, or who has taken it | its thread, by `rests` |
//! | n | nobody's for now: the heap's n-th rest | that thread by `wakes`, anybody by `claim`: one has it |
//!
//! A record that was claimed is given to some other thread later, which may rest, too. So the word has which rest it
//! is, and not only that one rests: who wakes finds the number that it has kept, or has lost the heap, and takes
//! another one. Not the thread's number: a forked child's is another one.

use crate::mistake::{Mistake, made};
use crate::prim::{AtomicU64, Ordering, const_fn};

/// The word. All zeroes is that of a heap at work.
pub(crate) struct RestWord(AtomicU64);

impl RestWord {
    const_fn! {
        /// Of a heap that is at work.
        #[cfg_attr(not(loom), allow(dead_code, reason = "heaps are memory of zeroes"))]
        pub(crate) fn new() -> RestWord {
            RestWord(AtomicU64::new(0))
        }
    }

    /// The heap's thread lets others have it. `rest` is not 0, and none of this heap that went before.
    pub(crate) fn rests(&self, rest: u64) {
        // pairs with `claim`: who has it sees what its thread did there
        let order = if made(Mistake::RestsRelaxed) { Ordering::Relaxed } else { Ordering::Release };
        self.0.store(rest, order);
    }

    /// The thread has its heap again, unless somebody has claimed it.
    pub(crate) fn wakes(&self, rest: u64) -> bool {
        if made(Mistake::WakesBlindly) {
            return self.0.swap(0, Ordering::Relaxed) != 0;
        }
        // Nobody else has written there, or somebody has, and this fails.
        self.0.compare_exchange(rest, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Whether a claim may succeed.
    pub(crate) fn is_resting(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// The caller has the heap of a thread that rests; false if none does, or another has been faster.
    pub(crate) fn claim(&self) -> bool {
        let seen = self.0.load(Ordering::Relaxed);
        // pairs with `rests`
        let order = if made(Mistake::ClaimsRestRelaxed) { Ordering::Relaxed } else { Ordering::Acquire };
        seen != 0 && self.0.compare_exchange(seen, 0, order, Ordering::Relaxed).is_ok()
    }
}
