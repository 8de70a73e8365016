//! Owns: what a program has each worker do before it sleeps for long, in all runtimes.
//! May use: `message`.
//! Never: a call before a doze: who looks for work again in a moment gives nothing away.
//!
//! For a memory manager, whose heaps are the OS threads': a worker that sleeps lets others have its own. The scheduler
//! does not know which there is.

use crate::message;
use std::panic::catch_unwind;
use std::sync::OnceLock;

/// A sleep of at least so long, or without end, is one.
const LONG_NS: u64 = 1_000_000;

static CALL: OnceLock<fn()> = OnceLock::new();

/// Has each worker of each runtime call `call` before it sleeps for long: on its OS thread, outside any process. Not
/// the extra workers, which stand in for one that is blocked. False if the program has one already, which stays.
///
/// It must neither wait nor panic: a panic ends the program. Whom it wakes runs before the sleep.
///
/// ```
/// fn rests() {
///     // For instance `raddle_alloc::rest_heap()`: others may have what this OS thread's heap has.
/// }
/// assert!(raddle::before_sleep(rests));
/// assert!(!raddle::before_sleep(rests));
/// ```
pub fn before_sleep(call: fn()) -> bool {
    CALL.set(call).is_ok()
}

/// What the program wants to have done, if anything.
pub(super) fn call() -> Option<fn()> {
    CALL.get().copied()
}

/// Of a worker that is about to sleep, at most so long. Whether the program had something done, which may have woken or
/// spawned somebody.
pub(super) fn rest(call: fn(), at_most_ns: Option<u64>) -> bool {
    if at_most_ns.is_some_and(|at_most| at_most < LONG_NS) {
        return false;
    }
    if catch_unwind(call).is_err() {
        message::fatal("what the program has its workers call before they sleep panicked");
    }
    true
}
