//! Owns: in which functions an OS thread is, noted by itself in a signal's handler.
//! May use: the unwinder that panics use, which reads tables only.
//! Never: an allocation, or a lock: since glibc 2.35 the unwinder finds its tables without one.

use super::seat::{FRAMES, Seat};
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

#[cfg(target_env = "gnu")]
unsafe extern "C" {
    fn _Unwind_Backtrace(each: extern "C" fn(*mut c_void, *mut c_void) -> c_int, data: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

struct Noting<'a> {
    seat: &'a Seat,
    count: usize,
}

#[cfg(target_env = "gnu")]
extern "C" fn each(context: *mut c_void, data: *mut c_void) -> c_int {
    const GO_ON: c_int = 0;
    const ENOUGH: c_int = 5;
    // SAFETY: what `note` has given.
    let noting = unsafe { &mut *data.cast::<Noting<'_>>() };
    if noting.count + 1 == FRAMES {
        return ENOUGH;
    }
    // SAFETY: the unwinder calls, with a frame of its.
    let address = unsafe { _Unwind_GetIP(context) };
    noting.seat.frames[noting.count].store(address, Ordering::Relaxed);
    noting.count += 1;
    GO_ON
}

/// The calling OS thread notes at its seat the functions that it is in; 0 follows the last.
pub(super) fn note(seat: &Seat) {
    let mut noting = Noting { seat, count: 0 };
    let data: *mut c_void = (&raw mut noting).cast();
    #[cfg(target_env = "gnu")]
    // SAFETY: the function and what it is given fit, and stay until it returns.
    let _end = unsafe { _Unwind_Backtrace(each, data) };
    #[cfg(not(target_env = "gnu"))]
    let _nothing = data;
    seat.frames[noting.count].store(0, Ordering::Relaxed);
}
