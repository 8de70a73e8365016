//! A poller as C sees it.

use raddle_core::door::poller::Poller;
use std::ffi::{c_int, c_void};
use std::time::Duration;

/// Asks; answers within how many nanoseconds it is to be asked again. `is_idle` if the worker would sleep else.
type Ask = unsafe extern "C" fn(data: *mut c_void, is_idle: c_int) -> u64;

struct Data(*mut c_void);

// SAFETY: whoever makes a poller vouches that its function may be called with this on any worker, one at a time.
unsafe impl Send for Data {}

/// Null if there is no runtime.
///
/// # Safety
/// `ask(data)` may be called on any OS thread until the poller has been freed. It does not unwind.
#[unsafe(no_mangle)]
unsafe extern "C" fn door_poller_new(gap_nanoseconds: u64, ask: Ask, data: *mut c_void) -> *mut Poller {
    let data = Data(data);
    let call = move |asking: &raddle_core::door::poller::Asking<'_>| {
        let Data(data) = &data;
        // SAFETY: the maker's.
        Duration::from_nanos(unsafe { ask(*data, asking.is_idle().into()) })
    };
    let made = Poller::new("of C", Duration::from_nanos(gap_nanoseconds), call);
    made.map_or(std::ptr::null_mut(), |poller| Box::into_raw(Box::new(poller)))
}

#[unsafe(no_mangle)]
extern "C" fn door_poller_begin(poller: &Poller, count: usize) {
    poller.begin(count);
}

#[unsafe(no_mangle)]
extern "C" fn door_poller_end(poller: &Poller, count: usize) {
    poller.end(count);
}

/// When this returns the function is not called, and will not be.
///
/// # Safety
/// The poller has not been freed, and nobody uses it any more.
#[unsafe(no_mangle)]
unsafe extern "C" fn door_poller_free(poller: *mut Poller) {
    // SAFETY: made by `door_poller_new`; the rest is the caller's.
    drop(unsafe { Box::from_raw(poller) });
}
