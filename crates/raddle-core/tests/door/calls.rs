//! Calls of the C library that become Raddle's. `sched_yield`, `nanosleep`, `usleep` and `poll` are exported plainly:
//! what the runtime itself needs of them it asks the kernel for. `syscall` is what the standard library's locks wait
//! by.

use crate::{ends, locks};
use raddle_context::interpose;
use raddle_core::door::thread;
use std::ffi::{c_int, c_long};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub(crate) const CREATED: usize = 0;
pub(crate) const YIELDS: usize = 1;
pub(crate) const SLEEPS: usize = 2;
pub(crate) const POLLS: usize = 3;
pub(crate) const SYSTEM_CALLS: usize = 4;

static COUNTS: [AtomicUsize; 5] = [const { AtomicUsize::new(0) }; 5];

pub(crate) fn count(what: usize) {
    COUNTS[what].fetch_add(1, Ordering::Relaxed);
}

/// How often the program has made a call of a kind.
#[unsafe(no_mangle)]
extern "C" fn door_count(what: usize) -> usize {
    COUNTS[what].load(Ordering::Relaxed)
}

#[unsafe(no_mangle)]
extern "C" fn sched_yield() -> c_int {
    count(YIELDS);
    thread::yield_now();
    0
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn nanosleep(span: *const libc::timespec, _left: *mut libc::timespec) -> c_int {
    count(SLEEPS);
    // SAFETY: the caller's.
    let span = unsafe { span.read() };
    sleep(Duration::new(span.tv_sec as u64, span.tv_nsec as u32))
}

#[unsafe(no_mangle)]
extern "C-unwind" fn usleep(microseconds: libc::useconds_t) -> c_int {
    count(SLEEPS);
    sleep(Duration::from_micros(microseconds.into()))
}

fn sleep(duration: Duration) -> c_int {
    if !locks::sleep_or_cancelled(duration) {
        ends::cancel_here();
    }
    0
}

/// As the C library's; one that waits yields meanwhile.
///
/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn poll(files: *mut libc::pollfd, number: libc::nfds_t, milliseconds: c_int) -> c_int {
    count(POLLS);
    // SAFETY: the caller's.
    let files = unsafe { std::slice::from_raw_parts_mut(files, number as usize) };
    loop {
        match raddle_syscall::poll(files, Some(Duration::ZERO)) {
            Ok(0) if milliseconds != 0 => thread::yield_now(),
            Ok(ready) => return ready as c_int,
            Err(_) => return -1,
        }
    }
}

interpose! {
    syscall => system_call;
}

/// As `syscall`: a futex that waits yields instead, all else is the kernel's.
///
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
    count(SYSTEM_CALLS);
    let waits = b as c_int & 127 == libc::FUTEX_WAIT;
    if number == libc::SYS_futex && waits && thread::is_here() {
        thread::yield_now();
        return 0;
    }
    // SAFETY: the caller's.
    match unsafe { raddle_syscall::call(number, [a, b, c, d, e, f]) } {
        Ok(answer) => answer as c_long,
        Err(refused) => {
            // SAFETY: the address of the caller's variable.
            let errno = unsafe { libc::__errno_location() };
            // SAFETY: as above.
            unsafe { errno.write(refused.0) };
            -1
        }
    }
}
