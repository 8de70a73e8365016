//! Owns: how a transaction begins, and how its code is begun anew from anywhere.
//! May use: `tx`.
//! Never: a decision.
//!
//! It holds `unsafe` for code that keeps and puts back registers: `_ITM_beginTransaction` returns as often as its
//! transaction runs, as `setjmp` does.

use std::arch::naked_asm;

/// What the caller of `_ITM_beginTransaction` expects to find in its registers.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Caller {
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

/// Begins a transaction with these properties, of which those behind the first are for other compilers.
///
/// # Safety
/// As the interface demands: the caller's frame is there when the transaction ends.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn _ITM_beginTransaction(properties: u32) -> u32 {
    naked_asm!(
        ".cfi_startproc",
        "lea rax, [rsp + 8]",
        "mov rdx, [rsp]",
        "sub rsp, 72",
        ".cfi_adjust_cfa_offset 72",
        "mov [rsp], rbx",
        "mov [rsp + 8], rbp",
        "mov [rsp + 16], r12",
        "mov [rsp + 24], r13",
        "mov [rsp + 32], r14",
        "mov [rsp + 40], r15",
        "mov [rsp + 48], rax",
        "mov [rsp + 56], rdx",
        "mov rsi, rsp",
        "call {begin}",
        "add rsp, 72",
        ".cfi_adjust_cfa_offset -72",
        "ret",
        ".cfi_endproc",
        begin = sym crate::tx::begin,
    )
}

/// Has the call that began the transaction return once more, with `action`.
///
/// # Safety
/// That call's frame is there, and nothing between it and here has to be dropped.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn resume(caller: *const Caller, action: u32) -> ! {
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
