//! Owns: `sched_yield` and the sleeps.
//! May use: `errno`, `libc`, `raddle-core`, `raddle-syscall`.
//! Never: a sleep that ends early, but by a handler of a signal.

use crate::errno::fail;
use crate::thread::told::{self, ToldWait};
use crate::thread::wait::{self, Handlers, PointEnd};
use crate::thread::{cancel, handlers, record};
use raddle_core::door::{futex, thread};
use std::ffi::{c_int, c_uint};
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn sched_yield() -> c_int {
    if wait::must_stay() {
        raddle_syscall::yield_processor();
        return 0;
    }
    thread::yield_now();
    if let Some(here) = record::here().filter(|here| handlers::has_arrived(here)) {
        handlers::run_arrived(here, std::ptr::null_mut());
    }
    0
}

/// Alias of `sched_yield`, that programs for glibc before 2.34 call.
#[unsafe(no_mangle)]
extern "C-unwind" fn pthread_yield() -> c_int {
    sched_yield()
}

/// Until then, or a handler has run; a cancellation point. False if that was so.
fn sleep_until(until: Option<Instant>, handlers: Handlers) -> bool {
    if wait::must_stay() {
        const LONG: Duration = Duration::from_secs(3600);
        loop {
            let left = until.map_or(LONG, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return true;
            }
            raddle_syscall::sleep(left);
        }
    }
    cancel::point();
    let word = AtomicU32::new(0);
    let told = ToldWait::of_nothing(&told::SLEEP);
    loop {
        match wait::sleep_at_point(&word, 0, until, (handlers, &told)) {
            PointEnd::Woken => {}
            PointEnd::TimedOut => return true,
            PointEnd::Interrupted => return false,
            PointEnd::Cancelled => cancel::cancel_here(),
        }
    }
}

/// Until one of these handlers has run.
pub(crate) fn sleep_until_signal(handlers: Handlers) {
    sleep_until(None, handlers);
}

/// What is left of the span, if a handler has ended it.
pub(crate) fn sleep_for(span: Duration) -> Option<Duration> {
    if span.is_zero() {
        cancel::point();
        sched_yield();
        return None;
    }
    let until = futex::deadline(span);
    if sleep_until(until, Handlers::All) {
        return None;
    }
    let now = futex::deadline(Duration::ZERO);
    Some(until.zip(now).map_or(span, |(until, now)| until.saturating_duration_since(now)))
}

/// As `sleep_for`, with what is left in the program's place: zero, or `EINTR`.
fn sleep_telling(span: Duration, place: Option<&mut libc::timespec>) -> c_int {
    let Some(left) = sleep_for(span) else { return 0 };
    if let Some(place) = place {
        *place = libc::timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
    }
    libc::EINTR
}

#[unsafe(no_mangle)]
extern "C-unwind" fn nanosleep(time: &libc::timespec, left: Option<&mut libc::timespec>) -> c_int {
    let Ok(span) = wait::span(time) else { return fail(libc::EINVAL) };
    match sleep_telling(span, left) {
        0 => 0,
        error => fail(error),
    }
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
    if !matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC | libc::CLOCK_BOOTTIME | libc::CLOCK_TAI)
    {
        return libc::EINVAL;
    }
    if flags & libc::TIMER_ABSTIME == 0 {
        return sleep_telling(span, left);
    }
    match wait::until(clock, time) {
        Ok(until) => {
            if sleep_until(until, Handlers::All) {
                0
            } else {
                libc::EINTR
            }
        }
        Err(error) => error,
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn usleep(microseconds: libc::useconds_t) -> c_int {
    match sleep_for(Duration::from_micros(microseconds.into())) {
        None => 0,
        Some(_) => fail(libc::EINTR),
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn sleep(seconds: c_uint) -> c_uint {
    sleep_for(Duration::from_secs(seconds.into())).map_or(0, |left| left.as_secs_f64().round() as c_uint)
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn thrd_sleep(time: &libc::timespec, left: Option<&mut libc::timespec>) -> c_int {
    const OTHER: c_int = -2;
    let Ok(span) = wait::span(time) else { return OTHER };
    if sleep_telling(span, left) == 0 { 0 } else { -1 }
}

#[unsafe(no_mangle)]
extern "C" fn thrd_yield() {
    thread::yield_now();
}
