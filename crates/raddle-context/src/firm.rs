//! Owns: calls of the C library's by the runtime, in the midst of which nobody may leave the OS thread.
//! May use: nothing.
//! Never: a switch inside of one.
//!
//! The C library allocates where it makes storage for a thread, or a thread: by the program's `malloc`, if that has
//! one. Its lock may be a mutex for which an adaptor would have the caller wait in the scheduler, whose own stack, or
//! whose own step in the middle, this may be. So the adaptor asks.

use std::cell::Cell;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// As `f`, in which [`is_firm`].
///
/// ```
/// use raddle_context::firm::{firmly, is_firm};
/// assert!(firmly(is_firm) && !is_firm());
/// ```
#[inline]
pub fn firmly<R>(f: impl FnOnce() -> R) -> R {
    let set = |by: u32| DEPTH.with(|depth| depth.set(depth.get().wrapping_add(by)));
    set(1);
    let result = f();
    set(u32::MAX);
    result
}

/// Whether the caller is within a call by [`firmly`], and so must not be switched.
#[inline]
pub fn is_firm() -> bool {
    DEPTH.with(Cell::get) != 0
}
