//! Owns: the thread pointer of x86-64, and the head of a block, which is its binary interface.
//! May use: `arch`.
//! Never: a field behind the head; those are `facts`'.
//!
//! The head is what compiled code and all versions of glibc agree on:
//!
//! | offset | what | here |
//! |---|---|---|
//! | 0x00, 0x10 | the address of the head itself | set |
//! | 0x08 | the vector of libraries' variables | glibc's allocator has set it |
//! | 0x18 | there is more than one thread | 1 |
//! | 0x20 | entry for system calls | copied |
//! | 0x28, 0x30 | stack canary, pointer guard: one value for the whole program | copied |
//! | 0x48 | control-flow enforcement that is on | copied |

use crate::arch;
use core::arch::asm;

/// Asks the kernel once how the thread pointer is to be written. False if it cannot be.
pub(super) fn prepare() -> bool {
    arch::prepare_storage()
}

/// The current thread pointer.
#[inline(always)]
pub(super) fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: the head's first word is its own address; nothing is written.
    unsafe { asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, preserves_flags)) };
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
        asm!("mov {:e}, [{}]", out(reg) number, in(reg) address, options(nostack, preserves_flags, readonly))
    };
    number
}

/// From a thread pointer to the descriptor: the head is the descriptor's beginning.
pub(super) fn descriptor_from_pointer(_bytes: usize) -> isize {
    0
}

/// Of the `fixed` bytes of a block with a descriptor of so many, how many lie below its thread pointer: all variables,
/// and the room for those of libraries that are loaded later.
pub(super) fn below_pointer(fixed: usize, descriptor: usize) -> Option<usize> {
    fixed.checked_sub(descriptor)
}

/// And how many above: the descriptor.
pub(super) fn above_pointer(_fixed: usize, descriptor: usize) -> usize {
    descriptor
}

/// Fills the head of a new block; see the module.
///
/// # Safety
/// `head` is a block that glibc's allocator has just made.
pub(super) unsafe fn fill_head(head: *mut u8) {
    let mine: *const u8 = core::ptr::with_exposed_provenance(thread_pointer());
    let put = |offset: usize, value: usize| {
        // SAFETY: a word of the head.
        unsafe { head.wrapping_byte_add(offset).cast::<usize>().write(value) };
    };
    put(0x00, head.addr());
    put(0x10, head.addr());
    // The 32 bits behind it say that no search for symbols goes on.
    put(0x18, 1);
    for offset in [0x20, 0x28, 0x30] {
        // SAFETY: a word of the head of whoever runs.
        put(offset, unsafe { mine.wrapping_byte_add(offset).cast::<usize>().read() });
    }
    // SAFETY: as above, of 32 bits.
    let features = unsafe { mine.wrapping_byte_add(0x48).cast::<u32>().read() };
    // SAFETY: as above.
    unsafe { head.wrapping_byte_add(0x48).cast::<u32>().write(features) };
}

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
                "push rdi",
                ".cfi_adjust_cfa_offset 8",
                "call {ask}",
                "pop rdi",
                ".cfi_adjust_cfa_offset -8",
                "jmp rax",
                ".cfi_endproc",
                ask = sym $ask,
            )
        }
    };
}
pub(super) use jumping;
