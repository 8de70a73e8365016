//! Owns: entering and leaving on aarch64.
//! May use: nothing.
//! Never: FPCR and FPSR.
//!
//! It uses the registers that a call keeps.

use super::Start;
use core::arch::naked_asm;
use core::ffi::c_void;

/// Calls `start(argument)`, on the stack below `top` unless that is null; what it returns, or what [`leave`] is given.
/// Before that it stores in `base` what [`leave`] wants.
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
        "sub sp, sp, #160",
        ".cfi_def_cfa_offset 160",
        "stp d8, d9, [sp, #0]",
        "stp d10, d11, [sp, #16]",
        "stp d12, d13, [sp, #32]",
        "stp d14, d15, [sp, #48]",
        "stp x19, x20, [sp, #64]",
        "stp x21, x22, [sp, #80]",
        "stp x23, x24, [sp, #96]",
        "stp x25, x26, [sp, #112]",
        "stp x27, x28, [sp, #128]",
        "stp x29, x30, [sp, #144]",
        // Nothing unwinds further than to here.
        ".cfi_undefined x30",
        "mov x19, sp",
        ".cfi_def_cfa_register x19",
        "str x19, [x2]",
        "cbz x3, 2f",
        "and x3, x3, #-16",
        "mov sp, x3",
        "2:",
        "mov x9, x0",
        "mov x0, x1",
        "mov x29, xzr",
        "blr x9",
        "mov x1, x0",
        "mov x0, x19",
        "b {leave}",
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
        ".cfi_undefined x30",
        "mov sp, x0",
        "mov x0, x1",
        "ldp d8, d9, [sp, #0]",
        "ldp d10, d11, [sp, #16]",
        "ldp d12, d13, [sp, #32]",
        "ldp d14, d15, [sp, #48]",
        "ldp x19, x20, [sp, #64]",
        "ldp x21, x22, [sp, #80]",
        "ldp x23, x24, [sp, #96]",
        "ldp x25, x26, [sp, #112]",
        "ldp x27, x28, [sp, #128]",
        "ldp x29, x30, [sp, #144]",
        "add sp, sp, #160",
        "ret",
        ".cfi_endproc",
    )
}
