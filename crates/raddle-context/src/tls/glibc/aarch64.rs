//! Owns: the thread pointer of aarch64.
//! May use: TPIDR_EL0, which a program may always write.
//! Never: a field of the descriptor; those are `facts`'.
//!
//! The thread pointer points behind the descriptor, to two words: the vector of libraries' variables, which glibc's
//! allocator sets, and one that nobody uses. Stack canary and pointer guard are variables of the program.

use core::arch::asm;

/// Nothing to find out.
pub(super) fn prepare() {}

/// The thread pointer of whoever runs.
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
    // SAFETY: the caller vouches for the base.
    unsafe { asm!("msr tpidr_el0, {}", in(reg) base, options(nostack, preserves_flags)) };
}

/// From a thread pointer to the descriptor, which ends there.
pub(super) fn descriptor_from_pointer(bytes: usize) -> isize {
    -bytes.cast_signed()
}

/// Nothing to fill.
///
/// # Safety
/// None.
pub(super) unsafe fn fill_head(_head: *mut u8) {}
