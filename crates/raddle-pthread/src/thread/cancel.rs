//! Owns: ending a thread from within: `pthread_exit`, cancellation, deferred to the calls that are its points.
//! May use: `report`, `libc`, `raddle-core`.
//! Never: a frame with something to drop below the call that unwinds.
//!
//! Who cancels sets a bit and then wakes whoever waits at the word that the thread says it waits at, until it waits
//! there no more. The thread says so first, then looks at the bit, then sleeps; all who sleep at words look again for
//! what they wait for, so that the others lose nothing. Who waits for a descriptor is told likewise, and one that waits
//! in the kernel, on a spare OS thread, by a signal.
//!
//! A thread whose type is asynchronous is cancelled as a deferred one is, or by a tick, in its own code.

use crate::next::next;
use crate::report;
use crate::thread::record::{self, ThreadRecord};
use crate::thread::wait;
use crate::thread::{cleanup, handlers, life, signals};
use raddle_core::door::thread::{self, ThreadEnds, pthread_self};
use std::ffi::{c_int, c_void};
use std::ptr::without_provenance;
use std::sync::atomic::{AtomicU32, Ordering};

/// Somebody has cancelled it.
const WANTED: u32 = 1;
/// It lets nobody.
const DISABLED: u32 = 2;
/// It says that it may be ended anywhere.
const ASYNCHRONOUS: u32 = 4;
/// It ends.
const ENDS: u32 = 8;

/// So often one who is in a call of the kernel's is told; it may be one that nothing interrupts.
const TRIES: u32 = 10_000;

/// `PTHREAD_CANCELED`.
const CANCELLED: *mut c_void = std::ptr::without_provenance_mut(usize::MAX);

type Stop = unsafe extern "C" fn(c_int, c_int, u64, *mut c_void, *mut c_void, *mut c_void) -> c_int;

#[link(name = "gcc_s")]
unsafe extern "C-unwind" {
    fn _Unwind_ForcedUnwind(exception: *mut c_void, stop: Stop, data: *mut c_void) -> c_int;
}

const END_OF_STACK: c_int = 16;

pub(crate) fn is_disabled(here: &ThreadRecord) -> bool {
    here.cancel.load(Ordering::Relaxed) & (DISABLED | ENDS) != 0
}

/// Whether the caller, whose record this is, is to be cancelled now.
pub(crate) fn is_wanted(here: &ThreadRecord) -> bool {
    // pairs with the addition in `cancel`
    here.cancel.load(Ordering::SeqCst) & (WANTED | DISABLED | ENDS) == WANTED
}

/// Whether it is to be cancelled, and may be anywhere.
fn is_anywhere(record: &ThreadRecord) -> bool {
    is_wanted(record) && record.cancel.load(Ordering::Relaxed) & ASYNCHRONOUS != 0
}

/// Where a tick has interrupted the caller, whose record this is: ends it, if it is to be cancelled and that may be
/// anywhere.
pub(crate) fn anywhere(here: &ThreadRecord) {
    if is_anywhere(here) {
        cancel_here();
    }
}

/// Called at each frame that goes, and at the end of the stack.
unsafe extern "C" fn stop(
    _version: c_int,
    actions: c_int,
    _class: u64,
    _exception: *mut c_void,
    context: *mut c_void,
    result: *mut c_void,
) -> c_int {
    let is_end = actions & END_OF_STACK != 0;
    cleanup::go_to_next(context, is_end, result);
    if is_end {
        life::end_if_forked();
        // SAFETY: all frames up to the base have been unwound.
        unsafe { thread::leave(result) };
    }
    0
}

/// Unwinds the caller's stack, and ends it with this result.
///
/// # Safety
/// The caller is a thread of ours whose function runs; no frame of Rust's above it has anything to drop.
pub(crate) unsafe fn unwind(here: &ThreadRecord, result: *mut c_void) -> ! {
    here.cancel.fetch_or(ENDS, Ordering::Relaxed);
    let exception = here.exception.get().cast();
    // SAFETY: the exception is this thread's, and stays; it ends in `stop`.
    unsafe { _Unwind_ForcedUnwind(exception, stop, result) };
    std::process::abort()
}

