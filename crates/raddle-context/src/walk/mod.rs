//! Owns: the stack walk of a suspended context: the functions that it is in.
//! May use: `arch`, `context`, `stack`, `libc`.
//! Never: a read outside of the context's own stack and of those tables; an allocation, or a lock, while it walks.
//!
//! A suspended context has its registers on its stack, as `arch::SAVED` lists them. From there each frame leads to its
//! caller's by the compiler's unwind information in `.eh_frame`: where the frame ends, and where it keeps the caller's
//! registers. Frame pointers would take fewer lines, but a release build of Rust has none.
//!
//! The usual unwinder can walk only from its own caller, and trusts what it finds. Here each address is checked against
//! the stack before it is read, and each frame must end above the one before. So an overwritten stack gives a short or
//! wrong walk, but no crash. (The crate `framehop` with `gimli` does the same in 20 000 lines,
//! which would be compiled in each of our test configurations; what x86-64 and aarch64 need of it is three pages.)

mod rows;
mod tables;

pub use crate::arch::REGISTERS;
pub use tables::Tables;

use crate::arch::{RETURN, SAVED, SAVED_BYTES, STACK_POINTER, interrupted, peek};
use crate::context::Context;
use crate::stack::Stack;
use core::ops::Range;
use core::sync::atomic::Ordering;
use rows::{Row, Rule};

/// The most frames that are walked.
const FRAMES_MAX: usize = 128;

/// The known registers, by DWARF number.
type RegisterValues = [Option<usize>; REGISTERS];

/// The registers of an OS thread that a signal has interrupted.
#[derive(Clone, Copy, Debug)]
pub struct Interrupted {
    /// Its instruction pointer.
    pub address: usize,
    /// By DWARF number; the stack pointer is among them.
    pub registers: [usize; REGISTERS],
    /// The signals that it blocks, as bits: in the midst of another handler also that one's.
    pub blocked: u64,
}

impl Interrupted {
    /// Reads the registers from a signal handler's context.
    ///
    /// # Safety
    /// `context` is the third argument of a handler with `SA_SIGINFO`, which has not returned.
    pub unsafe fn of(context: *const core::ffi::c_void) -> Interrupted {
        // SAFETY: the caller vouches for it.
        let context: &libc::ucontext_t = unsafe { &*context.cast() };
        let (address, registers) = interrupted(context);
        // SAFETY: the kernel's set of signals is the first word of the C library's.
        let blocked = unsafe { (&raw const context.uc_sigmask).cast::<u64>().read() };
        Interrupted { address, registers, blocked }
    }

    /// Whether it was interrupted in a system call, or right before or after one: between two instructions, of which
    /// one is that call.
    ///
    /// # Safety
    /// It was interrupted there, and the code there is still mapped.
    pub unsafe fn is_at_system_call(&self) -> bool {
        const CALL: &[u8] = if cfg!(target_arch = "x86_64") { &[0x0f, 0x05] } else { &[0x01, 0, 0, 0xd4] };
        // SAFETY: it has executed, or is about to execute, what stands there.
        let byte = |at| unsafe { core::ptr::with_exposed_provenance::<u8>(at).read_volatile() };
        let begins_at =
            |at: usize| CALL.iter().enumerate().all(|(place, wanted)| byte(at + place) == *wanted);
        // The kernel goes back to it if it is to be made again.
        begins_at(self.address) || begins_at(self.address - CALL.len())
    }

    /// The stack pointer.
    pub fn stack_pointer(&self) -> usize {
        self.registers[STACK_POINTER]
    }
}

/// Calls `each` with the return addresses on a suspended context's stack, the innermost first, until it returns false
/// or the walk ends: at the context's base, or where there is no table.
///
/// # Safety
/// The context is suspended on `stack`, and nobody resumes it meanwhile. What was loaded when the tables were made
/// still is.
pub unsafe fn walk(context: &Context, stack: &Stack, tables: &Tables, each: impl FnMut(usize) -> bool) {
    let sp = context.sp.load(Ordering::Relaxed).addr();
    if context.entry.is_some() || sp < stack.limit().addr() {
        return;
    }
    let memory = sp..stack.top().addr();
    let mut known: RegisterValues = [None; REGISTERS];
    for (register, offset) in SAVED {
        // SAFETY: on the stack, which is mapped and readable while it is taken.
        known[register] = unsafe { read(&memory, sp.wrapping_add(offset)) };
    }
    known[STACK_POINTER] = Some(sp.wrapping_add(SAVED_BYTES));
    let Some(address) = known[RETURN] else { return };
    // The call stands before the address that it returns to, which may be the next function's first.
    // SAFETY: as above, and the caller vouches for the tables.
    unsafe { walk_from(known, (without_signature(address), 1), &memory, tables, each) }
}

