//! Owns: the calls that tell ThreadSanitizer of contexts and switches.
//! May use: `arch`, `context`, `stack`.
//! Never: an instrumented frame between the announcement of a switch and the switch.
//!
//! Each primed context is a fiber of ThreadSanitizer's, made when it is primed and destroyed by whoever it
//! goes to at its end. An OS thread's own context is the fiber that it is born with. The switch is
//! announced inside the assembly: it tracks calls and returns per fiber, so that an instrumented function
//! that announces in one and returns in another unbalances both. Flags 0 make a switch an edge of
//! synchronisation, which is what program order over a switch is.
//!
//! A context with thread-local storage of its own has ThreadSanitizer's word in it, too: see `arch/tsan_word.rs` and
//! `arch/x86_64_tsan.rs`.
//!
//! At most about 8000 fibers can be alive at once: that is ThreadSanitizer's limit.
//!
//! It uses its fiber interface, the assembly that calls it.

use crate::arch;
use crate::context::{Context, ContextEntry, Fiber};
use crate::stack::Stack;
use core::ffi::c_void;
use core::ops::Range;

// SAFETY: as `llvm:sanitizer/tsan_interface.h` declares them.
unsafe extern "C" {
    fn __tsan_get_current_fiber() -> *mut c_void;
    fn __tsan_create_fiber(flags: u32) -> *mut c_void;
}

/// A context is about to be primed; returns the entry to use.
pub(crate) fn primed(fiber: &mut Fiber, _stack: &Stack, entry: ContextEntry) -> ContextEntry {
    // SAFETY: no preconditions.
    fiber.0 = unsafe { __tsan_create_fiber(0) };
    entry
}

/// The switch, announced.
///
/// # Safety
/// As [`crate::transfer`].
#[inline(always)]
pub(crate) unsafe fn switch(from: *mut Context, to: *mut Context, storage: usize) {
    // SAFETY: the caller owns `from`.
    let own = unsafe { &mut (*from).fiber };
    if own.0.is_null() {
        // SAFETY: no preconditions.
        own.0 = unsafe { __tsan_get_current_fiber() };
    }
    // SAFETY: the caller's guarantees are exactly `arch::switch`'s.
    unsafe { arch::switch(from, to, storage) };
}

/// A context that had storage of its own continues with its OS thread's: nothing to do.
#[inline(always)]
pub(crate) fn back_home(_stack: Range<*mut u8>) {}

/// The OS thread's storage is about to be left other than by a switch: nothing to do.
#[inline(always)]
pub(crate) fn leave_behind() {}

/// As [`switch`].
///
/// # Safety
/// As [`crate::transfer`].
#[inline(always)]
pub(crate) unsafe fn switch_here(from: *mut Context, to: *mut Context, storage: usize) {
    // SAFETY: passed on to the caller.
    unsafe { switch(from, to, storage) };
}
