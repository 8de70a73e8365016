//! Owns: the switch on x86-64 under ThreadSanitizer.
//! May use: `Context`'s words, ThreadSanitizer's fiber calls.
//! Never: anything that the plain file does not do, except those calls.
//!
//! As `x86_64.rs`, whose story holds, with two calls between saving and loading the stack pointer: the
//! announcement of the fiber that we go to, and, after an end, the destruction of the fiber that is over.
//! They run on the stack that is being left, with the callee-saved registers free, since those have been
//! saved. rbx = the next context, r12 = the fiber that is over, or 0.

use crate::context::Context;
use core::arch::naked_asm;
use core::mem::offset_of;

/// Saves the caller into `*from`, then resumes `*to`, or starts it if it is primed. `storage` is 0: see `tls`.
///
/// # Safety
/// As [`crate::transfer`].
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(from: *mut Context, to: *mut Context, storage: usize) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rdi + {sp}], rsp",
        "mov rbx, rsi",
        "xor r12d, r12d",
        "2:",
        "and rsp, -16",
        "mov rdi, [rbx + {fiber}]",
        "xor esi, esi",
        "call {announce}",
        "mov rdi, r12",
        "test rdi, rdi",
        "jz 4f",
        "call {destroy}",
        "4:",
        "mov rax, [rbx + {entry}]",
        "mov rsp, [rbx + {sp}]",
        "test rax, rax",
        "jnz 3f",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
        "3:",
        "mov qword ptr [rbx + {entry}], 0",
        "mov r12, [rbx + {fiber}]",
        "mov rdi, rbx",
        "xor ebp, ebp",
        "call rax",
        "mov rbx, rax",
        "jmp 2b",
        sp = const offset_of!(Context, sp),
        entry = const offset_of!(Context, entry),
        fiber = const offset_of!(Context, fiber),
        announce = sym __tsan_switch_to_fiber,
        destroy = sym __tsan_destroy_fiber,
    )
}

unsafe extern "C" {
    fn __tsan_switch_to_fiber(fiber: *mut core::ffi::c_void, flags: u32);
    fn __tsan_destroy_fiber(fiber: *mut core::ffi::c_void);
}