pub(crate) unsafe extern "C-unwind" fn exit(result: *mut c_void) -> ! {
    let Some(here) = record::here().filter(|_| thread::is_here()) else {
        report::once("`pthread_exit` by what is no thread of the program's");
        std::process::abort()
    };
    // SAFETY: a thread of ours, in a call of C's.
    unsafe { unwind(here, result) }
}

/// The caller's function has returned: nothing is left to be unwound.
pub(crate) fn no_more(here: &ThreadRecord) {
    here.cancel.fetch_or(ENDS, Ordering::Relaxed);
}

/// Ends the calling thread, which is to be cancelled.
#[cold]
pub(crate) fn cancel_here() -> ! {
    // SAFETY: a thread of ours, in a call of C's.
    unsafe { exit(CANCELLED) }
}

/// A cancellation point that does not wait.
#[inline]
pub(crate) fn point() {
    if record::here().is_some_and(is_wanted) {
        cancel_here();
    }
}

unsafe extern "C-unwind" fn cancel(thread: libc::pthread_t) -> c_int {
    let Some(record) = record::of(thread) else { return libc::ESRCH };
    // pairs with the loads in `is_wanted`
    record.cancel.fetch_or(WANTED, Ordering::SeqCst);
    if is_anywhere(record) && thread == pthread_self() as libc::pthread_t {
        cancel_here();
    }
    if is_anywhere(record) {
        // pairs with the addition in `unwind`
        handlers::kick_while(record, || {
            is_anywhere(record) && record.cancel.load(Ordering::SeqCst) & ENDS == 0
        });
    }
    let mut times = 0;
    while !is_disabled(record) && signals::end_wait_for_descriptor(record) && times < TRIES {
        wait::breathe(&mut times);
    }
    times = 0;
    loop {
        let address = record.waits_at.load(Ordering::SeqCst); // pairs with the stores in `sleep_at_point`
        if address == 0 || is_disabled(record) {
            return 0;
        }
        if wait::wake(without_provenance::<AtomicU32>(address), u32::MAX) > 0 {
            return 0;
        }
        wait::breathe(&mut times);
    }
}

/// Makes these what `pthread_exit` and `pthread_cancel` are for threads of ours.
pub(crate) fn install() {
    thread::set_ends(ThreadEnds { exit, cancel });
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pthread_testcancel() {
    point();
}

fn change(bit: u32, on: bool, here: &ThreadRecord) -> bool {
    let before = if on {
        here.cancel.fetch_or(bit, Ordering::Relaxed)
    } else {
        here.cancel.fetch_and(!bit, Ordering::Relaxed)
    };
    before & bit != 0
}

#[unsafe(no_mangle)]
extern "C" fn pthread_setcancelstate(state: c_int, before: Option<&mut c_int>) -> c_int {
    type SetCancel = unsafe extern "C" fn(c_int, Option<&mut c_int>) -> c_int;
    let Some(here) = record::here() else {
        // SAFETY: the caller's arguments.
        return unsafe { next!(c"pthread_setcancelstate": SetCancel)(state, before) };
    };
    if !matches!(state, 0 | 1) {
        return libc::EINVAL;
    }
    let was = change(DISABLED, state == 1, here);
    before.into_iter().for_each(|before| *before = was.into());
    0
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pthread_setcanceltype(kind: c_int, before: Option<&mut c_int>) -> c_int {
    type SetCancel = unsafe extern "C" fn(c_int, Option<&mut c_int>) -> c_int;
    let Some(here) = record::here() else {
        // SAFETY: the caller's arguments.
        return unsafe { next!(c"pthread_setcanceltype": SetCancel)(kind, before) };
    };
    if !matches!(kind, 0 | 1) {
        return libc::EINVAL;
    }
    let was = change(ASYNCHRONOUS, kind == 1, here);
    before.into_iter().for_each(|before| *before = was.into());
    if kind == 1 {
        point();
    }
    0
}
