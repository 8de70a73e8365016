//! Owns: the calls that tell AddressSanitizer of switches.
//! May use: `arch`, `context`, `stack`, `libc`.
//! Never: locals between the two calls around a switch, beyond the one that carries its answer.
//!
//! AddressSanitizer wants to know which stack it is on, for its reports and for the "fake stack" that
//! holds the locals whose use after return it checks. A switch is bracketed by `start` (where to; where to
//! keep this context's fake stack) and `finish` (on arrival; whose fake stack). A context that has ended
//! passes null instead of a place to keep its fake stack.
//!
//! It finds its record of a thread through thread-local storage. A context with storage of its own has no such record:
//! there it checks memory, and has no fake stack, and ignores these calls. The OS thread's record is left between two
//! switches meanwhile (`LEFT_BEHIND`), and told where it is by the next context that uses it.

use crate::arch;
use crate::context::{Context, ContextEntry, Fiber};
use crate::stack::Stack;
use core::cell::Cell;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr::null_mut;

unsafe extern "C" {
    fn __sanitizer_start_switch_fiber(keep: *mut *mut c_void, bottom: *const c_void, bytes: usize);
    fn __sanitizer_finish_switch_fiber(
        kept: *mut c_void,
        old_bottom: *mut *const c_void,
        old_bytes: *mut usize,
    );
    fn __asan_unpoison_memory_region(from: *const c_void, bytes: usize);
}

/// A context is about to be primed; returns the entry to use.
pub(crate) fn primed(fiber: &mut Fiber, stack: &Stack, entry: ContextEntry) -> ContextEntry {
    // A context that was dropped while it was suspended has left the marks of its frames behind.
    // SAFETY: the range is the stack's own memory.
    unsafe { __asan_unpoison_memory_region(stack.limit().cast(), stack.class().bytes()) };
    *fiber = Fiber { bottom: stack.limit(), bytes: stack.class().bytes(), entry: Some(entry) };
    base
}

/// Finds the bounds of an OS thread's own stack, at its first switch.
fn learn(fiber: &mut Fiber) {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: writes the attributes of the running thread.
    let error = unsafe { libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) };
    assert_eq!(error, 0, "pthread_getattr_np refused");
    let (mut bottom, mut bytes) = (null_mut(), 0);
    // SAFETY: the attributes were written above.
    unsafe { libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut bottom, &raw mut bytes) };
    // SAFETY: as above; they are not used any more.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    (fiber.bottom, fiber.bytes) = (bottom.cast(), bytes);
}

std::thread_local! {
    /// The OS thread's own record of where it is has been left behind: what runs there since has another storage, in
    /// which AddressSanitizer finds no thread.
    static LEFT_BEHIND: Cell<bool> = const { Cell::new(false) };
}

/// A context arrives on its stack, with or without storage of its own.
///
/// # Safety
/// `kept` is what the partner call stored when this context was left; null at its start.
unsafe fn finish(kept: *mut c_void, bottom: *mut u8, bytes: usize) {
    if LEFT_BEHIND.replace(false) {
        // Whatever fake stack was begun since, in between, is over: kept by nobody, it would never be given back.
        // SAFETY: says where the OS thread is, before its return is told.
        unsafe { __sanitizer_start_switch_fiber(null_mut(), bottom.cast(), bytes) };
    }
    // SAFETY: passed on to the caller.
    unsafe { __sanitizer_finish_switch_fiber(kept, null_mut(), null_mut()) };
}

/// A context that had storage of its own continues with its OS thread's.
pub(crate) fn back_home(stack: Range<*mut u8>) {
    let bytes = stack.end.addr() - stack.start.addr();
    // SAFETY: this stack had no fake stack in the OS thread's record.
    unsafe { finish(null_mut(), stack.start, bytes) };
}

/// The OS thread's storage is about to be left other than by a switch.
pub(crate) fn leave_behind() {
    LEFT_BEHIND.set(true);
}

/// The frames from here up to the address `end`, on the same stack, are over without a return.
pub(crate) fn forget_frames(end: usize) {
    let here = 0_u8;
    let from = &raw const here;
    // SAFETY: the range is part of the stack that the caller runs on. Empty where this frame's variables lie elsewhere.
    unsafe { __asan_unpoison_memory_region(from.cast(), end.saturating_sub(from.addr())) };
}

/// The entry of every context: says that we have arrived, runs the real entry, says that we leave for good.
unsafe extern "C" fn base(me: *mut Context) -> *mut Context {
    // SAFETY: `me` is the context that was just started.
    let fiber = unsafe { &mut (*me).fiber };
    // SAFETY: the first thing on this stack, which nothing was kept for.
    unsafe { finish(null_mut(), fiber.bottom, fiber.bytes) };
    let entry = fiber.entry.take().expect("a primed context has an entry");
    // SAFETY: the entry that this context was primed with, called once.
    let next = unsafe { entry(me) };
    // SAFETY: an entry returns a context that is suspended or primed.
    let to = unsafe { &(*next).fiber };
    // SAFETY: null says that this stack's fake stack is not needed any more.
    unsafe { __sanitizer_start_switch_fiber(null_mut(), to.bottom.cast(), to.bytes) };
    next
}

/// The switch, bracketed.
///
/// # Safety
/// As [`crate::transfer_with`].
#[inline(never)]
pub(crate) unsafe fn switch(from: *mut Context, to: *mut Context, storage: usize) {
    // SAFETY: the caller owns `from`.
    let own = unsafe { &mut (*from).fiber };
    if own.bottom.is_null() {
        learn(own);
    }
    let (bottom, bytes) = (own.bottom, own.bytes);
    // SAFETY: the caller says that `to` is suspended or primed.
    let next = unsafe { &(*to).fiber };
    let mut kept = null_mut();
    // SAFETY: `kept` lives in this frame until the partner below has run.
    unsafe { __sanitizer_start_switch_fiber(&raw mut kept, next.bottom.cast(), next.bytes) };
    if storage != 0 {
        // SAFETY: nothing is kept for where this thread's record is to stay.
        unsafe { __sanitizer_finish_switch_fiber(null_mut(), null_mut(), null_mut()) };
        LEFT_BEHIND.set(true);
    }
    // SAFETY: the caller's guarantees are exactly `arch::switch`'s.
    unsafe { arch::switch(from, to, storage) };
    // SAFETY: `kept` is what the partner above stored.
    unsafe { finish(kept, bottom, bytes) };
}

/// As [`switch`].
///
/// # Safety
/// As [`crate::transfer`].
#[inline(always)]
pub(crate) unsafe fn switch_here(from: *mut Context, to: *mut Context, storage: usize) {
    // SAFETY: passed on to the caller.
    unsafe { switch(from, to, storage) };
}
