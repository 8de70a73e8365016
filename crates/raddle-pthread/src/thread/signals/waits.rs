//! Owns: waiting for a signal: `sigwait`, `pause`, `sigsuspend`.
//! May use: `errno`, `thread::cancel`, `thread::time`, `thread::wait`, `libc`, `raddle-context`,
//! `raddle-core`.
//! Never: such a wait taken for a deadlock.

use super::NEVER;
use super::handled::WAIT_FOR_SIGNALS;
use super::keeper::{change, kept};
use crate::errno::fail;
use crate::next::next;
use crate::thread::{cancel, wait};
use raddle_context::interpose;
use raddle_core::blocking;
use std::ffi::c_int;
use std::sync::atomic::Ordering;

interpose! {
    sigwait => wait_for_signal;
    sigwaitinfo => wait_for_info;
    sigtimedwait => wait_for_info_until;
    pause => pause_until_handled;
    sigsuspend => suspend;
}

unsafe extern "C-unwind" fn wait_for_signal(set: usize, signal: *mut c_int) -> c_int {
    type SignalWait = unsafe extern "C" fn(usize, usize) -> c_int;
    cancel::point();
    let (next, place) = (next!(c"sigwait": SignalWait), signal.expose_provenance());
    // SAFETY: the caller's arguments.
    blocking(move || unsafe { next(set, place) })
}

unsafe extern "C-unwind" fn wait_for_info(set: usize, info: usize) -> c_int {
    type SignalWait = unsafe extern "C" fn(usize, usize) -> c_int;
    cancel::point();
    let next = next!(c"sigwaitinfo": SignalWait);
    // SAFETY: the caller's arguments.
    blocking(move || unsafe { next(set, info) })
}

unsafe extern "C-unwind" fn wait_for_info_until(set: usize, info: usize, time: usize) -> c_int {
    type SignalWait = unsafe extern "C" fn(usize, usize, usize) -> c_int;
    cancel::point();
    let next = next!(c"sigtimedwait": SignalWait);
    // SAFETY: the caller's arguments.
    blocking(move || unsafe { next(set, info, time) })
}

unsafe extern "C-unwind" fn pause_until_handled() -> c_int {
    type Pause = unsafe extern "C" fn() -> c_int;
    if kept().is_none() {
        // SAFETY: no preconditions.
        return unsafe { next!(c"pause": Pause)() };
    }
    WAIT_FOR_SIGNALS.fetch_add(1, Ordering::Relaxed);
    crate::thread::time::sleep_until_signal(wait::Handlers::All);
    WAIT_FOR_SIGNALS.fetch_sub(1, Ordering::Relaxed);
    fail(libc::EINTR)
}

unsafe extern "C-unwind" fn suspend(set: *const u64) -> c_int {
    type Suspend = unsafe extern "C" fn(*const u64) -> c_int;
    let Some(here) = kept() else {
        // SAFETY: the caller's argument.
        return unsafe { next!(c"sigsuspend": Suspend)(set) };
    };
    let before = here.blocked.load(Ordering::Relaxed);
    let seen = here.signals.load(Ordering::SeqCst); // pairs with the addition in `note`
    // SAFETY: the caller's.
    change(here, unsafe { set.read() } & !NEVER);
    // One that was pending is handled as the mask changes, before or behind any of the next steps.
    WAIT_FOR_SIGNALS.fetch_add(1, Ordering::Relaxed);
    crate::thread::time::sleep_until_signal(wait::Handlers::Since(seen));
    WAIT_FOR_SIGNALS.fetch_sub(1, Ordering::Relaxed);
    change(here, before);
    fail(libc::EINTR)
}
