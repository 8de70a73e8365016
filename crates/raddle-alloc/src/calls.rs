//! Owns: the walk of the stack: which calls have led here.
//! May use: nothing.
//! Never: where neither the hardened mode nor the profile is on: the walk takes locks of the C library's.
//!
//! It is unsafe because it calls the unwinder.

use std::ffi::{c_int, c_void};

unsafe extern "C" {
    fn _Unwind_Backtrace(each: extern "C" fn(*mut c_void, *mut c_void) -> c_int, walk: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

struct Walk<'c> {
    calls: &'c mut [usize],
    found: usize,
}

extern "C" fn each_call(context: *mut c_void, walk: *mut c_void) -> c_int {
    const STOP: c_int = 5;
    // SAFETY: it is what `calls` gave to the walk.
    let walk = unsafe { &mut *walk.cast::<Walk<'_>>() };
    // SAFETY: the context is the walk's.
    let at = unsafe { _Unwind_GetIP(context) };
    if walk.found == walk.calls.len() || at == 0 {
        return STOP;
    }
    walk.calls[walk.found] = at;
    walk.found += 1;
    0
}

/// The return addresses of the calls that have led here, the innermost first; 0 behind them.
#[inline(never)]
pub(crate) fn calls<const N: usize>() -> [usize; N] {
    let mut found = [0; N];
    let mut walk = Walk { calls: &mut found, found: 0 };
    // SAFETY: the function is called with the walk while this call lasts.
    unsafe { _Unwind_Backtrace(each_call, (&raw mut walk).cast()) };
    found
}
