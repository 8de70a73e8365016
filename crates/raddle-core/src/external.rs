//! Owns: how an OS thread that is no worker waits for one of ours, and is woken.
//! May use: `header`, the futex of `prim`.
//! Never: a queue.
//!
//! An OS thread that waits looks to its waker like anything else that waits: a header. Its kind says that waking it
//! is a store and a futex call.

use crate::header::{Header, Kind};
use crate::prim::{AtomicU32, Ordering, futex_wait, futex_wake_one};
use crate::report;
use crate::worker::current_header;
use std::time::{Duration, Instant};

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
    let mut patience = in_process().then_some(Duration::from_secs(1));
    // Acquire pairs with the release in `wake`.
    while waiter.woken.load(Ordering::Acquire) == 0 {
        let began = Instant::now();
        futex_wait(&waiter.woken, 0, patience);
        if patience.is_some_and(|p| began.elapsed() >= p) {
            report::blocks_its_worker();
            patience = None;
        }
    }
}

/// A process comes here only while it unwinds, and then holds its worker.
fn in_process() -> bool {
    // SAFETY: the word is null or the header of what runs here, which is alive.
    unsafe { current_header().as_ref() }.is_some_and(|running| running.kind == Kind::Process)
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
