//! Owns: the process's handler of SIGSEGV and SIGBUS.
//! May use: `current`, `stack`, `libc`.
//! Never: a fault that is not a stack overflow of ours; it goes to the previous handler.

use super::RawWriter;
use crate::stack::{PAGE, ranges};
use crate::{current, overflow::handler::FaultKind::*};
use core::ffi::{c_int, c_void};
use core::fmt::Write;
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};
use std::sync::OnceLock;

/// Writes what runs: the name, the number, where it was spawned. `current` is [`current::get`]'s word,
/// which may be null.
///
/// It is called in a signal handler: no locks, no allocation, no memory that another thread may free meanwhile.
pub type Describer = fn(current: *mut (), out: &mut RawWriter);

/// How far below its slot a stack pointer may be and still be that stack's: a frame of C code without probes.
const BELOW: usize = 64 << 10;
const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

static DESCRIBER: AtomicPtr<()> = AtomicPtr::new(null_mut());
/// The handlers that were installed before ours, per entry of `SIGNALS`.
static BEFORE: OnceLock<[libc::sigaction; 2]> = OnceLock::new();

/// Sets the function by which the handler names what runs. The last call counts.
pub fn set_describer(describer: Describer) {
    // Pairs with the acquire in `report`.
    DESCRIBER.store(describer as *mut (), Ordering::Release);
}

/// Installs the handler that reports a stack overflow of a context and aborts, instead of a silent crash. Further calls
/// do nothing.
///
/// Other faults go to the previous handler: Rust's own, a debugger's, a crash reporter's.
///
/// ```
/// raddle_context::overflow::install_process_handler();
/// ```
pub fn install_process_handler() {
    BEFORE.get_or_init(|| SIGNALS.map(install));
}

fn install(signal: c_int) -> libc::sigaction {
    // SAFETY: sigaction is plain data, for which all zeroes is a value.
    let mut ours: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    let mut before = ours;
    ours.sa_sigaction = handle as extern "C" fn(_, _, _) as usize;
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: both are valid; `handle` is async-signal-safe and has the signature that SA_SIGINFO asks for.
    unsafe { libc::sigaction(signal, &raw const ours, &raw mut before) };
    before
}

/// The kind of a fault.
enum FaultKind {
    Overflow(ranges::StackSlot),
    Wild(ranges::StackSlot),
    NotOurs,
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let mut out = RawWriter::new();
    match classify(info, context) {
        Overflow(slot) => {
            report(&mut out, slot);
            std::process::abort();
        }
        Wild(slot) => {
            let (low, high) = (slot.base, slot.base + slot.bytes);
            let _ = writeln!(
                out,
                "raddle: memory fault in the guard page of the stack {low:#x}-{high:#x}, on which this thread \
                 does not run: a wild pointer, or the overflow of a frame that is not probed"
            );
            out.flush();
            chain(signal, info, context);
        }
        NotOurs => chain(signal, info, context),
    }
}

fn classify(info: *mut libc::siginfo_t, context: *mut c_void) -> FaultKind {
    // SAFETY: the kernel passes a valid siginfo.
    let info = unsafe { &*info };
    if info.si_code <= 0 {
        return NotOurs; // sent by a process, not a fault
    }
    // SAFETY: SIGSEGV and SIGBUS with a positive code carry an address.
    let address = unsafe { info.si_addr() }.addr();
    match ranges::find(address) {
        Some(slot) if address - slot.base < PAGE => {
            let sp = stack_pointer(context);
            let its_own = sp + BELOW >= slot.base && sp < slot.base + slot.bytes;
            if its_own { Overflow(slot) } else { Wild(slot) }
        }
        _ => NotOurs,
    }
}

fn stack_pointer(context: *mut c_void) -> usize {
    // SAFETY: with SA_SIGINFO the kernel passes a valid ucontext.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    #[cfg(target_arch = "x86_64")]
    return context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize;
    #[cfg(target_arch = "aarch64")]
    return context.uc_mcontext.sp as usize;
}

fn report(out: &mut RawWriter, slot: ranges::StackSlot) {
    let _ = write!(out, "\nraddle: stack overflow in ");
    describe_current(out);
    let (low, high) = (slot.base + PAGE, slot.base + slot.bytes);
    let _ = writeln!(
        out,
        ": {}-byte stack {low:#x}-{high:#x} is used up; ask for more with `Builder::stack_size` or \
         RADDLE_STACK_SIZE, or look for a recursion that does not end",
        high - low
    );
    out.flush();
}

/// Writes what runs on this OS thread.
pub(crate) fn describe_current(out: &mut RawWriter) {
    // Pairs with the release in `set_describer`.
    let describer = DESCRIBER.load(Ordering::Acquire);
    if describer.is_null() {
        let _ = write!(out, "a context without a name");
    } else {
        // SAFETY: only `set_describer` stores here, and it stores a `Describer`.
        let describer = unsafe { core::mem::transmute::<*mut (), Describer>(describer) };
        describer(current::get(), out);
    }
}

/// Passes the signal to the previous handler.
fn chain(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let before = BEFORE.get().zip(SIGNALS.iter().position(|&s| s == signal)).map(|(all, index)| all[index]);
    match before {
        Some(before) if before.sa_sigaction == libc::SIG_DFL || before.sa_sigaction == libc::SIG_IGN => {
            die(signal, info)
        }
        Some(before) if before.sa_flags & libc::SA_SIGINFO != 0 => {
            type Long = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
            // SAFETY: an address that was registered with SA_SIGINFO has this signature.
            let handler = unsafe { core::mem::transmute::<usize, Long>(before.sa_sigaction) };
            handler(signal, info, context);
        }
        Some(before) => {
            // SAFETY: an address that was registered without SA_SIGINFO has this signature.
            let handler = unsafe { core::mem::transmute::<usize, extern "C" fn(c_int)>(before.sa_sigaction) };
            handler(signal);
        }
        // A fault while another thread is in `install_process_handler`: the previous handler is not known yet.
        None => die(signal, info),
    }
}

/// Restores the default action; on return the same fault happens again and kills the process.
fn die(signal: c_int, info: *mut libc::siginfo_t) {
    // SAFETY: resets a disposition; async-signal-safe.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
    // SAFETY: the kernel passes a valid siginfo.
    if unsafe { (*info).si_code } <= 0 {
        // SAFETY: sends this thread the signal that somebody sent it; it is delivered when the handler returns.
        unsafe { libc::raise(signal) };
    }
}
