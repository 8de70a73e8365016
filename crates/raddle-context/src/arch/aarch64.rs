//! Owns: the switch on aarch64 (AAPCS64).
//! May use: `context`, `libc`.
//! Never: memory other than those words and the two stacks.
//!
//! A suspended context is its stack pointer; everything else lies on its stack, as `switch` stored it:
//!
//! ```text
//!   high   | caller's frame            |  16-byte boundary
//!     +144 | x29 (frame), x30 (return) |
//!      +64 | x19 .. x28                |
//!       +0 | d8 .. d15 (low halves)    |  the callee-saved part of the vector registers
//!   sp ->  +---------------------------+
//! ```
//!
//! A primed context is the top of an empty stack (16-byte aligned, nothing written) and an entry function.
//!
//! * **Calls and returns stay balanced**: a resume is `bl switch` on one stack and `ret` on another, a
//!   start is `blr entry`, an end is `ret` to the instruction behind it.
//! * **An end saves nothing**, and needs no byte of the old stack: the next context may be primed on that
//!   very stack.
//! * **Not saved: FPCR and FPSR**, as MXCSR on x86-64. There is no red zone to respect on Linux.
//! * **Walks end at the base**: the return address of `switch` is undefined while `entry` runs, and x29 is 0.
//! * **Pointer authentication and BTI**: `switch` signs nothing, so it may resume what any code stored;
//!   the link register is saved unsigned, as by any leaf assembly. `blr` lands on `entry`, which a BTI
//!   build opens with `bti c`.

use super::REGISTERS;
use crate::context::Context;
use core::arch::{asm, naked_asm};
use core::mem::offset_of;
use core::sync::atomic::AtomicBool;
#[cfg(target_env = "gnu")]
use core::sync::atomic::Ordering;

/// What lies on the stack of a suspended context: registers, by DWARF's numbers, and how far above `sp`.
pub(crate) const SAVED: [(usize, usize); 12] = [
    (19, 64),
    (20, 72),
    (21, 80),
    (22, 88),
    (23, 96),
    (24, 104),
    (25, 112),
    (26, 120),
    (27, 128),
    (28, 136),
    (29, 144),
    (RETURN, 152),
];
pub(crate) const SAVED_BYTES: usize = 160;
pub(crate) const STACK_POINTER: usize = 31;
/// The return address, as a register.
pub(crate) const RETURN: usize = 30;

/// Where a signal has interrupted an OS thread, and its registers by DWARF's numbers.
pub(crate) fn interrupted(context: &libc::ucontext_t) -> (usize, [usize; REGISTERS]) {
    let mut registers = [0; REGISTERS];
    let machine = &context.uc_mcontext;
    for (register, value) in registers.iter_mut().zip(machine.regs.iter().chain([&machine.sp])) {
        *register = *value as usize;
    }
    (machine.pc as usize, registers)
}

/// The word at an address; a read of which sanitizers know nothing.
///
/// # Safety
/// It may be read.
pub(crate) unsafe fn peek(at: usize) -> usize {
    let word;
    // SAFETY: the caller vouches for it.
    unsafe { asm!("ldr {}, [{}]", out(reg) word, in(reg) at, options(nostack, readonly, preserves_flags)) };
    word
}

