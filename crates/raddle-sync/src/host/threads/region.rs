//! Owns: cancellation of waits, of which there is none without a scheduler.
//! May use: nothing.
//! Never: unwinding.

/// The region that the caller is in, and may be cancelled with.
#[inline(always)]
pub(crate) const fn current() -> Option<()> {
    None
}

/// Unwinds if the caller has been cancelled.
#[inline(always)]
pub(crate) const fn check() {}

/// Whether the caller has been cancelled.
#[inline(always)]
pub(crate) const fn is_cancelled_now() -> bool {
    false
}

/// Runs `f`, whose waits no cancellation ends.
#[inline(always)]
pub(crate) fn shield<T>(f: impl FnOnce() -> T) -> T {
    f()
}

/// Ends a caller that has been cancelled.
pub(crate) fn unwind() -> ! {
    unreachable!("a wait without a deadline was given up, and there is nobody who cancels")
}
