//! The futex as C sees it: three calls that take what `futex(2)` takes, answer with zero or an error of `errno.h`, and
//! never unwind; and the owner of a lock.

use crate::ends;
use raddle_core::door::futex::{self, Owner, WaitOptions, WaitOutcome};
use raddle_core::door::poller;
use std::ffi::{c_int, c_long};
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps while the word has this value; for at most so many nanoseconds, if that is not negative. 0 after a wake,
/// `EAGAIN` if the word has another value, `ETIMEDOUT`; `EDEADLK` where nothing may wait.
///
/// # Safety
/// The word stays until this returns; so does the owner, if it is not null.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn door_futex_wait(
    word: *mut u32,
    expected: u32,
    bits: u32,
    nanoseconds: i64,
    owner: *const Owner,
) -> c_int {
    if poller::is_asked_here() {
        return libc::EDEADLK;
    }
    // SAFETY: the caller's.
    let word = unsafe { AtomicU32::from_ptr(word) };
    // SAFETY: the caller's.
    let owner = unsafe { owner.as_ref() };
    let until = u64::try_from(nanoseconds).ok().and_then(|span| futex::deadline(Duration::from_nanos(span)));
    match futex::wait_or_cancelled(word, expected, &WaitOptions { until, bits, owner }) {
        WaitOutcome::Woken => 0,
        WaitOutcome::Differs => libc::EAGAIN,
        WaitOutcome::TimedOut => libc::ETIMEDOUT,
        WaitOutcome::Cancelled => libc::ECANCELED,
    }
}

/// How many were woken.
#[unsafe(no_mangle)]
extern "C" fn door_futex_wake(word: *const u32, count: u32, bits: u32) -> u32 {
    futex::wake(word.cast::<AtomicU32>(), count, bits)
}

/// How many were woken or moved; -1 if the word has another value.
///
/// # Safety
/// `from` is there.
#[unsafe(no_mangle)]
unsafe extern "C" fn door_futex_requeue(
    from: *mut u32,
    expected: u32,
    wake: u32,
    to: *const u32,
    moves: u32,
) -> c_long {
    // SAFETY: the caller's.
    let from = unsafe { AtomicU32::from_ptr(from) };
    futex::requeue(from, expected, wake, to.cast::<AtomicU32>(), moves)
        .map_or(-1, |done| c_long::from(done.woken + done.moved))
}

#[unsafe(no_mangle)]
extern "C" fn door_owner_set(owner: &Owner) {
    owner.set();
}

#[unsafe(no_mangle)]
extern "C" fn door_owner_clear(owner: &Owner) {
    owner.clear();
}

#[unsafe(no_mangle)]
extern "C" fn door_owner_is_caller(owner: &Owner) -> c_int {
    owner.is_caller().into()
}

/// As `nanosleep`, and a cancellation point: true after so many nanoseconds, false if the calling thread of C is to be
/// cancelled. Whoever calls it unwinds then, in a frame that may.
pub(crate) fn sleep_or_cancelled(span: Duration) -> bool {
    let Some(word) = ends::cancelled() else {
        raddle_core::door::thread::sleep(span);
        return true;
    };
    let until = futex::deadline(span);
    let options = WaitOptions { until, ..WaitOptions::default() };
    loop {
        match futex::wait_or_cancelled(&*word, 0, &options) {
            WaitOutcome::Woken => {}
            WaitOutcome::TimedOut => return true,
            WaitOutcome::Differs | WaitOutcome::Cancelled => return false,
        }
    }
}
