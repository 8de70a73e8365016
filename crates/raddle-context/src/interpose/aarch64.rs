//! Owns: `interpose!` on aarch64.
//! May use: nothing.
//! Never: another register; the stack, but at the first call.
//!
//! It uses x16 and x17, which any call may change.

/// Exports functions of the C library by their names: `name => ours;`. Called from outside of the shared library, a
/// function jumps to `ours`, an `extern "C"` function with the same arguments. Called from within, it jumps to the next
/// definition of the name, the C library's.
///
/// The arguments are integers and pointers, eight at most in registers. For a shared library: in an executable all
/// calls come from within.
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
                    "adrp x16, __ehdr_start",
                    "add x16, x16, :lo12:__ehdr_start",
                    "cmp x30, x16",
                    "b.lo 2f",
                    "adrp x16, etext",
                    "add x16, x16, :lo12:etext",
                    "cmp x30, x16",
                    "b.lo 3f",
                    "2:",
                    "b {ours}",
                    // From within.
                    "3:",
                    "adrp x16, {next}",
                    "ldr x16, [x16, :lo12:{next}]",
                    "cbz x16, 4f",
                    "br x16",
                    // For the first time.
                    "4:",
                    "stp x29, x30, [sp, #-80]!",
                    ".cfi_def_cfa_offset 80",
                    ".cfi_offset x29, -80",
                    ".cfi_offset x30, -72",
                    "stp x0, x1, [sp, #16]",
                    "stp x2, x3, [sp, #32]",
                    "stp x4, x5, [sp, #48]",
                    "stp x6, x7, [sp, #64]",
                    "adrp x0, {next}",
                    "add x0, x0, :lo12:{next}",
                    "bl {find}",
                    "ldp x0, x1, [sp, #16]",
                    "ldp x2, x3, [sp, #32]",
                    "ldp x4, x5, [sp, #48]",
                    "ldp x6, x7, [sp, #64]",
                    "ldp x29, x30, [sp], #80",
                    ".cfi_def_cfa_offset 0",
                    ".cfi_restore x29",
                    ".cfi_restore x30",
                    "b 3b",
                    ".cfi_endproc",
                    next = sym NEXT,
                    ours = sym $ours,
                    find = sym $crate::interpose::find,
                )
            }
        };
    )+};
}
