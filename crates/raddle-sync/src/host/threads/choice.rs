//! Owns: the points at which a scheduler may choose who goes on: without one, nothing happens there.
//! May use: nothing.
//! Never: an instruction in a program, but for reading the time.

use std::panic::Location;
use std::time::Instant;

/// Whether somebody follows a seed.
#[inline(always)]
pub(crate) const fn is_on() -> bool {
    false
}

/// An operation begins.
#[inline(always)]
pub(crate) const fn point(_operation: &'static str) {}

/// An operation begins, at that place of the program.
#[inline(always)]
pub(crate) const fn point_at(_operation: &'static str, _site: &'static Location<'static>) {}

/// One variable is about to be read or written.
#[inline(always)]
pub(crate) const fn access(_operation: &'static str) {}

/// An operation begins that may come in a loop, and does not wait: the kernel sees to it that others have their turns.
#[inline(always)]
pub(crate) const fn counted_point(_operation: &'static str) {}

/// As [`counted_point`], at that place of the program.
#[inline(always)]
pub(crate) const fn counted_point_at(_operation: &'static str, _site: &'static Location<'static>) {}

/// A look that programs repeat until it is true.
#[inline(always)]
pub(crate) fn counted_look(_operation: &'static str, look: impl FnOnce() -> bool) -> bool {
    look()
}

/// As [`counted_point`].
#[inline(always)]
pub(crate) const fn count() {}

/// Whether the caller is to [`count`] once more.
#[inline(always)]
pub(crate) const fn is_used_up() -> bool {
    false
}

/// An operation is done, and may have made somebody ready.
#[inline(always)]
pub(crate) const fn settle(_operation: &'static str) {}

/// A number below `n` from a seed.
#[inline(always)]
pub(crate) const fn choose(_n: usize) -> Option<usize> {
    None
}

/// Whether a lock is in doubt whose holder unwinds.
#[inline(always)]
pub(crate) const fn poisons() -> bool {
    true
}

/// What time it is.
#[inline(always)]
pub(crate) fn now() -> Instant {
    Instant::now()
}
