//! Owns: the one place from which protocols import atomics, cells and spinning.
//! May use: nothing.
//! Never: a policy or a data structure.
//!
//! A protocol that imports from here runs unchanged on the machine and inside loom's exhaustive search.
//! Two things are shimmed beyond names. [`futex_wait`] is a futex on Linux; in the model it is a loop that
//! re-reads the word *relaxed*, so that the kernel's own locking does not lend the model an ordering which the
//! protocol should have asked for. And the two halves of the asymmetric fence, [`light_fence`] and
//! [`heavy_fence`], are a compiler fence and `membarrier(2)` on the machine and two full fences in the model,
//! which is exactly what the pair promises together.

use std::sync::atomic::{AtomicU32 as Plain, Ordering as Unordered};

#[cfg(loom)]
mod model;
#[cfg(not(loom))]
mod real;

#[cfg(loom)]
pub use model::*;
#[cfg(not(loom))]
pub use real::*;

/// A number that several write and read without order, and that nothing relies on. Not modelled.
#[derive(Debug)]
pub struct Hint(Plain);

impl Hint {
    /// A hint with this value.
    #[inline]
    pub const fn new(value: u32) -> Self {
        Hint(Plain::new(value))
    }

    /// The value, perhaps an old one.
    #[inline(always)]
    pub fn get(&self) -> u32 {
        self.0.load(Unordered::Relaxed)
    }

    /// Writes the value.
    #[inline(always)]
    pub fn set(&self, value: u32) {
        self.0.store(value, Unordered::Relaxed);
    }
}
