//! Owns: the words of an OS thread on aarch64.
//! May use: nothing.
//! Never: a call.
//!
//! As on x86-64. It is unsafe because it is assembly.

use core::arch::{asm, global_asm};

global_asm!(
    ".pushsection .tbss.raddle_alloc,\"awT\",@nobits",
    ".p2align 5",
    ".globl raddle_alloc_words",
    ".hidden raddle_alloc_words",
    ".size raddle_alloc_words, 24",
    "raddle_alloc_words:",
    ".zero 24",
    ".popsection",
    // Under a name that another crate of the same program or library looks for, and finds if this one is linked in.
    ".pushsection .text.raddle_words_of_worker,\"ax\",@progbits",
    ".globl raddle_words_of_worker",
    ".hidden raddle_words_of_worker",
    ".type raddle_words_of_worker, @function",
    "raddle_words_of_worker:",
    "b {words_of_worker}",
    ".size raddle_words_of_worker, . - raddle_words_of_worker",
    ".popsection",
    words_of_worker = sym super::words_of_worker,
);

/// The first word if `OFFSET` is 0, the second if it is 8, the third if it is 16.
#[inline(always)]
pub(super) fn get<const OFFSET: usize>() -> usize {
    let word;
    // SAFETY: reads a word of the thread's own.
    unsafe {
        asm!(
            "adrp {word}, :gottprel:raddle_alloc_words",
            "ldr {word}, [{word}, :gottprel_lo12:raddle_alloc_words]",
            "mrs {base}, tpidr_el0",
            "add {word}, {word}, {base}",
            "ldr {word}, [{word}, #{offset}]",
            word = out(reg) word,
            base = out(reg) _,
            offset = const OFFSET,
            options(readonly, nostack, preserves_flags),
        );
    }
    word
}

/// From the thread pointer to the words.
pub(super) fn distance() -> isize {
    let distance;
    // SAFETY: reads a constant that the linker or the dynamic one has set.
    unsafe {
        asm!(
            "adrp {distance}, :gottprel:raddle_alloc_words",
            "ldr {distance}, [{distance}, :gottprel_lo12:raddle_alloc_words]",
            distance = out(reg) distance,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    distance
}

/// Sets it.
#[inline(always)]
pub(super) fn set<const OFFSET: usize>(word: usize) {
    // SAFETY: writes a word of the thread's own, to which nobody has a reference.
    unsafe {
        asm!(
            "adrp {at}, :gottprel:raddle_alloc_words",
            "ldr {at}, [{at}, :gottprel_lo12:raddle_alloc_words]",
            "mrs {base}, tpidr_el0",
            "add {at}, {at}, {base}",
            "str {word}, [{at}, #{offset}]",
            at = out(reg) _,
            base = out(reg) _,
            word = in(reg) word,
            offset = const OFFSET,
            options(nostack, preserves_flags),
        );
    }
}
