//! Owns: the switch on x86-64 under ThreadSanitizer.
//! May use: `context`.
//! Never: anything that the plain file does not do, except those calls.
//!
//! As `x86_64.rs`, whose story holds, with two calls between saving and loading the stack pointer: the
//! announcement of the fiber that we go to, and, after an end, the destruction of the fiber that is over.
//! They run on the stack that is being left, with the callee-saved registers free, since those have been
//! saved. rbx = the next context, r12 = the fiber that is over, or 0, r13 = the storage to load, or 0, r15 = the
//! context that is left, or 0, and r14 = its stack pointer.
//!
//! ThreadSanitizer finds its own state of whoever runs by a word in thread-local storage. The announcement sets it in
//! the storage that is being left, so whoever changes the storage carries the word over. Where it lies is found out by
//! watching it change; this needs `wrfsbase`.

use super::{may_write_fs_base, tsan_word};
use crate::context::Context;
use core::arch::{asm, naked_asm};
use core::mem::offset_of;
use core::sync::atomic::{AtomicIsize, Ordering};

/// From a thread pointer to ThreadSanitizer's word. Found before storage is first switched.
static WORD: AtomicIsize = AtomicIsize::new(0);

/// Asks once how storage is to be switched. False if it cannot be.
pub(crate) fn prepare_storage() -> bool {
    let pointer;
    // SAFETY: the storage's first word is its own address; nothing is written.
    unsafe { asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, preserves_flags)) };
    let word = tsan_word::find(pointer);
    WORD.store(word.unwrap_or(0), Ordering::Relaxed);
    word.is_some() && may_write_fs_base()
}

/// Nothing but its own word is carried under ThreadSanitizer, whose allocator is the program's there.
pub(crate) fn begin_carrying(_has_two: bool) {}

/// Goes on with the thread-local storage at `base`, as the same fiber.
///
/// # Safety
/// As [`crate::tls::return_to`].
#[inline(always)]
pub(crate) unsafe fn set_storage(base: usize) {
    // SAFETY: the kernel allows it, and the caller vouches for the base; the word is in all storage.
    unsafe {
        asm!(
            "mov {fiber}, fs:[{word}]",
            "wrfsbase {base}",
            "mov fs:[{word}], {fiber}",
            fiber = out(reg) _,
            word = in(reg) WORD.load(Ordering::Relaxed),
            base = in(reg) base,
            options(nostack, preserves_flags),
        );
    }
}

/// As [`set_storage`].
///
/// # Safety
/// As for [`set_storage`].
#[inline(always)]
pub(crate) unsafe fn set_storage_alone(base: usize) {
    // SAFETY: passed on to the caller.
    unsafe { set_storage(base) };
}

/// Saves the caller into `*from`, then resumes `*to`, or starts it if it is primed; unless `storage` is 0, with the
/// thread-local storage there.
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
        "mov rbx, rsi",
        "xor r12d, r12d",
        "mov r13, rdx",
        "mov r14, rsp",
        "mov r15, rdi",
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
        "test r13, r13",
        "jz 5f",
        "mov rax, [rip + {word}]",
        "mov rcx, fs:[rax]",
        "wrfsbase r13",
        "mov fs:[rax], rcx",
        "5:",
        "mov rax, [rbx + {entry}]",
        "mov rsp, [rbx + {sp}]",
        "mov qword ptr [rbx + {sp}], 0",
        "test r15, r15",
        "jz 6f",
        "mov [r15 + {sp}], r14",
        "6:",
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
        "xor r13d, r13d",
        "xor r15d, r15d",
        "jmp 2b",
        sp = const offset_of!(Context, sp),
        entry = const offset_of!(Context, entry),
        fiber = const offset_of!(Context, fiber),
        announce = sym __tsan_switch_to_fiber,
        destroy = sym __tsan_destroy_fiber,
        word = sym WORD,
    )
}

// SAFETY: as `llvm:sanitizer/tsan_interface.h` declares them.
unsafe extern "C" {
    fn __tsan_switch_to_fiber(fiber: *mut core::ffi::c_void, flags: u32);
    fn __tsan_destroy_fiber(fiber: *mut core::ffi::c_void);
}
