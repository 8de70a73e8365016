//! Owns: how an OS thread that is no worker waits for one of ours, and is woken.
//! May use: `header`, the futex of `prim`.
//! Never: a queue.
//!
//! An OS thread that waits looks to its waker like anything else that waits: a header. Its kind says that waking it
//! is a store and a futex call.

use crate::header::{Header, Kind};
use crate::prim::{AtomicU32, Ordering, futex_wait, futex_wake_one};

#[repr(C)]
struct Waiter {
    header: Header,
    woken: AtomicU32,
}

/// Blocks the OS thread until whoever got the header by `register` wakes it. If `register` returns false, nobody will.
pub(crate) fn wait(register: impl FnOnce(*mut Header) -> bool) {
    let waiter = Waiter { header: Header::new(Kind::OsThread, 0), woken: AtomicU32::new(0) };
    if !register((&raw const waiter.header).cast_mut()) {
        return;
    }
    // Acquire pairs with the release in `wake`.
    while waiter.woken.load(Ordering::Acquire) == 0 {
        futex_wait(&waiter.woken, 0, None);
    }
}

/// Wakes the OS thread behind a header of kind `OsThread`.
///
/// # Safety
/// `header` was given out by [`wait`], and this is its one wake.
pub(crate) unsafe fn wake(header: *mut Header) {
    // SAFETY: the waiter does not return before `woken` is set.
    let waiter = unsafe { &*header.cast::<Waiter>() };
    let word: *const AtomicU32 = &raw const waiter.woken;
    // Release pairs with the acquire in `wait`. After it the waiter's frame may be gone.
    waiter.woken.store(1, Ordering::Release);
    futex_wake_one(word);
}
