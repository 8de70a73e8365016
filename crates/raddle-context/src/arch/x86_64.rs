//! Owns: the switch on x86-64 (System V calling convention).
//! May use: `context`, `libc`, `raddle-syscall`.
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
use core::sync::atomic::{AtomicU8, Ordering};

/// How storage is changed. Decided before the first use; carrying may begin later.
///
/// | value | by | [carried](super::carried) are |
/// |---|---|---|
/// | 0, `CARRYING` | a system call, where the kernel lets programs not write the FS base | none, all |
/// | [`PLAIN`] | an instruction | none |
/// | [`USUAL`] | an instruction | the words of one keeper |
/// | [`BY_INSTRUCTION`] and `CARRYING` | an instruction | those of two |
///
/// PERF: of the signed values only `USUAL` is above `PLAIN`: one comparison tells what is usual from what is not.
static WAY: AtomicU8 = AtomicU8::new(0);
const PLAIN: u8 = 1;
const USUAL: u8 = 2;
const CARRYING: u8 = 0x80;
const BY_INSTRUCTION: u8 = 0xc0;

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
        "5: cmp byte ptr [rip + {way}], {plain}; jne 6f; wrfsbase rdx; jmp 2b",
        // As `change_storage` does in the usual case, without a call.
        "6: jl 7f; mov r8, [rip + {carried}]; mov rax, fs:[r8]; test rax, rax; jz 7f",
        "mov [rdx + r8], rax; wrfsbase rdx; jmp 2b; 7: call {change}; jmp 2b",
        ".cfi_endproc",
        way = sym WAY,
        plain = const PLAIN,
        carried = sym super::carried::DISTANCES,
        change = sym change_storage,
        sp = const offset_of!(Context, sp),
        entry = const offset_of!(Context, entry),
    )
}

/// Sets the FS base to rdx, and before it carries words there, if any are; keeps rdi and rsi. As [`carried`] says: a
/// heap is copied; else the words are taken by an exchange, so that no signal handler changes them half-way.
///
/// [`carried`]: super::carried
#[unsafe(naked)]
unsafe extern "C" fn change_storage() {
    naked_asm!(
        "cmp byte ptr [rip + {way}], {plain}",
        "jle 3f",
        "mov r8, [rip + {carried}]",
        "mov rax, fs:[r8]",
        "test rax, rax",
        "jz 2f",
        "mov [rdx + r8], rax",
        "wrfsbase rdx",
        "ret",
        // Words that a handler might change.
        "2: call 7f",
        "4: wrfsbase rdx",
        "ret",
        "3: je 4b",
        "cmp byte ptr [rip + {way}], 0",
        "je 5f",
        "mov r8, [rip + {carried}]",
        "call 7f",
        "mov r8, [rip + {carried} + 8]",
        "test r8, r8",
        "jz 6f",
        "call 7f",
        "6: cmp byte ptr [rip + {way}], {by_instruction}",
        "je 4b",
        "5: mov r8, rsi",
        "mov r9, rdi",
        "mov rsi, rdx",
        "mov edi, {set_fs}",
        "mov eax, {arch_prctl}",
        "syscall",
        "mov rsi, r8",
        "mov rdi, r9",
        "ret",
        // Carries the words at the distance r8, whatever they say.
        "7: mov r9, fs:[0]",
        "mov eax, {changes}",
        "xchg [r9 + r8 + 8], rax",
        "mov rcx, fs:[r8]",
        "mov [rdx + r8], rcx",
        "mov [rdx + r8 + 8], rax",
        "ret",
        carried = sym super::carried::DISTANCES,
        changes = const super::carried::CHANGES,
        way = sym WAY,
        plain = const PLAIN,
        by_instruction = const BY_INSTRUCTION.cast_signed(),
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
    // SAFETY: the caller vouches for the base; no function of the C library, which would look for `errno` half-way.
    unsafe {
        asm!(
            "call {change}",
            change = sym change_storage,
            in("rdx") base,
            lateout("rax") _, lateout("rcx") _, lateout("r8") _, lateout("r9") _, lateout("r11") _,
        );
    }
}

/// As [`set_storage`]; carries nothing: for a handler with all signals blocked that goes back before it returns. It may
/// have interrupted a switch whose words are on their way to this very storage.
///
/// # Safety
/// As for [`set_storage`].
#[inline(always)]
pub(crate) unsafe fn set_storage_alone(base: usize) {
    if matches!(WAY.load(Ordering::Relaxed), 0 | CARRYING) {
        // SAFETY: passed on to the caller.
        let _always = unsafe { raddle_syscall::call(libc::SYS_arch_prctl, [ARCH_SET_FS, base]) };
    } else {
        // SAFETY: the kernel allows it; passed on to the caller.
        unsafe { asm!("wrfsbase {}", in(reg) base, options(nostack, preserves_flags)) };
    }
}

/// From now on words are carried, of one keeper or of two, whose distances stand in the list.
pub(crate) fn begin_carrying(has_two: bool) {
    let way = match (may_write_fs_base(), has_two) {
        (true, false) => USUAL,
        (true, true) => BY_INSTRUCTION,
        (false, _) => CARRYING,
    };
    // The distances come first; pairs with the loads in `switch`, of a machine that keeps loads in order. An OS thread
    // that has something to carry has called this itself.
    WAY.store(way, Ordering::Release);
}

/// Asks once how storage is to be switched. False if it cannot be.
pub(crate) fn prepare_storage() -> bool {
    if may_write_fs_base() {
        // Unless words are carried already.
        let _carrying = WAY.compare_exchange(0, PLAIN, Ordering::Relaxed, Ordering::Relaxed);
    }
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
            "cmp byte ptr [rip + {way}], {plain}",
            "jne 5f",
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
            "call {change}",
            "jmp 4b",
            "2:",
            sp = const offset_of!(Context, sp),
            entry = const offset_of!(Context, entry),
            start = sym start,
            way = sym WAY,
            plain = const PLAIN,
            change = sym change_storage,
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
            "cmp byte ptr [rip + {way}], {plain}",
            "jne 5f",
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
            "call {change}",
            "jmp 4b",
            ".quad {mark}",
            ".long {number}",
            "2:",
            sp = const offset_of!(Context, sp),
            entry = const offset_of!(Context, entry),
            start = sym start,
            mark = const NOTE_MARK,
            number = const NUMBER,
            way = sym WAY,
            plain = const PLAIN,
            change = sym change_storage,
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
