//! Owns: entering and leaving on x86-64.
//! May use: nothing.
//! Never: MXCSR and the x87 control word.
//!
//! It uses the registers that a call keeps.

use super::Start;
use core::arch::naked_asm;
use core::ffi::c_void;

/// Calls `start(argument)`, on the stack below `top` unless that is null; what it returns, or what `leave` is given.
/// Before that it stores in `base` what `leave` wants.
///
/// ```
/// use raddle_context::foreign::{enter, leave};
/// use std::ffi::c_void;
///
/// unsafe extern "C-unwind" fn adds(base: *mut c_void) -> *mut c_void {
///     // SAFETY: its own base, which has been stored, and no frame in between that is to be unwound.
///     unsafe { leave(*base.cast::<usize>(), std::ptr::without_provenance_mut(7)) }
/// }
/// let mut base = 0;
/// // SAFETY: `adds` reads a word, which is there.
/// let result = unsafe { enter(adds, (&raw mut base).cast(), &raw mut base, std::ptr::null_mut()) };
/// assert_eq!(result.addr(), 7);
/// ```
///
/// # Safety
/// `start` may be called with `argument`, and lets nothing unwind out of it. `base` can be written. `top` is null, or
/// the end of memory that is large enough and that nobody else uses meanwhile.
#[unsafe(naked)]
pub unsafe extern "C" fn enter(
    start: Start,
    argument: *mut c_void,
    base: *mut usize,
    top: *mut u8,
) -> *mut c_void {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_adjust_cfa_offset 8",
        "push rbx",
        ".cfi_adjust_cfa_offset 8",
        "push r12",
        ".cfi_adjust_cfa_offset 8",
        "push r13",
        ".cfi_adjust_cfa_offset 8",
        "push r14",
        ".cfi_adjust_cfa_offset 8",
        "push r15",
        ".cfi_adjust_cfa_offset 8",
        // Nothing unwinds further than to here.
        ".cfi_undefined rip",
        "mov [rdx], rsp",
        "mov rbx, rsp",
        ".cfi_def_cfa_register rbx",
        "test rcx, rcx",
        "cmovz rcx, rsp",
        "and rcx, -16",
        "mov rsp, rcx",
        "mov rax, rdi",
        "mov rdi, rsi",
        "xor ebp, ebp",
        "call rax",
        "mov rdi, rbx",
        "mov rsi, rax",
        "jmp {leave}",
        ".cfi_endproc",
        leave = sym leave,
    )
}

/// The [`enter`] that stored `base` returns `result`, whatever has been called in it.
///
/// # Safety
/// It has not returned, and this is its OS thread. Nobody misses the frames in between.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn leave(base: usize, result: *mut c_void) -> ! {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined rip",
        "mov rsp, rdi",
        "mov rax, rsi",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
        ".cfi_endproc",
    )
}
