//! Owns: the switch on x86-64 (System V calling convention).
//! May use: `context`, `libc`.
//! Never: memory other than those words and the two stacks.
//!
//! A suspended context is its stack pointer; everything else lies on its stack, as `switch` pushed it:
//!
//! ```text
//!   high   | caller's frame            |
//!          | return address            |  pushed by the caller's `call switch`; 16-byte boundary above it
//!          | rbp rbx r12 r13 r14 r15   |  pushed by `switch`
//!   sp ->  +---------------------------+
//!          | 128 bytes of red zone     |  dead: no compiled function keeps data there over a call
//! ```
//!
//! A primed context is the top of an empty stack (16-byte aligned, nothing written) and an entry function:
//!
//! ```text
//!   sp ->  +---------------------------+  top
//!          | return address into `3:`  |  pushed by `call entry`; the walk of the stack ends here
//!          | rbp = 0                   |  pushed by an entry that keeps frame pointers
//! ```
//!
//! * **Calls and returns stay balanced.** A resume is `call switch` on one stack and `ret` on another, a
//!   start is `call entry`, an end is `ret` into the same instruction. The return predictor sees as many
//!   of one as of the other; leaving by a jump cost 9 ns per return above it (`switch_floor` and the
//!   research table say so).
//! * **Or neither calls nor returns.** `switch_here` is compiled into whoever waits and jumps: processes that wait in
//!   different places then cost no mispredicted return, since the predictor for jumps knows the pattern and that for
//!   returns expects the last call. Its frame has `switch`'s form, so that either resumes what the other suspended.
//! * **A note costs what it must.** `switch_here` has nothing to save of r12 to r15; `switch_here_noting` pushes three
//!   words there instead, which whoever looks at the suspended context finds, and which are gone with the frame. That
//!   it is such a frame is told by a mark in the code before the place where it goes on.
//! * **An end saves nothing.** What `entry` returns is resumed or started by the same code, which from
//!   then on needs no byte of the old stack: the next context may even be primed on that very stack.
//! * **Thread-local storage** is switched only where one of the two has its own: `wrfsbase` takes 7 to 11 ns, the test
//!   for it nothing that can be measured. It stands between saving and resuming, where no compiled code runs.
//! * **Saved last.** `sp` of the old context is written when the stack pointer and the thread pointer are the next
//!   one's already, and cleared when it is resumed: who sees it set may resume the context, on any OS thread, while the
//!   old one is on its way to the next. Not one byte of the old stack, nor of its storage, is used after that store,
//!   not even by a signal that falls in between. x86 keeps stores in order; the store pairs with the acquire of
//!   [`Context::has_left`].
//! * **Not saved: MXCSR and the x87 control word.** Who changes the rounding mode or unmasks a
//!   floating-point exception changes it for every process of this worker, until it is put back.
//! * **Shadow stacks (CET).** A `ret` onto another stack faults where the shadow stack is on. glibc turns
//!   it on only if every object of the program is marked for it; this assembly carries no mark, so the
//!   linker leaves the program unmarked.

use super::{REGISTERS, may_write_fs_base};
use crate::context::Context;
use core::arch::{asm, naked_asm};
use core::mem::offset_of;
use core::sync::atomic::{AtomicBool, Ordering};

/// Whether the kernel lets programs write the FS base; else a system call does it. Decided before the first use.
static WRITES_FS_BASE: AtomicBool = AtomicBool::new(false);

/// `arch_prctl`'s code for it.
const ARCH_SET_FS: usize = 0x1002;

/// What lies on the stack of a suspended context: registers, by DWARF's numbers, and how far above `sp`.
pub(crate) const SAVED: [(usize, usize); 7] =
    [(15, 0), (14, 8), (13, 16), (12, 24), (3, 32), (6, 40), (RETURN, 48)];
pub(crate) const SAVED_BYTES: usize = 56;
pub(crate) const STACK_POINTER: usize = 7;
/// The return address, as a register.
pub(crate) const RETURN: usize = 16;

