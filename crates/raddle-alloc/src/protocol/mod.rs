//! Owns: the protocols by which threads meet: each a few atomic words, nothing of memory.
//! May use: nothing.
//! Never: a pointer that is followed; the kernel; a wait.
//!
//! Each loop here is bounded, or repeats a compare-exchange that fails only if another thread's has succeeded: a
//! comment above it says which (`bounded:`, `lock-free:`), and a test of the house holds every loop of the crate to
//! that.

pub(crate) mod bits;
pub(crate) mod page_word;
pub(crate) mod records;
pub(crate) mod rest;
pub(crate) mod slots;
