//! Owns: `pthread_cleanup_push` as C without exceptions has it: a jump to the frame that pushed.
//! May use: nothing.
//! Never: a handler's call: the program's own code does that.
//!
//! Such a frame has saved its registers (`setjmp`) in a buffer of its own. When a thread ends from within, and the
//! unwinding comes to that frame, it jumps there; the frame calls its handler, and then `__pthread_unwind_next`, which
//! goes on unwinding from there.

use crate::next::next;
use crate::thread::cancel;
use crate::thread::record;
use std::ffi::{c_int, c_void};

/// A `__pthread_unwind_buf_t`: registers, whether the mask was saved, and four words for whoever unwinds.
#[repr(C)]
pub(crate) struct Buffer {
    registers: [u64; 8],
    saved: c_int,
    before: *mut c_void,
    result: *mut c_void,
    unused: [usize; 2],
}

const _: () = assert!(size_of::<Buffer>() == 104);

unsafe extern "C" {
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
}

type OfBuffer = unsafe extern "C-unwind" fn(&mut Buffer);

/// The frame pushes a handler.
#[unsafe(no_mangle)]
extern "C-unwind" fn __pthread_register_cancel(buffer: &mut Buffer) {
    let Some(here) = record::here() else {
        // SAFETY: the caller's argument.
        return unsafe { next!(c"__pthread_register_cancel": OfBuffer)(buffer) };
    };
    buffer.before = here.cleanups.get();
    here.cleanups.set(std::ptr::from_mut(buffer).cast());
}

/// The frame pops it.
#[unsafe(no_mangle)]
extern "C-unwind" fn __pthread_unregister_cancel(buffer: &mut Buffer) {
    let Some(here) = record::here() else {
        // SAFETY: the caller's argument.
        return unsafe { next!(c"__pthread_unregister_cancel": OfBuffer)(buffer) };
    };
    here.cleanups.set(buffer.before);
}

/// The frame has called its handler.
#[unsafe(no_mangle)]
extern "C-unwind" fn __pthread_unwind_next(buffer: &mut Buffer) {
    let Some(here) = record::here() else {
        // SAFETY: the caller's argument.
        return unsafe { next!(c"__pthread_unwind_next": OfBuffer)(buffer) };
    };
    // SAFETY: a thread of ours, which has been unwound up to the caller.
    unsafe { cancel::unwind(here, buffer.result) }
}

/// The caller's unwinding has come to a frame, or to the end of the stack: jumps to the innermost handler if its frame
/// is reached. `result` is kept there.
pub(crate) fn go_to_next(context: *mut c_void, is_end: bool, result: *mut c_void) {
    let Some(here) = record::here() else { return };
    let buffer = here.cleanups.get().cast::<Buffer>();
    if buffer.is_null() {
        return;
    }
    // SAFETY: the unwinder's context, for this call.
    if !is_end && unsafe { _Unwind_GetCFA(context) } <= buffer.addr() {
        return;
    }
    // SAFETY: it lies in a frame of the program's, which is there as long as its handler is pushed.
    let buffer = unsafe { &mut *buffer };
    here.cleanups.set(buffer.before);
    buffer.result = result;
    type Jump = unsafe extern "C-unwind" fn(*mut Buffer, c_int) -> !;
    // SAFETY: the frame has saved its registers there, and is still on the stack.
    unsafe { next!(c"siglongjmp": Jump)(buffer, 1) }
}
