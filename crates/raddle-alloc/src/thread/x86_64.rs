//! Owns: the words of an OS thread on x86-64.
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
    "jmp {words_of_worker}",
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
            "mov {word}, qword ptr [rip + raddle_alloc_words@GOTTPOFF]",
            "mov {word}, qword ptr fs:[{word} + {offset}]",
            word = out(reg) word,
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
            "mov {distance}, qword ptr [rip + raddle_alloc_words@GOTTPOFF]",
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
            "mov {at}, qword ptr [rip + raddle_alloc_words@GOTTPOFF]",
            "mov qword ptr fs:[{at} + {offset}], {word}",
            at = out(reg) _,
            word = in(reg) word,
            offset = const OFFSET,
            options(nostack, preserves_flags),
        );
    }
}
