//! Owns: the registers of the call that began a transaction, and the jump back there.
//! May use: nothing.
//! Never: a decision.
//!
//! It holds `unsafe` for code that puts registers back.

use std::arch::naked_asm;

/// What the caller of `_ITM_beginTransaction` expects to find in its registers.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct BeginCaller {
    rbx: usize,
    rbp: usize,
    r12: usize,
    r13: usize,
    r14: usize,
    r15: usize,
    /// The stack pointer after the call has returned: what lies below belongs to what the transaction calls.
    pub(crate) stack: usize,
    rip: usize,
}

/// Has the call that began the transaction return once more, with `action`.
///
/// # Safety
/// That call's frame is there, and nothing between it and here has to be dropped.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn resume(caller: *const BeginCaller, action: u32) -> ! {
    naked_asm!(
        "mov eax, esi",
        "mov rbx, [rdi]",
        "mov rbp, [rdi + 8]",
        "mov r12, [rdi + 16]",
        "mov r13, [rdi + 24]",
        "mov r14, [rdi + 32]",
        "mov r15, [rdi + 40]",
        "mov rsp, [rdi + 48]",
        "jmp [rdi + 56]",
    )
}