/// Like [`walk`], for an OS thread stopped in a signal handler: begins with the interrupted function.
///
/// # Safety
/// What lies between its stack pointer and `end` may be read. The tables as for [`walk`].
pub unsafe fn walk_interrupted(
    thread: &Interrupted,
    end: usize,
    tables: &Tables,
    each: impl FnMut(usize) -> bool,
) {
    let memory = thread.stack_pointer()..end;
    // SAFETY: passed on to the caller.
    unsafe { walk_from(thread.registers.map(Some), (thread.address, 0), &memory, tables, each) }
}

/// The used part of a suspended context's stack, saved registers included.
pub fn kept(context: &Context, stack: &Stack) -> Range<usize> {
    let (sp, top) = (context.sp.load(Ordering::Relaxed).addr(), stack.top().addr());
    if context.entry.is_some() || sp < stack.limit().addr() { top..top } else { sp..top }
}

/// Calls `each` with all words in `memory`, from the first on, until it returns false.
///
/// # Safety
/// `memory` may be read.
pub unsafe fn words(memory: Range<usize>, mut each: impl FnMut(usize) -> bool) {
    let first = memory.start.next_multiple_of(size_of::<usize>());
    for at in (first..memory.end).step_by(size_of::<usize>()) {
        // SAFETY: passed on to the caller.
        match unsafe { read(&memory, at) } {
            Some(word) if each(word) => {}
            _ => return,
        }
    }
}

/// # Safety
/// `memory` may be read. What was loaded when the tables were made still is.
unsafe fn walk_from(
    mut known: RegisterValues,
    (mut address, mut back): (usize, usize),
    memory: &Range<usize>,
    tables: &Tables,
    mut each: impl FnMut(usize) -> bool,
) {
    for _ in 0..FRAMES_MAX {
        if address <= back || !each(address) {
            return;
        }
        let Some(row) = tables.row(address - back) else { return };
        // SAFETY: passed on to the caller.
        let read = |at| unsafe { read(memory, at) };
        let Some(caller) = caller_of(&known, &row, read) else { return };
        let rises = caller[STACK_POINTER] > known[STACK_POINTER];
        // Only the first function may not have touched the stack yet.
        let stays = back == 0 && caller[STACK_POINTER] == known[STACK_POINTER];
        if !(rises || stays) || caller[STACK_POINTER] > Some(memory.end) {
            return;
        }
        let Some(returns_to) = caller[row.return_register] else { return };
        known = caller;
        (address, back) = (without_signature(returns_to), 1);
    }
}

/// The word at `at`, if that is within `memory`.
///
/// # Safety
/// `memory` may be read.
unsafe fn read(memory: &Range<usize>, at: usize) -> Option<usize> {
    let inside = at.is_multiple_of(8) && memory.contains(&at) && memory.end - at >= 8;
    // SAFETY: inside, and the caller vouches for it.
    inside.then(|| unsafe { peek(at) })
}

/// The caller's registers after this frame has returned.
fn caller_of(
    known: &RegisterValues,
    row: &Row,
    read: impl Fn(usize) -> Option<usize>,
) -> Option<RegisterValues> {
    let (base, offset) = row.frame?;
    let frame = known.get(base).copied()??.checked_add_signed(offset)?;
    let place = |offset: i32| frame.checked_add_signed(offset as isize);
    let mut caller = *known;
    for (register, rule) in row.rules.iter().enumerate() {
        caller[register] = match *rule {
            Rule::Same => continue,
            Rule::Unknown => None,
            Rule::At(offset) => place(offset).and_then(&read),
            Rule::Is(offset) => place(offset),
            Rule::In(other) => known.get(usize::from(other)).copied().flatten(),
        };
    }
    caller[STACK_POINTER] = Some(frame);
    Some(caller)
}

/// A return address without the signature that pointer authentication puts into its high bits.
fn without_signature(address: usize) -> usize {
    if cfg!(target_arch = "aarch64") { address & ((1 << 48) - 1) } else { address }
}
