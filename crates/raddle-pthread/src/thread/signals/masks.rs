//! Owns: what a thread believes to block, and its alternate stack.
//! May use: `errno`, `thread::handlers`, `thread::record`, `libc`, `raddle-context`, `raddle-core`,
//! `raddle-syscall`.
//! Never: the mask of a worker.

use super::keeper::{change, kept};
use super::{NEVER, OF_WORKERS, STOP, TELL, TICK};
use crate::errno::fail;
use crate::next::next;
use crate::thread::handlers;
use crate::thread::record;
use raddle_context::interpose;
use raddle_core::door::tick::Interruption;
use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::atomic::Ordering;

interpose! {
    sigprocmask => set_process_mask;
    pthread_sigmask => set_mask;
    sigaltstack => set_stack;
}

/// What the caller blocks, for a jump that puts it back.
pub(crate) fn own_mask() -> Option<u64> {
    kept().map(|here| here.blocked.load(Ordering::Relaxed))
}

/// Puts it back.
pub(crate) fn set_own_mask(blocked: u64) {
    kept().into_iter().for_each(|here| change(here, blocked));
}

/// With the mask that the program believes the caller to have: for what a child inherits.
pub(crate) fn with_own_mask<T>(call: impl FnOnce() -> T) -> T {
    let Some(here) = kept() else { return call() };
    let masked = raddle_syscall::blocked_signals();
    raddle_syscall::block_signals_only(here.blocked.load(Ordering::Relaxed));
    let result = call();
    raddle_syscall::block_signals_only(masked);
    result
}

/// The same for a program that becomes another one. A signal of ours that is pending is pending for that one, too,
/// which has no handler for it: it would be its end. So none is sent any more, and those that have a handler are
/// ignored, which drops what is pending. They stay so in the new program. Puts all back if the call returns.
pub(crate) fn with_none_of_ours<T>(call: impl FnOnce() -> T) -> T {
    type SetSignals = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
    let next = next!(c"sigaction": SetSignals);
    // SAFETY: all zero is a valid one.
    let mut ignored: libc::sigaction = unsafe { std::mem::zeroed() };
    ignored.sa_sigaction = libc::SIG_IGN;
    let held = Interruption::hold();
    let handled = [TICK, STOP, TELL].map(|signal| {
        let mut before = ignored;
        // SAFETY: both are here.
        let found = unsafe { next(signal, std::ptr::null(), &raw mut before) } == 0;
        let is_handled = found && before.sa_sigaction > libc::SIG_IGN;
        // SAFETY: as above.
        let is_set = is_handled && unsafe { next(signal, &raw const ignored, null_mut()) } == 0;
        is_set.then_some((signal, before))
    });
    let result = with_own_mask(call);
    for (signal, before) in handled.into_iter().flatten() {
        // SAFETY: what it was before.
        unsafe { next(signal, &raw const before, null_mut()) };
    }
    drop(held);
    result
}

unsafe extern "C" fn set_mask(how: c_int, set: *const u64, old: *mut u64) -> c_int {
    type SetSignals = unsafe extern "C" fn(c_int, *const u64, *mut u64) -> c_int;
    let Some(here) = kept() else {
        // SAFETY: the caller's arguments.
        let answer = unsafe { next!(c"pthread_sigmask": SetSignals)(how, set, old) };
        if let Some(here) = record::here() {
            here.blocked.store(raddle_syscall::blocked_signals(), Ordering::Relaxed);
        }
        return answer;
    };
    let before = here.blocked.load(Ordering::Relaxed);
    // SAFETY: the caller's, or null.
    if let Some(&set) = unsafe { set.as_ref() } {
        let new = match how {
            libc::SIG_BLOCK => before | set,
            libc::SIG_UNBLOCK => before & !set,
            libc::SIG_SETMASK => set,
            _ => return libc::EINVAL,
        };
        change(here, new & !NEVER);
        if how != libc::SIG_BLOCK {
            // A handler of a fault may have been left by a jump, with the mask that the kernel had set for it.
            let masked = raddle_syscall::blocked_signals();
            if masked & OF_WORKERS != 0 {
                raddle_syscall::block_signals_only(masked & !OF_WORKERS);
            }
        }
        handlers::run_arrived(here, null_mut());
    }
    if !old.is_null() {
        // SAFETY: the caller's: 128 bytes, of which the kernel has eight.
        unsafe { old.write(before) };
    }
    0
}

unsafe extern "C" fn set_process_mask(how: c_int, set: *const u64, old: *mut u64) -> c_int {
    // SAFETY: the caller's arguments.
    match unsafe { set_mask(how, set, old) } {
        0 => 0,
        error => fail(error),
    }
}

/// As [`set_process_mask`], of sets by their addresses.
///
/// # Safety
/// As `rt_sigprocmask(2)`.
pub(crate) unsafe fn set_mask_by_number(how: c_int, set: usize, old: usize) -> c_int {
    let (set, old) = (std::ptr::with_exposed_provenance(set), std::ptr::with_exposed_provenance_mut(old));
    // SAFETY: the caller's arguments.
    unsafe { set_process_mask(how, set, old) }
}

thread_local! {
    static STACK: std::cell::Cell<(usize, c_int, usize)> = const { std::cell::Cell::new((0, libc::SS_DISABLE, 0)) };
}

/// A record only: the alternate stack is the worker's.
unsafe extern "C" fn set_stack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    type SetSignals = unsafe extern "C" fn(*const libc::stack_t, *mut libc::stack_t) -> c_int;
    if record::here().is_none() {
        // SAFETY: the caller's arguments.
        return unsafe { next!(c"sigaltstack": SetSignals)(new, old) };
    }
    let (place, flags, bytes) = STACK.get();
    // SAFETY: null, or the caller's.
    if let Some(new) = unsafe { new.as_ref() } {
        if new.ss_flags & !libc::SS_DISABLE != 0 {
            return fail(libc::EINVAL);
        }
        if new.ss_flags == 0 && new.ss_size < libc::MINSIGSTKSZ {
            return fail(libc::ENOMEM);
        }
        STACK.set((new.ss_sp.expose_provenance(), new.ss_flags, new.ss_size));
    }
    if !old.is_null() {
        let ss_sp = std::ptr::with_exposed_provenance_mut(place);
        // SAFETY: the caller's.
        unsafe { old.write(libc::stack_t { ss_sp, ss_flags: flags, ss_size: bytes }) };
    }
    0
}
