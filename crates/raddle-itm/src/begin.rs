//! Owns: the call that begins a transaction.
//! May use: `tx`.
//! Never: a decision.
//!
//! It holds `unsafe` for code that keeps registers: the call returns as often as its transaction runs, as `setjmp`
//! does.

use std::arch::naked_asm;

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
