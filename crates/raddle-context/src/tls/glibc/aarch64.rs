//! Owns: the thread pointer of aarch64.
//! May use: `arch`.
//! Never: a field of the descriptor; those are `facts`'.
//!
//! The thread pointer points behind the descriptor, to two words: the vector of libraries' variables, which glibc's
//! allocator sets, and one that nobody uses. Stack canary and pointer guard are variables of the program.
//!
//! It uses TPIDR_EL0, which a program may always write.

use crate::arch;
use core::arch::asm;

/// Asks once how the thread pointer is to be written. False if it cannot be.
pub(super) fn prepare() -> bool {
    arch::prepare_storage()
}

/// The current thread pointer.
#[inline(always)]
pub(super) fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: reads a register.
    unsafe { asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nostack, preserves_flags)) };
    pointer
}

/// # Safety
/// As [`super::return_to`].
#[inline(always)]
pub(super) unsafe fn set_thread_pointer(base: usize) {
    // SAFETY: passed on to the caller.
    unsafe { arch::set_storage(base) };
}

/// As [`set_thread_pointer`], for a moment in which no other handler comes: what is carried stays where it is.
///
/// # Safety
/// As for [`set_thread_pointer`].
#[inline(always)]
pub(super) unsafe fn set_thread_pointer_alone(base: usize) {
    // SAFETY: passed on to the caller.
    unsafe { arch::set_storage_alone(base) };
}

/// Reads a number that glibc or the kernel may write at any time. In assembly, since ThreadSanitizer takes some
/// accesses of glibc to its descriptors for writes.
///
/// # Safety
/// The address is valid.
pub(super) unsafe fn peek(address: usize) -> i32 {
    let number;
    // SAFETY: passed on to the caller.
    unsafe {
        asm!("ldr {:w}, [{}]", out(reg) number, in(reg) address, options(nostack, preserves_flags, readonly))
    };
    number
}

/// From a thread pointer to the descriptor, which ends there.
pub(super) fn descriptor_from_pointer(bytes: usize) -> isize {
    -bytes.cast_signed()
}

/// Of a block with a descriptor of so many bytes, how many lie below its thread pointer: the descriptor.
pub(super) fn below_pointer(_fixed: usize, descriptor: usize) -> Option<usize> {
    Some(descriptor)
}

/// And how many above: the two words, all variables, and the room for those of libraries that are loaded later.
pub(super) fn above_pointer(fixed: usize, _descriptor: usize) -> usize {
    fixed
}

/// Nothing to fill.
///
/// # Safety
/// None.
pub(super) unsafe fn fill_head(_head: *mut u8) {}

/// Defines a function with the name of a C library function. It passes its argument to another function, which returns
/// an address, restores all registers, and jumps to that address. So unwinding finds no frame of ours.
macro_rules! jumping {
    ($(#[$meta:meta])* $name:ident asks $ask:ident) => {
        $(#[$meta])*
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "stp x0, x30, [sp, #-16]!",
                ".cfi_adjust_cfa_offset 16",
                ".cfi_rel_offset x30, 8",
                "bl {ask}",
                "mov x16, x0",
                "ldp x0, x30, [sp], #16",
                ".cfi_adjust_cfa_offset -16",
                ".cfi_restore x30",
                "br x16",
                ".cfi_endproc",
                ask = sym $ask,
            )
        }
    };
}
pub(super) use jumping;