/// Saves the caller into `*from`, then resumes `*to`, or starts it if it is primed; unless `storage` is 0, with the
/// thread-local storage there.
///
/// # Safety
/// As [`crate::transfer`].
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(from: *mut Context, to: *mut Context, storage: usize) {
    naked_asm!(
        ".cfi_startproc",
        "sub sp, sp, #160",
        ".cfi_def_cfa_offset 160",
        "stp d8, d9, [sp, #0]; stp d10, d11, [sp, #16]",
        "stp d12, d13, [sp, #32]; stp d14, d15, [sp, #48]",
        "stp x19, x20, [sp, #64]; stp x21, x22, [sp, #80]",
        "stp x23, x24, [sp, #96]",
        "stp x25, x26, [sp, #112]",
        "stp x27, x28, [sp, #128]",
        "stp x29, x30, [sp, #144]",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "cbz x2, 2f",
        "adrp x9, {carries}; ldrb w9, [x9, :lo12:{carries}]; cbnz w9, 5f",
        "msr tpidr_el0, x2",
        // x0 = the old context, x1 = the next one. The old one is saved when nothing needs its stack any more: a
        // release, which pairs with the acquire of `Context::has_left`.
        "2:",
        "mov x11, sp",
        "ldr x9, [x1, #{sp}]",
        "mov sp, x9",
        "str xzr, [x1, #{sp}]",
        "add x12, x0, #{sp}",
        "stlr x11, [x12]",
        "4:",
        "ldr x10, [x1, #{entry}]",
        "cbnz x10, 3f",
        ".cfi_remember_state",
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
        ".cfi_def_cfa_offset 0",
        "ret",
        ".cfi_restore_state",
        // Start: an empty stack, on which a walk ends.
        "3:",
        ".cfi_def_cfa sp, 0",
        ".cfi_undefined x30",
        "str xzr, [x1, #{entry}]",
        "mov x0, x1",
        "mov x29, xzr",
        "mov x30, xzr",
        // Nor does what the one before had in its registers get onto this stack: see `walk::words`.
        "mov x19, xzr; mov x20, xzr; mov x21, xzr; mov x22, xzr; mov x23, xzr",
        "mov x24, xzr; mov x25, xzr; mov x26, xzr; mov x27, xzr; mov x28, xzr",
        "blr x10",
        "mov x1, x0",
        "ldr x9, [x1, #{sp}]",
        "mov sp, x9",
        "str xzr, [x1, #{sp}]",
        "b 4b",
        ".cfi_def_cfa sp, 160; .cfi_offset x29, -16; .cfi_offset x30, -8",
        "5: bl {change}; b 2b",
        ".cfi_endproc",
        carries = sym CARRIES,
        change = sym change_storage,
        sp = const offset_of!(Context, sp),
        entry = const offset_of!(Context, entry),
    )
}

/// Whether words are [carried](super::carried).
static CARRIES: AtomicBool = AtomicBool::new(false);

/// Sets the thread pointer to x2, and before it carries words there, if any are; keeps x0 and x1. As `x86_64.rs` does.
#[unsafe(naked)]
unsafe extern "C" fn change_storage() {
    naked_asm!(
        "adrp x9, {carried}",
        "add x9, x9, :lo12:{carried}",
        "mrs x10, tpidr_el0",
        "2: ldr x11, [x9], #8",
        "cbz x11, 4f",
        "add x12, x10, x11",
        "add x13, x2, x11",
        "ldr x15, [x12]",
        "cbz x15, 5f",
        "str x15, [x13]",
        "b 2b",
        "4: msr tpidr_el0, x2",
        "ret",
        "5: add x15, x12, #8",
        "mov x16, #{changes}",
        "6: ldxr x14, [x15]",
        "stxr w17, x16, [x15]",
        "cbnz w17, 6b",
        "ldr x15, [x12]",
        "str x15, [x13]",
        "str x14, [x13, #8]",
        "b 2b",
        carried = sym super::carried::DISTANCES,
        changes = const super::carried::CHANGES,
    )
}

/// Goes on with the thread-local storage at `base`.
///
/// # Safety
/// As [`crate::tls::return_to`].
#[cfg(target_env = "gnu")]
#[inline(always)]
pub(crate) unsafe fn set_storage(base: usize) {
    // SAFETY: the caller vouches for the base.
    unsafe { asm!("bl {change}", change = sym change_storage, in("x2") base, clobber_abi("C")) };
}

/// As [`set_storage`]; carries nothing: for a handler with all signals blocked that goes back before it returns. It may
/// have interrupted a switch whose words are on their way to this very storage.
///
/// # Safety
/// As for [`set_storage`].
#[cfg(target_env = "gnu")]
#[inline(always)]
pub(crate) unsafe fn set_storage_alone(base: usize) {
    // SAFETY: the caller vouches for the base.
    unsafe { asm!("msr tpidr_el0, {}", in(reg) base, options(nostack, preserves_flags)) };
}

/// From now on words are carried: those whose distances stand in the list.
#[cfg(target_env = "gnu")]
pub(crate) fn begin_carrying(_has_two: bool) {
    // The distances come first. An OS thread that has something to carry has called this itself, so a plain load there
    // pairs with it in the order of one program.
    CARRIES.store(true, Ordering::Release);
}

/// A program may always write the register.
#[cfg(target_env = "gnu")]
pub(crate) fn prepare_storage() -> bool {
    true
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
