//! Owns: the word in thread-local storage that says who calls.
//! May use: nothing.
//! Never: a word that is not its thread's: all members have storage of their own, wherever they run.
//!
//! The standard library's way is a call of the dynamic linker's for each access, of which a task makes a dozen. Eight
//! bytes are found as in a program itself, also by a library that is loaded late.

use std::arch::{asm, global_asm};

global_asm!(
    ".pushsection .tbss,\"awT\",@nobits",
    ".balign 8",
    ".globl raddle_omp_here",
    ".hidden raddle_omp_here",
    ".type raddle_omp_here, @object",
    ".size raddle_omp_here, 8",
    "raddle_omp_here:",
    ".zero 8",
    ".popsection",
);

/// Null in a thread that has had nothing to do with OpenMP.
#[inline(always)]
pub(super) fn load() -> *const () {
    let here: *const ();
    // SAFETY: it reads a word of the thread's own.
    unsafe {
        asm!(
            "mov {here}, qword ptr [rip + raddle_omp_here@GOTTPOFF]",
            "mov {here}, qword ptr fs:[{here}]",
            here = out(reg) here,
            options(nostack, readonly, preserves_flags, pure),
        );
    }
    here
}

pub(super) fn store(here: *const ()) {
    // SAFETY: it writes a word of the thread's own.
    unsafe {
        asm!(
            "mov {place}, qword ptr [rip + raddle_omp_here@GOTTPOFF]",
            "mov qword ptr fs:[{place}], {here}",
            here = in(reg) here,
            place = out(reg) _,
            options(nostack, preserves_flags),
        );
    }
}
