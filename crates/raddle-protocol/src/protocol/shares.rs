//! Owns: `Shares`, how many still look at something that somebody else hands out and uses again.
//! May use: `order`, `loom`.
//! Never: the thing itself.
//!
//! | value | meaning |
//! |---|---|
//! | 0 | nobody looks: whoever made it 0 has the thing |
//! | 1 | its owner alone, or the last of the others when the owner has gone |
//! | n | so many, the owner one of them if it has not gone |
//!
//! The owner's share is there from `begin`. It adds one for each other *before* that one can look, while it has its
//! own: so the count never comes back from 0. Who has looked for the last time leaves, and the last to leave gets the
//! thing. An owner that finds itself alone may use it again without leaving.

#![cfg_attr(not(loom), allow(unreachable_pub, reason = "public for the models only"))]

use crate::order;
use crate::prim::{AtomicUsize, Ordering};

/// The count.
#[derive(Debug)]
pub struct Shares(AtomicUsize);

impl Shares {
    /// Nobody has it.
    #[inline]
    pub fn none() -> Shares {
        Shares(AtomicUsize::new(0))
    }

    /// The caller has it alone, and owns it from now on.
    #[inline(always)]
    pub fn begin(&self) {
        // Relaxed: what the owner hands out tells others of it, and its way there publishes.
        self.0.store(1, Ordering::Relaxed);
    }

    /// By the owner: one more will look.
    #[inline]
    pub fn add(&self) {
        // Relaxed: the owner has a share of its own meanwhile.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Looks no more. True for the last, which has the thing.
    #[inline]
    #[must_use]
    pub fn leave(&self) -> bool {
        self.0.fetch_sub(1, order::SHARES_LEAVE()) == 1
    }

    /// By the owner: whether nobody else looks, nor will.
    #[inline]
    pub fn is_alone(&self) -> bool {
        self.0.load(order::SHARES_ALONE()) == 1
    }
}
