//! Owns: nothing; no sanitizer watches this build.
//! May use: `arch`.
//! Never: a cost.

use crate::context::{Context, Entry};
use crate::stack::Stack;

pub(crate) use crate::arch::switch;

/// What a sanitizer keeps per context: nothing.
#[derive(Debug)]
pub(crate) struct Fiber;

impl Fiber {
    pub(crate) const fn new() -> Self {
        Fiber
    }

    /// A context is about to be primed; returns the entry to use.
    #[inline(always)]
    pub(crate) fn primed(&mut self, _stack: &Stack, entry: Entry) -> Entry {
        entry
    }
}

const _: () = assert!(size_of::<Context>() == 16);
