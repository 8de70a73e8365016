//! `pthread_exit` for threads of C: by force to the base, and away. `pthread_cancel`, deferred: the same from within
//! the calls at which a thread may be cancelled.

use raddle_core::door::futex;
use raddle_core::door::thread::{self, Start, ThreadEnds};
use std::cell::{RefCell, UnsafeCell};
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

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

/// `PTHREAD_CANCELED`.
const CANCELLED: *mut c_void = std::ptr::without_provenance_mut(usize::MAX);

thread_local! {
    /// Of a thread of C: whether it is to be cancelled.
    static OWN: RefCell<Option<Arc<AtomicU32>>> = const { RefCell::new(None) };
}

/// By a thread of C, before its function: it is cancelled by that word.
pub(crate) fn begin(own: Arc<AtomicU32>) {
    OWN.set(Some(own));
}

/// Whether the caller is to be cancelled; none if it is no thread of C.
pub(crate) fn cancelled() -> Option<Arc<AtomicU32>> {
    OWN.with_borrow(Clone::clone)
}

/// Ends the calling thread, which is to be cancelled. No frame of Rust's below has anything to drop.
pub(crate) fn cancel_here() {
    // It is cancelled once: what its handlers call is no cancellation point.
    OWN.set(None);
    // SAFETY: a thread of C, in a call of C's.
    unsafe { exit(CANCELLED) }
}

/// As the C library's: the cancellation point that is nothing else.
#[unsafe(no_mangle)]
extern "C-unwind" fn pthread_testcancel() {
    if cancelled().is_some_and(|word| word.load(Ordering::Relaxed) != 0) {
        cancel_here();
    }
}

/// Deferred: the thread ends at its next sleep, or at `pthread_testcancel`.
unsafe extern "C-unwind" fn cancel(thread: libc::pthread_t) -> c_int {
    let Some(word) = crate::word_of(thread) else { return libc::ESRCH };
    word.store(1, Ordering::Relaxed);
    futex::wake(&*word, 1, futex::ANY);
    0
}

/// A frame of Rust's that catches, between a thread's function and what ends the thread: Rust aborts.
///
/// # Safety
/// `call(argument)` may be called.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn door_call_catching(call: Start, argument: *mut c_void) -> c_int {
    // SAFETY: the caller's.
    catch_unwind(AssertUnwindSafe(|| unsafe { call(argument) })).is_err().into()
}

/// A frame of Rust's with nothing to drop: what unwinds by force passes it.
///
/// # Safety
/// As that of `door_call_catching`.
#[unsafe(no_mangle)]
unsafe extern "C" fn door_call_plainly(call: Start, argument: *mut c_void) -> *mut c_void {
    // SAFETY: the caller's.
    unsafe { call(argument) }
}

pub(crate) fn install() {
    thread::set_ends(ThreadEnds { exit, cancel });
}
