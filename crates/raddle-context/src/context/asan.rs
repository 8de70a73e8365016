//! Owns: `Fiber`, what AddressSanitizer has to be told of a context.
//! May use: nothing.
//! Never: a call of the sanitizer; those are in `sanitizer`.

use super::ContextEntry;
use core::ptr::null_mut;

/// The bounds of the stack that a context runs on, and the entry that it was really primed with.
#[derive(Debug)]
pub(crate) struct Fiber {
    pub(crate) bottom: *mut u8,
    pub(crate) bytes: usize,
    pub(crate) entry: Option<ContextEntry>,
}

impl Fiber {
    pub(crate) const fn new() -> Self {
        Fiber { bottom: null_mut(), bytes: 0, entry: None }
    }
}