/// Where a signal has interrupted an OS thread, and its registers by DWARF's numbers.
pub(crate) fn interrupted(context: &libc::ucontext_t) -> (usize, [usize; REGISTERS]) {
    use libc::{
        REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RAX, REG_RBP, REG_RBX,
        REG_RCX, REG_RDI, REG_RDX, REG_RIP, REG_RSI, REG_RSP,
    };
    let places = [
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8, REG_R9, REG_R10,
        REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
    ];
    let mut registers = [0; REGISTERS];
    for (register, place) in registers.iter_mut().zip(places) {
        *register = context.uc_mcontext.gregs[place as usize] as usize;
    }
    (registers[RETURN], registers)
}

/// The word at an address; a read of which sanitizers know nothing.
///
/// # Safety
/// It may be read.
pub(crate) unsafe fn peek(at: usize) -> usize {
    let word;
    // SAFETY: the caller vouches for it.
    unsafe { asm!("mov {}, [{}]", out(reg) word, in(reg) at, options(nostack, readonly, preserves_flags)) };
    word
}

/// Saves the caller into `*from`, then resumes `*to`, or starts it if it is primed; unless `storage` is 0, with the
/// thread-local storage there.
///
/// # Safety
/// As [`crate::transfer`].
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(from: *mut Context, to: *mut Context, storage: usize) {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_adjust_cfa_offset 8",
        "push rbx",
        ".cfi_adjust_cfa_offset 8",
        "push r12",
        ".cfi_adjust_cfa_offset 8",
        "push r13",
        ".cfi_adjust_cfa_offset 8",
        "push r14",
        ".cfi_adjust_cfa_offset 8",
        "push r15",
        ".cfi_adjust_cfa_offset 8",
        "test rdx, rdx",
        "jnz 5f",
        // rdi = the old context, rsi = the next one. The old one is saved when nothing needs its stack any more.
        "2: mov rcx, rsp",
        "mov rsp, [rsi + {sp}]",
        "mov qword ptr [rsi + {sp}], 0",
        "mov [rdi + {sp}], rcx",
        "4: mov rax, [rsi + {entry}]",
        "test rax, rax",
        "jnz 3f",
        ".cfi_remember_state",
        "pop r15",
        ".cfi_adjust_cfa_offset -8",
        "pop r14",
        ".cfi_adjust_cfa_offset -8",
        "pop r13",
        ".cfi_adjust_cfa_offset -8",
        "pop r12",
        ".cfi_adjust_cfa_offset -8",
        "pop rbx",
        ".cfi_adjust_cfa_offset -8",
        "pop rbp",
        ".cfi_adjust_cfa_offset -8",
        "ret",
        ".cfi_restore_state",
        // Start: an empty stack, on which a walk ends (no return address above, no frame pointer).
        "3:",
        ".cfi_def_cfa rsp, 0",
        ".cfi_undefined rip",
        "mov qword ptr [rsi + {entry}], 0",
        "mov rdi, rsi",
        "xor ebp, ebp",
        // Nor does what the one before had in its registers get onto this stack: see `walk::words`.
        "xor ebx, ebx; xor r12d, r12d; xor r13d, r13d; xor r14d, r14d; xor r15d, r15d",
        "call rax",
        "mov rsi, rax",
        "mov rsp, [rsi + {sp}]",
        "mov qword ptr [rsi + {sp}], 0",
        "jmp 4b",
        // The next context's own thread-local storage, or the OS thread's again.
        ".cfi_def_cfa rsp, 56",
        ".cfi_offset rip, -8",
        "5: cmp byte ptr [rip + {writes_fs_base}], 0",
        "jne 6f",
        "call {ask_kernel}",
        "jmp 2b",
        "6: wrfsbase rdx",
        "jmp 2b",
        ".cfi_endproc",
        writes_fs_base = sym WRITES_FS_BASE,
        ask_kernel = sym ask_kernel,
        sp = const offset_of!(Context, sp),
        entry = const offset_of!(Context, entry),
    )
}

