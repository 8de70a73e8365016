//! Owns: the switch on x86-64 (System V calling convention).
//! May use: `Context`'s two words.
//! Never: memory other than those words and the two stacks.
//!
//! A suspended context is its stack pointer; everything else lies on its stack, as `switch` pushed it:
//!
//! ```text
//!   high   | caller's frame            |
//!          | return address            |  pushed by the caller's `call switch`; 16-byte boundary above it
//!          | rbp rbx r12 r13 r14 r15   |  pushed by `switch`
//!   sp ->  +---------------------------+
//!          | 128 bytes of red zone     |  dead: no compiled function keeps data there over a call
//! ```
//!
//! A primed context is the top of an empty stack (16-byte aligned, nothing written) and an entry function:
//!
//! ```text
//!   sp ->  +---------------------------+  top
//!          | return address into `3:`  |  pushed by `call entry`; the walk of the stack ends here
//!          | rbp = 0                   |  pushed by an entry that keeps frame pointers
//! ```
//!
//! * **Calls and returns stay balanced.** A resume is `call switch` on one stack and `ret` on another, a
//!   start is `call entry`, an end is `ret` into the same instruction. The return predictor sees as many
//!   of one as of the other; leaving by a jump cost 9 ns per return above it (`switch_floor` and the
//!   research table say so).
//! * **An end saves nothing.** What `entry` returns is resumed or started by the same code, which from
//!   then on needs no byte of the old stack: the next context may even be primed on that very stack.
//! * **Not saved: MXCSR and the x87 control word.** Who changes the rounding mode or unmasks a
//!   floating-point exception changes it for every process of this worker, until it is put back.
//! * **Shadow stacks (CET).** A `ret` onto another stack faults where the shadow stack is on. glibc turns
//!   it on only if every object of the program is marked for it; this assembly carries no mark, so the
//!   linker leaves the program unmarked.

use crate::context::Context;
use core::arch::naked_asm;
use core::mem::offset_of;

/// Saves the caller into `*from`, then resumes `*to`, or starts it if it is primed.
///
/// # Safety
/// As [`crate::transfer`].
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(from: *mut Context, to: *mut Context) {
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
        "mov [rdi + {sp}], rsp",
        // Nothing of the old context is needed any more. rsi = the next one.
        "2:",
        "mov rax, [rsi + {entry}]",
        "mov rsp, [rsi + {sp}]",
        "test rax, rax",
        "jnz 3f",
        ".cfi_remember_state",
        "pop r15",
        ".cfi_adjust_cfa_offset -8",
        "pop r14",
        ".cfi_adjust_cfa_offset -8",
        "pop r13",
        ".cfi_adjust_cfa_offset -8",
        "pop r12",
        ".cfi_adjust_cfa_offset -8",
        "pop rbx",
        ".cfi_adjust_cfa_offset -8",
        "pop rbp",
        ".cfi_adjust_cfa_offset -8",
        "ret",
        ".cfi_restore_state",
        // Start: an empty stack, on which a walk ends (no return address above, no frame pointer).
        "3:",
        ".cfi_def_cfa rsp, 0",
        ".cfi_undefined rip",
        "mov qword ptr [rsi + {entry}], 0",
        "mov rdi, rsi",
        "xor ebp, ebp",
        "call rax",
        "mov rsi, rax",
        "jmp 2b",
        ".cfi_endproc",
        sp = const offset_of!(Context, sp),
        entry = const offset_of!(Context, entry),
    )
}
