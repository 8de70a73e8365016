//! Owns: the two words of an OS thread on aarch64.
//! May use: nothing.
//! Never: a call.
//!
//! As on x86-64. It is unsafe because it is assembly.

use core::arch::{asm, global_asm};

global_asm!(
    ".pushsection .tbss.raddle_alloc,\"awT\",@nobits",
    ".p2align 4",
    ".globl raddle_alloc_words",
    ".hidden raddle_alloc_words",
    ".size raddle_alloc_words, 16",
    "raddle_alloc_words:",
    ".zero 16",
    ".popsection",
);

/// The first word if `OFFSET` is 0, the second if it is 8.
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

/// Where the thread's words are.
#[inline(always)]
pub(super) fn place() -> usize {
    let place;
    // SAFETY: reads the thread pointer.
    unsafe {
        asm!(
            "adrp {place}, :gottprel:raddle_alloc_words",
            "ldr {place}, [{place}, :gottprel_lo12:raddle_alloc_words]",
            "mrs {base}, tpidr_el0",
            "add {place}, {place}, {base}",
            place = out(reg) place,
            base = out(reg) _,
            options(readonly, nostack, preserves_flags),
        );
    }
    place
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
