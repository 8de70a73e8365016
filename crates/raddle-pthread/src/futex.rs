//! Owns: `syscall`: futexes by `futex(2)` go to the scheduler, the number of the thread is its own; the rest goes on.
//! May use: `errno`, `process`, `report`, `thread`, `libc`, `raddle-context`, `raddle-core`,
//! `raddle-syscall`.
//! Never: a call of the runtime's own; those are the kernel's.
//!
//! Rust's standard library, libstdc++'s guards and `atomic::wait`, abseil and others wait by this one function. A word
//! may be shared with another program: if the flag says private it is not; if it does not, a wake goes to both. A wait
//! at a word in memory that is shared with others goes to the kernel, on a spare OS thread; guards of libstdc++ do not
//! set the flag, but their words lie in the program's data.

use crate::errno::{answer, fail};
use crate::process;
use crate::thread::record::ThreadRecord;
use crate::thread::{handlers, record, signals, wait};
use raddle_context::interpose;
use raddle_core::blocking;
use raddle_core::door::futex::{self, ANY, WaitOptions, WaitOutcome};
use std::ffi::{c_int, c_long};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

interpose! {
    syscall => system_call;
}

/// # Safety
/// As that of the C library.
unsafe extern "C" fn system_call(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let on = || {
        // SAFETY: the caller's arguments.
        unsafe { raddle_syscall::call(number, [a, b, c, d, e, f]) }
    };
    match number {
        libc::SYS_futex if is_wait(b as c_int) && wait::must_stay() => {
            // SAFETY: the caller's word.
            wait::stay_at(unsafe { AtomicU32::from_ptr(std::ptr::with_exposed_provenance_mut(a)) }, c as u32);
            0
        }
        libc::SYS_futex => {
            // SAFETY: the caller's arguments.
            unsafe { of_futex(a, b as c_int, c as u32, (d, e, f as u32)) }.unwrap_or_else(|| answer(on()))
        }
        libc::SYS_gettid => gettid().into(),
        libc::SYS_sched_yield => crate::thread::time::sched_yield().into(),
        libc::SYS_rt_sigprocmask if d == 8 => {
            // SAFETY: the caller's arguments.
            unsafe { signals::set_mask_by_number(a as c_int, b, c) }.into()
        }
        libc::SYS_tgkill | libc::SYS_tkill => {
            let (thread, signal) = if number == libc::SYS_tkill { (a, b) } else { (b, c) };
            process::signal_by_number(thread as c_int, signal as c_int).unwrap_or_else(|| answer(on()))
        }
        _ => answer(on()),
    }
}

/// The number of the calling thread: the same for its life.
#[unsafe(no_mangle)]
extern "C" fn gettid() -> libc::pid_t {
    let known = record::here().map(|here| here.number.load(Ordering::Relaxed));
    known.unwrap_or_else(raddle_syscall::thread_number)
}

fn is_wait(operation: c_int) -> bool {
    matches!(operation & libc::FUTEX_CMD_MASK, libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET)
}

/// Waits, and runs the handlers of signals that come for this thread meanwhile: a wake for no reason, as there may be.
fn wait_here(here: &ThreadRecord, word: &AtomicU32, value: u32, options: &WaitOptions<'_>) -> c_long {
    // Who kicks does so again: no order is needed.
    here.waits_at.store(std::ptr::from_ref(word).addr(), Ordering::Relaxed);
    let outcome = if handlers::has_arrived(here) {
        WaitOutcome::Woken
    } else {
        futex::wait_or_cancelled(word, value, options)
    };
    here.waits_at.store(0, Ordering::Relaxed);
    if handlers::has_arrived(here) {
        handlers::run_arrived(here, std::ptr::null_mut());
    }
    match outcome {
        WaitOutcome::Differs => fail(libc::EAGAIN).into(),
        WaitOutcome::TimedOut => fail(libc::ETIMEDOUT).into(),
        WaitOutcome::Woken | WaitOutcome::Cancelled => 0,
    }
}

/// A call of a futex; none if it is the kernel's alone.
///
/// # Safety
/// As `futex(2)`.
unsafe fn of_futex(word: usize, operation: c_int, value: u32, more: (usize, usize, u32)) -> Option<c_long> {
    let (fourth, second, last) = more;
    let is_private = operation & libc::FUTEX_PRIVATE_FLAG != 0;
    let pointer = std::ptr::with_exposed_provenance_mut::<u32>(word);
    let name: *const AtomicU32 = pointer.cast_const().cast();
    match operation & libc::FUTEX_CMD_MASK {
        command @ (libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET) => {
            let here = record::here()?;
            let with_bits = command == libc::FUTEX_WAIT_BITSET;
            let bits = if with_bits { last } else { ANY };
            // SAFETY: passed on to the caller.
            let until = match unsafe { until(fourth, with_bits, operation) } {
                Ok(until) => until,
                Err(error) => return Some(fail(error).into()),
            };
            if !is_private && process::is_shared(word) {
                return Some(blocking(|| {
                    let arguments = [word, operation as usize, value as usize, fourth, second, last as usize];
                    // SAFETY: passed on to the caller.
                    answer(unsafe { raddle_syscall::call(libc::SYS_futex, arguments) })
                }));
            }
            // SAFETY: passed on to the caller.
            let word = unsafe { AtomicU32::from_ptr(pointer) };
            let options = WaitOptions { until, bits, owner: None };
            Some(wait_here(here, word, value, &options))
        }
        command @ (libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET) => {
            let bits = if command == libc::FUTEX_WAKE_BITSET { last } else { ANY };
            let woken = futex::wake(name, value, bits);
            // Who finds nobody, or has more to wake, asks the kernel too: OS threads of others may sleep there.
            (woken == value).then_some(woken.into()).or_else(|| {
                (woken > 0).then(|| {
                    let left = (value - woken) as usize;
                    // SAFETY: passed on to the caller.
                    let more = unsafe {
                        raddle_syscall::call(
                            libc::SYS_futex,
                            [word, operation as usize, left, fourth, second, last as usize],
                        )
                    };
                    c_long::from(woken) + more.map_or(0, |more| more as c_long)
                })
            })
        }
        command @ (libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE) => {
            // SAFETY: passed on to the caller.
            let from = unsafe { AtomicU32::from_ptr(pointer) };
            let expected =
                if command == libc::FUTEX_CMP_REQUEUE { last } else { from.load(Ordering::Relaxed) };
            let to = std::ptr::with_exposed_provenance::<AtomicU32>(second);
            let Some(done) = futex::requeue(from, expected, value, to, fourth as u32) else {
                return Some(fail(libc::EAGAIN).into());
            };
            let counted =
                if command == libc::FUTEX_CMP_REQUEUE { done.woken + done.moved } else { done.woken };
            (done.woken + done.moved > 0).then_some(counted.into())
        }
        libc::FUTEX_WAKE_OP => {
            crate::report::once("`FUTEX_WAKE_OP` wakes threads of the kernel's only");
            wait::wake(name, value);
            None
        }
        _ => None,
    }
}

/// # Safety
/// `at` is null or the address of a time.
unsafe fn until(at: usize, absolute: bool, operation: c_int) -> Result<Option<Instant>, c_int> {
    // SAFETY: the caller's.
    let Some(time) = (unsafe { std::ptr::with_exposed_provenance::<libc::timespec>(at).as_ref() }) else {
        return Ok(None);
    };
    if !absolute {
        return wait::span(time).map(futex::deadline);
    }
    let is_real = operation & libc::FUTEX_CLOCK_REALTIME != 0;
    wait::until(if is_real { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC }, time)
}
