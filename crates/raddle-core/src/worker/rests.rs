//! Owns: what a program has each worker do before it sleeps for long, in all runtimes.
//! May use: `message`.
//! Never: a call before a doze: who looks for work again in a moment gives nothing away.
//!
//! For a memory manager, whose heaps are the OS threads': a worker that sleeps lets others have its own. The scheduler
//! does not know which there is.

use crate::message;
use std::panic::catch_unwind;
use std::sync::OnceLock;
use std::time::Duration;

/// A sleep of at least so long, or without end, is one.
const LONG: Duration = Duration::from_millis(1);

static CALL: OnceLock<fn()> = OnceLock::new();

/// Has each worker of each runtime call `call` before it sleeps for long: on its OS thread, outside any process. False
/// if the program has one already, which stays.
///
/// It must neither wait nor panic: a panic ends the program.
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

/// Of a worker that is about to sleep, at most so long.
pub(super) fn rest(at_most: Option<Duration>) {
    let Some(call) = CALL.get().filter(|_| at_most.is_none_or(|at_most| at_most >= LONG)) else { return };
    if catch_unwind(call).is_err() {
        message::fatal("what the program has its workers call before they sleep panicked");
    }
}
