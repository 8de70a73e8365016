//! Owns: `sched_yield` and the sleeps.
//! May use: `cancel`, `errno`, `wait`, `libc`, `raddle-core`.
//! Never: a sleep that ends early; a signal does not end one.

use crate::cancel;
use crate::errno::fail;
use crate::wait::{self, Ended};
use raddle_core::door::{futex, thread};
use std::ffi::{c_int, c_uint};
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

#[unsafe(no_mangle)]
pub(crate) extern "C" fn sched_yield() -> c_int {
    thread::yield_now();
    0
}

/// Alias of `sched_yield`, that programs for glibc before 2.34 call.
#[unsafe(no_mangle)]
extern "C" fn pthread_yield() -> c_int {
    sched_yield()
}

/// Until then; a cancellation point.
fn sleep_until(until: Option<Instant>) {
    cancel::point();
    let word = AtomicU32::new(0);
    loop {
        match wait::sleep_at_point(&word, 0, until) {
            Ended::Woken => {}
            Ended::TimedOut => return,
            Ended::Cancelled => cancel::cancel_here(),
        }
    }
}

pub(crate) fn sleep_for(span: Duration) {
    if span.is_zero() {
        cancel::point();
        thread::yield_now();
    } else {
        sleep_until(futex::deadline(span));
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn nanosleep(time: &libc::timespec, left: Option<&mut libc::timespec>) -> c_int {
    let Ok(span) = wait::span(time) else { return fail(libc::EINVAL) };
    sleep_for(span);
    left.into_iter().for_each(|left| *left = libc::timespec { tv_sec: 0, tv_nsec: 0 });
    0
}

#[unsafe(no_mangle)]
extern "C-unwind" fn clock_nanosleep(
    clock: libc::clockid_t,
    flags: c_int,
    time: &libc::timespec,
    left: Option<&mut libc::timespec>,
) -> c_int {
    let span = match wait::span(time) {
        Ok(span) => span,
        Err(error) => return error,
    };
    if !matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC | libc::CLOCK_BOOTTIME | libc::CLOCK_TAI) {
        return libc::EINVAL;
    }
    if flags & libc::TIMER_ABSTIME == 0 {
        sleep_for(span);
        left.into_iter().for_each(|left| *left = libc::timespec { tv_sec: 0, tv_nsec: 0 });
        return 0;
    }
    match wait::until(clock, time) {
        Ok(until) => {
            sleep_until(until);
            0
        }
        Err(error) => error,
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn usleep(microseconds: libc::useconds_t) -> c_int {
    sleep_for(Duration::from_micros(microseconds.into()));
    0
}

#[unsafe(no_mangle)]
extern "C-unwind" fn sleep(seconds: c_uint) -> c_uint {
    sleep_for(Duration::from_secs(seconds.into()));
    0
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn thrd_sleep(time: &libc::timespec, left: Option<&mut libc::timespec>) -> c_int {
    const OTHER: c_int = -2;
    let Ok(span) = wait::span(time) else { return OTHER };
    sleep_for(span);
    left.into_iter().for_each(|left| *left = libc::timespec { tv_sec: 0, tv_nsec: 0 });
    0
}

#[unsafe(no_mangle)]
extern "C" fn thrd_yield() {
    thread::yield_now();
}