/// Sets the FS base to rdx by a system call, for `switch`; keeps rdi and rsi.
#[unsafe(naked)]
unsafe extern "C" fn ask_kernel() {
    naked_asm!(
        "mov r8, rsi",
        "mov r9, rdi",
        "mov rsi, rdx",
        "mov edi, {set_fs}",
        "mov eax, {arch_prctl}",
        "syscall",
        "mov rsi, r8",
        "mov rdi, r9",
        "ret",
        set_fs = const ARCH_SET_FS,
        arch_prctl = const libc::SYS_arch_prctl,
    )
}

/// Goes on with the thread-local storage at `base`.
///
/// # Safety
/// As [`crate::tls::return_to`].
#[inline(always)]
pub(crate) unsafe fn set_storage(base: usize) {
    if WRITES_FS_BASE.load(Ordering::Relaxed) {
        // SAFETY: the kernel allows it, and the caller vouches for the base.
        unsafe { asm!("wrfsbase {}", in(reg) base, options(nostack, preserves_flags)) };
    } else {
        // SAFETY: as above; no function of the C library, which would look for `errno` half-way.
        unsafe {
            asm!(
                "syscall",
                inlateout("rax") libc::SYS_arch_prctl => _, in("rdi") ARCH_SET_FS, in("rsi") base,
                lateout("rcx") _, lateout("r11") _, options(nostack),
            );
        }
    }
}

/// Asks once how storage is to be switched. False if it cannot be.
pub(crate) fn prepare_storage() -> bool {
    WRITES_FS_BASE.store(may_write_fs_base(), Ordering::Relaxed);
    true
}

/// As [`switch`], compiled into the caller.
///
/// # Safety
/// As [`crate::transfer`].
#[cfg_attr(
    raddle_asan,
    allow(dead_code, reason = "the sanitizer brackets each switch with calls of its own")
)]
#[inline(always)]
pub(crate) unsafe fn switch_here(from: *mut Context, to: *mut Context, storage: usize) {
    // SAFETY: the caller's guarantees are exactly `switch`'s. All registers are given up but rbx, rbp and rsp, which
    // the compiler keeps to itself: these are saved and restored.
    unsafe {
        asm!(
            "lea rax, [rip + 2f]",
            "push rax",
            "push rbp",
            "push rbx",
            // The places of r12 to r15, which are given up here.
            "sub rsp, 32",
            "test rdx, rdx",
            "jz 4f",
            "cmp byte ptr [rip + {writes_fs_base}], 0",
            "je 5f",
            "wrfsbase rdx",
            "4:",
            "mov rcx, rsp",
            "mov rsp, [rsi + {sp}]",
            "mov qword ptr [rsi + {sp}], 0",
            "mov [rdi + {sp}], rcx",
            "mov rax, [rsi + {entry}]",
            "test rax, rax",
            "jnz {start}",
            "pop r15",
            "pop r14",
            "pop r13",
            "pop r12",
            "pop rbx",
            "pop rbp",
            "pop rcx",
            "jmp rcx",
            "5:",
            "call {ask_kernel}",
            "jmp 4b",
            "2:",
            sp = const offset_of!(Context, sp),
            entry = const offset_of!(Context, entry),
            start = sym start,
            writes_fs_base = sym WRITES_FS_BASE,
            ask_kernel = sym ask_kernel,
            inout("rdi") from => _,
            inout("rsi") to => _,
            inout("rdx") storage => _,
            out("r12") _,
            out("r13") _,
            out("r14") _,
            out("r15") _,
            clobber_abi("sysv64"),
        );
    }
}

