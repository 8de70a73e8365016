//! Owns: cancellation of waits, of which there is none without a scheduler.
//! May use: nothing.
//! Never: unwinding.

/// Whether the caller is in a region, and may be cancelled with it.
#[inline(always)]
pub(crate) const fn is_in_one() -> bool {
    false
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
