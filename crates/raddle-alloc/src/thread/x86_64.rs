//! Owns: the two words of an OS thread on x86-64.
//! May use: nothing.
//! Never: a call.
//!
//! They lie at a distance from the thread pointer that is fixed when the program is loaded: no access calls
//! `__tls_get_addr`, which may allocate, and no compiler keeps their address where another thread may go on.
//!
//! It is unsafe because it is assembly.

use core::arch::{asm, global_asm};

// Hidden: a program and a preloaded library that both hold an allocator have words of their own.
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
            "mov {word}, qword ptr [rip + raddle_alloc_words@GOTTPOFF]",
            "mov {word}, qword ptr fs:[{word} + {offset}]",
            word = out(reg) word,
            offset = const OFFSET,
            options(readonly, nostack, preserves_flags),
        );
    }
    word
}

/// Where the thread's words are.
#[inline(always)]
pub(super) fn place() -> usize {
    let (place, base): (usize, usize);
    // SAFETY: reads the thread pointer, which the first word behind it holds.
    unsafe {
        asm!(
            "mov {place}, qword ptr [rip + raddle_alloc_words@GOTTPOFF]",
            "mov {base}, qword ptr fs:[0]",
            place = out(reg) place,
            base = out(reg) base,
            options(readonly, nostack, preserves_flags),
        );
    }
    base.wrapping_add(place)
}

/// Sets it.
#[inline(always)]
pub(super) fn set<const OFFSET: usize>(word: usize) {
    // SAFETY: writes a word of the thread's own, to which nobody has a reference.
    unsafe {
        asm!(
            "mov {at}, qword ptr [rip + raddle_alloc_words@GOTTPOFF]",
            "mov qword ptr fs:[{at} + {offset}], {word}",
            at = out(reg) _,
            word = in(reg) word,
            offset = const OFFSET,
            options(nostack, preserves_flags),
        );
    }
}
