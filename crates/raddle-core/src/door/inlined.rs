//! Owns: what code of another compiler must know to take a free lock itself: who runs, and who wants to know of it.
//! May use: `worker::choice`, `raddle-context`, `raddle-protocol`.
//! Never: a promise for longer than a version: what is built on it must be able to tell that it has changed.
//!
//! The word at [`distance`] from the thread pointer is the address of what runs here, or null on an OS thread of the
//! program's. At 8 bytes from there lies the address of its worker. At 16 bytes from the word lies a count, of 32 bits:
//! each operation that does not wait counts it down by one, and the one that finds nothing left is done by a call.
//! It has to be read anew each time: who waits may continue with other storage.

use crate::choice;
use raddle_context::current;
use raddle_protocol::header::Header;
use std::sync::atomic::AtomicBool;

/// From the thread pointer to the word.
pub fn distance() -> usize {
    const { assert!(std::mem::offset_of!(Header, worker) == 8) };
    current::distance()
}

/// Not zero if some runtime follows a seed or records operations: then each operation is done by a call.
pub fn switch() -> &'static AtomicBool {
    choice::switch()
}
