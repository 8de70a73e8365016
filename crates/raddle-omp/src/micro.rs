//! Owns: the calls of libomp's interface with any number of arguments, both ways.
//! May use: `abi`.
//! Never: floating-point arguments; compilers pass them as integers here.
//!
//! Stable Rust cannot define C functions with `...`. What it can do is name the registers: the first of the arguments
//! are in them, the rest on the stack in a row. Unwinding and backtraces pass through by the directives.

use std::arch::naked_asm;

/// A region's outlined function: two addresses of numbers, then the variables' addresses.
pub(crate) type Micro = unsafe extern "C-unwind" fn();

/// Calls `function(&global, &local, arguments...)`.
///
/// # Safety
/// The function takes so many arguments; at least four words can be read at `arguments`.
#[unsafe(naked)]
pub(crate) unsafe extern "C-unwind" fn invoke(
    function: Micro,
    global: *const i32,
    local: *const i32,
    count: usize,
    arguments: *const usize,
) {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov r11, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov r10, rcx",
        "mov rax, r8",
        "sub r10, 4",
        "jle 3f",
        "lea rcx, [r10 + 1]",
        "and rcx, -2",
        "shl rcx, 3",
        "sub rsp, rcx",
        "2:",
        "mov rcx, [rax + r10 * 8 + 24]",
        "mov [rsp + r10 * 8 - 8], rcx",
        "dec r10",
        "jnz 2b",
        "3:",
        "mov rdx, [rax]",
        "mov rcx, [rax + 8]",
        "mov r8, [rax + 16]",
        "mov r9, [rax + 24]",
        "xor eax, eax",
        "call r11",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

/// A function with three arguments and more: the others are spilled, and `inner` gets the three, where the next three
/// lie, and where those on the stack do.
macro_rules! variadic_after_three {
    ($name:ident => $inner:path) => {
        /// # Safety
        /// As the interface has it.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "push rbp",
                ".cfi_def_cfa_offset 16",
                ".cfi_offset rbp, -16",
                "mov rbp, rsp",
                ".cfi_def_cfa_register rbp",
                "sub rsp, 32",
                "mov [rsp], rcx",
                "mov [rsp + 8], r8",
                "mov [rsp + 16], r9",
                "mov rcx, rsp",
                "lea r8, [rbp + 16]",
                "call {inner}",
                "leave",
                ".cfi_def_cfa rsp, 8",
                "ret",
                ".cfi_endproc",
                inner = sym $inner,
            )
        }
    };
}
pub(crate) use variadic_after_three;

/// As above, of one argument and more; five are in registers.
macro_rules! variadic_after_one {
    ($name:ident => $inner:path) => {
        /// # Safety
        /// As the interface has it.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "push rbp",
                ".cfi_def_cfa_offset 16",
                ".cfi_offset rbp, -16",
                "mov rbp, rsp",
                ".cfi_def_cfa_register rbp",
                "sub rsp, 48",
                "mov [rsp], rsi",
                "mov [rsp + 8], rdx",
                "mov [rsp + 16], rcx",
                "mov [rsp + 24], r8",
                "mov [rsp + 32], r9",
                "mov rsi, rsp",
                "lea rdx, [rbp + 16]",
                "call {inner}",
                "leave",
                ".cfi_def_cfa rsp, 8",
                "ret",
                ".cfi_endproc",
                inner = sym $inner,
            )
        }
    };
}
pub(crate) use variadic_after_one;

/// A function that goes on as `inner`, which gets where it was called from as its argument in this register.
macro_rules! from_where {
    ($($name:ident => $inner:path, $register:literal;)*) => { $(
        /// # Safety
        /// As the interface has it.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                concat!("mov ", $register, ", [rsp]"),
                "jmp {inner}",
                ".cfi_endproc",
                inner = sym $inner,
            )
        }
    )* };
}
pub(crate) use from_where;

/// The `n`th of a variadic call's arguments, of which `registers` are in registers.
pub(crate) fn nth(
    spilled: crate::abi::At<usize>,
    stack: crate::abi::At<usize>,
    registers: usize,
    n: usize,
) -> usize {
    if n < registers { spilled.at(n).get() } else { stack.at(n - registers).get() }
}
