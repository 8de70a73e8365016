//! Owns: the stand-in for builds without a sanitizer.
//! May use: `arch::machine`, `context`, `stack`.
//! Never: a cost.

use crate::context::{Context, ContextEntry, Fiber};
use crate::stack::Stack;
use core::ops::Range;

pub(crate) use crate::arch::{switch, switch_here};

/// A context is about to be primed; returns the entry to use.
#[inline(always)]
pub(crate) fn primed(_fiber: &mut Fiber, _stack: &Stack, entry: ContextEntry) -> ContextEntry {
    entry
}

/// A context that had storage of its own continues with its OS thread's: nothing to do.
#[inline(always)]
pub(crate) fn back_home(_stack: Range<*mut u8>) {}

/// The OS thread's storage is about to be left other than by a switch: nothing to do.
#[inline(always)]
pub(crate) fn leave_behind() {}

const _: () = assert!(size_of::<Context>() == 16);