/// What stands in the code before the place at which one goes on that has left a note; never run. Its bytes are `ud2`,
/// `note`, `ud2`; the note's number follows in four more.
pub(crate) const NOTE_MARK: usize = 0x0b0f_6574_6f6e_0b0f;
#[cfg_attr(raddle_asan, allow(dead_code, reason = "as for `switch_here`"))]
pub(crate) const NOTE_MARK_BYTES: usize = 12;
/// Where the note's words lie above `sp`: in the places of r12 to r14.
#[cfg_attr(raddle_asan, allow(dead_code, reason = "as for `switch_here`"))]
pub(crate) const NOTE: [usize; 3] = [24, 16, 8];

/// As [`switch_here`], and leaves a note in the places of registers that are given up: three pushes in place of room
/// for four. Its number stands in the code and costs nothing.
///
/// # Safety
/// As [`crate::transfer`].
#[cfg_attr(raddle_asan, allow(dead_code, reason = "as for `switch_here`"))]
#[inline(always)]
pub(crate) unsafe fn switch_here_noting<const NUMBER: u32>(
    from: *mut Context,
    to: *mut Context,
    storage: usize,
    note: [usize; 3],
) {
    // SAFETY: as in `switch_here`.
    unsafe {
        asm!(
            "lea rax, [rip + 2f]",
            "push rax",
            "push rbp",
            "push rbx",
            "push rdx",
            "push rcx",
            "push r8",
            // The place of r15.
            "sub rsp, 8",
            "test r9, r9",
            "jz 4f",
            "cmp byte ptr [rip + {writes_fs_base}], 0",
            "je 5f",
            "wrfsbase r9",
            "4:",
            "mov rcx, rsp",
            "mov rsp, [rsi + {sp}]",
            "mov qword ptr [rsi + {sp}], 0",
            "mov [rdi + {sp}], rcx",
            "mov rax, [rsi + {entry}]",
            "test rax, rax",
            "jnz {start}",
            "pop r15",
            "pop r14",
            "pop r13",
            "pop r12",
            "pop rbx",
            "pop rbp",
            "pop rcx",
            "jmp rcx",
            "5:",
            "mov rdx, r9",
            "call {ask_kernel}",
            "jmp 4b",
            ".quad {mark}",
            ".long {number}",
            "2:",
            sp = const offset_of!(Context, sp),
            entry = const offset_of!(Context, entry),
            start = sym start,
            mark = const NOTE_MARK,
            number = const NUMBER,
            writes_fs_base = sym WRITES_FS_BASE,
            ask_kernel = sym ask_kernel,
            inout("rdi") from => _,
            inout("rsi") to => _,
            in("rdx") note[0],
            in("rcx") note[1],
            in("r8") note[2],
            in("r9") storage,
            out("r12") _,
            out("r13") _,
            out("r14") _,
            out("r15") _,
            clobber_abi("sysv64"),
        );
    }
}

/// The part of [`switch`] that starts a primed context, to be jumped to with rsi = it, rax = its entry, on its stack.
///
/// # Safety
/// Never called.
#[cfg_attr(raddle_asan, allow(dead_code, reason = "as for `switch_here`"))]
#[unsafe(naked)]
unsafe extern "C" fn start() {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_def_cfa rsp, 0",
        ".cfi_undefined rip",
        "3:",
        "mov qword ptr [rsi + {entry}], 0",
        "mov rdi, rsi",
        "xor ebp, ebp",
        // Nor does what the one before had in its registers get onto this stack: see `walk::words`.
        "xor ebx, ebx; xor r12d, r12d; xor r13d, r13d; xor r14d, r14d; xor r15d, r15d",
        "call rax",
        "mov rsi, rax",
        "mov rax, [rsi + {entry}]",
        "mov rsp, [rsi + {sp}]",
        "mov qword ptr [rsi + {sp}], 0",
        "test rax, rax",
        "jnz 3b",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
        ".cfi_endproc",
        sp = const offset_of!(Context, sp),
        entry = const offset_of!(Context, entry),
    )
}
