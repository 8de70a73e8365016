//! Owns: `interpose!` on x86-64.
//! May use: nothing.
//! Never: another register; what the stack pointer points to.
//!
//! It uses r11, which no caller expects to keep, and no argument is in.

/// Exports functions of the C library by their names: `name => ours;`. Called from outside of the shared library, a
/// function jumps to `ours`, an `extern "C"` function with the same arguments. Called from within, it jumps to the next
/// definition of the name, the C library's.
///
/// The arguments are integers and pointers, six at most in registers. For a shared library: in an executable all calls
/// come from within.
///
/// ```
/// extern "C" fn never_waits() -> i32 {
///     0
/// }
/// raddle_context::interpose! {
///     sched_yield => never_waits;
/// }
/// ```
#[macro_export]
macro_rules! interpose {
    ($($name:ident => $ours:path;)+) => {$(
        const _: () = {
            static NEXT: $crate::interpose::Next = {
                let bytes = concat!(stringify!($name), "\0").as_bytes();
                match core::ffi::CStr::from_bytes_with_nul(bytes) {
                    Ok(name) => $crate::interpose::Next::of(name),
                    Err(_) => panic!("a name has no zeroes"),
                }
            };

            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    // Of this library, not of a program that has code, too.
                    ".hidden etext",
                    ".hidden __ehdr_start",
                    "lea r11, [rip + __ehdr_start]",
                    "cmp [rsp], r11",
                    "jb 2f",
                    "lea r11, [rip + etext]",
                    "cmp [rsp], r11",
                    "jb 3f",
                    "2:",
                    "jmp {ours}",
                    // From within.
                    "3:",
                    "mov r11, [rip + {next}]",
                    "test r11, r11",
                    "jz 4f",
                    "jmp r11",
                    // For the first time.
                    "4:",
                    "push rdi; .cfi_adjust_cfa_offset 8",
                    "push rsi; .cfi_adjust_cfa_offset 8",
                    "push rdx; .cfi_adjust_cfa_offset 8",
                    "push rcx; .cfi_adjust_cfa_offset 8",
                    "push r8; .cfi_adjust_cfa_offset 8",
                    "push r9; .cfi_adjust_cfa_offset 8",
                    "push rax; .cfi_adjust_cfa_offset 8",
                    "lea rdi, [rip + {next}]",
                    "call {find}",
                    "pop rax; .cfi_adjust_cfa_offset -8",
                    "pop r9; .cfi_adjust_cfa_offset -8",
                    "pop r8; .cfi_adjust_cfa_offset -8",
                    "pop rcx; .cfi_adjust_cfa_offset -8",
                    "pop rdx; .cfi_adjust_cfa_offset -8",
                    "pop rsi; .cfi_adjust_cfa_offset -8",
                    "pop rdi; .cfi_adjust_cfa_offset -8",
                    "jmp [rip + {next}]",
                    ".cfi_endproc",
                    next = sym NEXT,
                    ours = sym $ours,
                    find = sym $crate::interpose::find,
                )
            }
        };
    )+};
}
