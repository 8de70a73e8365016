//! Owns: calls of the C library by which members wait for time or for others: they leave their worker to others.
//! May use: `abi`, `libc`, `raddle-context`, `raddle-core`.
//! Never: a call that does not wait.
//!
//! A member that spins, and yields or sleeps in between, or `main` that waits for threads of its own, would keep a
//! worker. What waits otherwise (a read, a lock of the C library's) does: see `docs/OPENMP.md`.

use raddle_context::interpose;
use raddle_context::interpose::Next;
use raddle_core::door::thread;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::with_exposed_provenance_mut;
use std::time::Duration;

#[unsafe(no_mangle)]
extern "C-unwind" fn sched_yield() -> c_int {
    thread::yield_now();
    0
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn nanosleep(span: *const libc::timespec, left: *mut libc::timespec) -> c_int {
    // SAFETY: the caller's.
    let span = unsafe { span.read() };
    let (Ok(seconds), Ok(rest @ 0..1_000_000_000)) =
        (u64::try_from(span.tv_sec), u32::try_from(span.tv_nsec))
    else {
        // SAFETY: the address of the caller's variable.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: as above.
        unsafe { errno.write(libc::EINVAL) };
        return -1;
    };
    thread::sleep(Duration::new(seconds, rest));
    crate::abi::At::new(left).set_if(libc::timespec { tv_sec: 0, tv_nsec: 0 });
    0
}

#[unsafe(no_mangle)]
extern "C-unwind" fn usleep(microseconds: libc::useconds_t) -> c_int {
    thread::sleep(Duration::from_micros(microseconds.into()));
    0
}

#[unsafe(no_mangle)]
extern "C-unwind" fn sleep(seconds: c_uint) -> c_uint {
    thread::sleep(Duration::from_secs(seconds.into()));
    0
}

interpose! {
    pthread_join => join;
}

type Join = unsafe extern "C" fn(libc::pthread_t, *mut *mut c_void) -> c_int;

/// As `pthread_join`, on a spare OS thread meanwhile.
///
/// # Safety
/// As that one's.
unsafe extern "C" fn join(thread: libc::pthread_t, result: *mut *mut c_void) -> c_int {
    static NEXT: Next = Next::of(c"pthread_join");
    // SAFETY: its type.
    let next = unsafe { std::mem::transmute::<*mut c_void, Join>(NEXT.address()) };
    let result = result.expose_provenance();
    // SAFETY: the caller's arguments.
    raddle_core::blocking(move || unsafe { next(thread, with_exposed_provenance_mut(result)) })
}
