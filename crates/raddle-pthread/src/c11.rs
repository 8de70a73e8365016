//! Owns: C11's threads, by those of POSIX.
//! May use: `cond`, `mutex`, `once`, `thread`, `libc`.
//! Never: a lock or thread of another kind.

use crate::cond::{self, Cond};
use crate::mutex::{self, PthreadMutex};
use crate::once::pthread_once;
use crate::thread::{cancel, life, record};
use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicU32;

const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const NO_MEMORY: c_int = 3;
const TIMED_OUT: c_int = 4;

fn told(error: c_int) -> c_int {
    match error {
        0 => SUCCESS,
        libc::EBUSY => BUSY,
        libc::ENOMEM => NO_MEMORY,
        libc::ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

type ThrdStart = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

struct Begin(ThrdStart, *mut c_void);

unsafe extern "C-unwind" fn run(begin: *mut c_void) -> *mut c_void {
    let (start, argument) = taken(begin);
    // SAFETY: the program vouches for its function.
    let result = unsafe { start(argument) };
    std::ptr::without_provenance_mut(result as isize as usize)
}

fn taken(begin: *mut c_void) -> (ThrdStart, *mut c_void) {
    // SAFETY: what `thrd_create` has made for this thread.
    let Begin(start, argument) = *unsafe { Box::from_raw(begin.cast::<Begin>()) };
    (start, argument)
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_create(id: *mut libc::pthread_t, start: ThrdStart, argument: *mut c_void) -> c_int {
    let begin = Box::into_raw(Box::new(Begin(start, argument)));
    // SAFETY: the caller's arguments, and a box that the thread takes.
    let error = unsafe { life::create(id, std::ptr::null(), run, begin.cast()) };
    if error != 0 {
        // SAFETY: nobody runs it.
        drop(unsafe { Box::from_raw(begin) });
    }
    if error == libc::EAGAIN { NO_MEMORY } else { told(error) }
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn thrd_join(thread: libc::pthread_t, result: Option<&mut c_int>) -> c_int {
    let mut value = std::ptr::null_mut();
    // SAFETY: the caller's thread, and a place for its result.
    let error = unsafe { life::join(thread, &raw mut value) };
    result.into_iter().for_each(|place| *place = value.addr() as c_int);
    told(error)
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_detach(thread: libc::pthread_t) -> c_int {
    // SAFETY: the caller's argument.
    told(unsafe { life::detach(thread) })
}

#[unsafe(no_mangle)]
extern "C-unwind" fn thrd_exit(result: c_int) -> ! {
    let value = std::ptr::without_provenance_mut(result as isize as usize);
    if record::here().is_some() {
        // SAFETY: a thread of ours, in a call of C's.
        unsafe { cancel::exit(value) }
    }
    type Exit = unsafe extern "C-unwind" fn(*mut c_void) -> !;
    // SAFETY: an OS thread of the program's.
    unsafe { crate::next::next!(c"pthread_exit": Exit)(value) }
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn call_once(once: &AtomicU32, routine: unsafe extern "C-unwind" fn()) {
    // SAFETY: the caller's arguments.
    unsafe { pthread_once(once, routine) };
}

#[unsafe(no_mangle)]
extern "C" fn mtx_lock(mutex: &PthreadMutex) -> c_int {
    told(mutex::pthread_mutex_lock(mutex))
}

#[unsafe(no_mangle)]
extern "C" fn mtx_trylock(mutex: &PthreadMutex) -> c_int {
    told(mutex::pthread_mutex_trylock(mutex))
}

#[unsafe(no_mangle)]
extern "C" fn mtx_timedlock(mutex: &PthreadMutex, time: &libc::timespec) -> c_int {
    told(mutex::pthread_mutex_timedlock(mutex, time))
}

#[unsafe(no_mangle)]
extern "C" fn mtx_unlock(mutex: &PthreadMutex) -> c_int {
    told(mutex::pthread_mutex_unlock(mutex))
}

#[unsafe(no_mangle)]
extern "C" fn cnd_signal(cond: &Cond) -> c_int {
    told(cond::pthread_cond_signal(cond))
}

#[unsafe(no_mangle)]
extern "C" fn cnd_broadcast(cond: &Cond) -> c_int {
    told(cond::pthread_cond_broadcast(cond))
}

#[unsafe(no_mangle)]
extern "C-unwind" fn cnd_wait(cond: &Cond, mutex: &PthreadMutex) -> c_int {
    told(cond::pthread_cond_wait(cond, mutex))
}

#[unsafe(no_mangle)]
extern "C-unwind" fn cnd_timedwait(cond: &Cond, mutex: &PthreadMutex, time: &libc::timespec) -> c_int {
    told(cond::pthread_cond_timedwait(cond, mutex, time))
}
