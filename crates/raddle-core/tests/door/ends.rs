//! `pthread_exit` for threads of C: by force to the base, and away.

use raddle_core::door::thread::{self, ThreadEnds};
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the unwinder of the system is given: a header of its own, which begins with a class and a clean-up.
#[repr(C, align(16))]
struct Exception {
    class: u64,
    cleanup: usize,
    private: [usize; 6],
}

type Stop = unsafe extern "C" fn(c_int, c_int, u64, *mut Exception, *mut c_void, *mut c_void) -> c_int;

#[link(name = "gcc_s")]
unsafe extern "C-unwind" {
    fn _Unwind_ForcedUnwind(exception: *mut Exception, stop: Stop, data: *mut c_void) -> c_int;
}

thread_local! {
    /// Not in a frame: those are gone as the unwinding goes on.
    static EXCEPTION: UnsafeCell<Exception> =
        const { UnsafeCell::new(Exception { class: 0, cleanup: 0, private: [0; 6] }) };
}

const END_OF_STACK: c_int = 16;
static BASES: AtomicUsize = AtomicUsize::new(0);

/// How often an unwinding by force has arrived at a base.
#[unsafe(no_mangle)]
extern "C" fn door_stop_at_base() -> usize {
    BASES.load(Ordering::Relaxed)
}

unsafe extern "C" fn stop(
    _version: c_int,
    actions: c_int,
    _class: u64,
    _exception: *mut Exception,
    _context: *mut c_void,
    result: *mut c_void,
) -> c_int {
    if actions & END_OF_STACK != 0 {
        BASES.fetch_add(1, Ordering::Relaxed);
        // SAFETY: all frames up to the base have been unwound.
        unsafe { thread::leave(result) };
    }
    0
}

unsafe extern "C-unwind" fn exit(result: *mut c_void) -> ! {
    if !thread::is_here() {
        std::process::abort();
    }
    // SAFETY: the exception is this thread's, and stays; it ends in `stop`.
    unsafe { _Unwind_ForcedUnwind(EXCEPTION.with(UnsafeCell::get), stop, result) };
    std::process::abort()
}

unsafe extern "C-unwind" fn cancel(_thread: libc::pthread_t) -> c_int {
    libc::ENOSYS
}

pub(crate) fn install() {
    thread::set_ends(ThreadEnds { exit, cancel });
}
