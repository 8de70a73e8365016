//! Owns: how the OS thread that calls sleeps until whoever has its header wakes it.
//! May use: `raddle-protocol`, `raddle-syscall`.
//! Never: a queue; a look at who else could run.

use super::describe::Wait;
use raddle_protocol::call::WaitCall;
use raddle_protocol::header::{Header, Kind};
use raddle_protocol::prim::{AtomicU32, Ordering, futex_wait, futex_wake_one};
use std::time::Instant;

/// Where an OS thread sleeps until it is woken once. Looks to its waker like anything else that waits: a header.
#[repr(C)]
pub(super) struct ThreadParker {
    header: Header,
    woken: AtomicU32,
}

impl ThreadParker {
    pub(super) fn new() -> ThreadParker {
        ThreadParker { header: Header::new(Kind::OsThread, 0), woken: AtomicU32::new(0) }
    }

    /// What [`wake`] takes. It stays where it is until then.
    pub(super) fn header(&self) -> *mut Header {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// Sleeps until it is woken. False if the deadline passes first.
    #[must_use]
    pub(super) fn sleep(&self, deadline: Option<Instant>) -> bool {
        // Acquire pairs with the release in `wake`.
        while self.woken.load(Ordering::Acquire) == 0 {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return false;
            }
            futex_wait(&self.woken, 0, left);
        }
        true
    }
}

/// Wakes the OS thread behind a header.
///
/// # Safety
/// `header` is that of an OS thread that sleeps here or is about to, and this is its one wake.
pub(crate) unsafe fn wake(header: *mut Header) {
    // SAFETY: every header that waits here begins a parker, whose owner does not leave before `woken` is set.
    let parker = unsafe { &*header.cast::<ThreadParker>() };
    let word: *const AtomicU32 = &raw const parker.woken;
    // Release pairs with the acquire in `sleep`. After it the owner's frame may be gone.
    parker.woken.store(1, Ordering::Release);
    futex_wake_one(word);
}

/// Where a call comes from: an OS thread.
pub(crate) struct Caller;

/// Finds out who calls.
#[inline(always)]
pub(crate) const fn caller(_what: &str) -> Caller {
    Caller
}

/// The caller, if its waits are compiled into the program's own code.
#[inline(always)]
pub(crate) const fn plain_caller() -> Option<Caller> {
    None
}

/// Whether the caller could wait at all.
#[inline(always)]
pub(crate) const fn may_wait() -> bool {
    true
}

/// Whether something else may be waiting for the caller's core.
#[inline(always)]
pub(crate) const fn others_wait_here() -> bool {
    true
}

/// Gives the core to the kernel.
pub(crate) fn let_others_run() {
    raddle_syscall::yield_processor();
}

/// Waits until whoever got the caller's header by `register` wakes it; not at all if `register` returns false.
pub(crate) fn wait_registered(_call: &'static WaitCall, register: impl FnOnce(*mut Header) -> bool) {
    let parker = ThreadParker::new();
    if register(parker.header()) {
        let woken = parker.sleep(None);
        debug_assert!(woken, "there is no deadline to pass");
    }
}

/// As [`wait_registered`].
pub(crate) fn wait_entered(call: &'static WaitCall, enter: impl FnOnce(*mut Header) -> bool) {
    wait_registered(call, enter);
}

/// As [`wait_registered`].
pub(crate) fn wait_shown(wait: &Wait<'_>, enter: impl FnOnce(*mut Header) -> bool) {
    wait_registered(wait.call(), enter);
}
