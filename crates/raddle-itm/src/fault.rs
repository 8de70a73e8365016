//! Owns: reading what may be gone: a word of memory that somebody else has freed, and the kernel unmapped.
//! May use: `libc`.
//! Never: hiding a fault of the program's.
//!
//! A transaction that others have overtaken does not know yet that it is in vain. What it follows may lead to memory
//! that its new owner has given back. So the instructions by which transactions read are listed, and a fault there is
//! no end of the program: the read fails, and the transaction looks whether it is in vain. If it is not, it reads
//! again, elsewhere, and the fault is the program's own.
//!
//! It holds `unsafe` for those instructions, and for a handler of `SIGSEGV` and `SIGBUS`, which hands on all other
//! faults to whoever had it before. A program that sets one of its own in place of it has no such reads; it then fails
//! where it would have failed without this library.

use std::arch::asm;
use std::mem::MaybeUninit;
use std::ptr::{from_ref, null_mut};
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

/// The word at `address`, a multiple of its size; none where there is no memory.
///
/// Whoever writes it at the same time, by one instruction, is no harm: it is one of the two values.
#[inline(always)]
pub(crate) fn peek(address: usize) -> Option<u64> {
    let word: u64;
    let is_gone: u32;
    // SAFETY: if it cannot be read, `handle` goes on at 4.
    unsafe {
        asm!(
            "xor {is_gone:e}, {is_gone:e}",
            "2: mov {word}, qword ptr [{address}]",
            "3:",
            ".pushsection .text.unlikely,\"ax\"",
            "4: mov {is_gone:e}, 1",
            "jmp 3b",
            ".popsection",
            // Where a fault is expected, and where it leads: both as seen from here.
            ".pushsection raddle_itm_faults,\"a\"",
            ".balign 8",
            ".long 2b - .",
            ".long 4b - .",
            ".popsection",
            address = in(reg) address,
            word = out(reg) word,
            is_gone = out(reg) is_gone,
            options(nostack, readonly),
        );
    }
    (is_gone == 0).then_some(word)
}

unsafe extern "C" {
    /// The first and behind the last of the pairs above, by the linker.
    static __start_raddle_itm_faults: [i32; 2];
    static __stop_raddle_itm_faults: [i32; 2];
}

/// Where to go on after a fault at `rip`, if one is expected there.
fn way_out(rip: i64) -> Option<i64> {
    let first = &raw const __start_raddle_itm_faults;
    let count = ((&raw const __stop_raddle_itm_faults).addr() - first.addr()) / size_of::<[i32; 2]>();
    (0..count).map(|i| first.wrapping_add(i)).find_map(|pair| {
        // SAFETY: the linker's, of this library.
        let [at, to] = unsafe { *pair };
        let place = pair.addr().cast_signed() as i64;
        (place + i64::from(at) == rip).then(|| place + 4 + i64::from(to))
    })
}

/// Who handled these signals before.
static BEFORE: AtomicPtr<[libc::sigaction; 2]> = AtomicPtr::new(null_mut());

const SIGNALS: [i32; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// The process in which a thread is about to set the handlers.
static BEGUN_IN: AtomicI32 = AtomicI32::new(0);

/// From now on [`peek`] may fail.
///
/// Who comes while another thread is at it waits, unless that is not there: a child of `fork` begins anew.
pub(crate) fn prepare() {
    // Acquire pairs with the release below.
    while BEFORE.load(Ordering::Acquire).is_null() {
        // SAFETY: it asks for a number.
        let own = unsafe { libc::getpid() };
        let other = BEGUN_IN.load(Ordering::Relaxed);
        let relaxed = Ordering::Relaxed;
        if other != own && BEGUN_IN.compare_exchange(other, own, relaxed, relaxed).is_ok() {
            let before = Box::leak(Box::new(SIGNALS.map(set)));
            BEFORE.store(before, Ordering::Release); // pairs with the acquire in `prepare` and `handle`
        } else {
            // SAFETY: it takes nothing.
            unsafe { libc::sched_yield() };
        }
    }
}

/// Sets our handler, and returns what was there: the default, if that is ours.
fn set(signal: i32) -> libc::sigaction {
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all its bits may be zero.
    let mut ours: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    ours.sa_sigaction = handle as *const () as usize;
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
    // SAFETY: of a handler with this signature, and of a place for the one before.
    unsafe { libc::sigaction(signal, &ours, before.as_mut_ptr()) };
    // SAFETY: the call has written it, or it is zero: the default.
    let mut before = unsafe { before.assume_init() };
    if before.sa_sigaction == ours.sa_sigaction {
        before.sa_sigaction = libc::SIG_DFL;
    }
    before
}

/// A fault of a thread that blocks its signal ends the program.
pub(crate) fn unblock() {
    let mut signals = MaybeUninit::uninit();
    // SAFETY: a place for a set.
    unsafe { libc::sigemptyset(signals.as_mut_ptr()) };
    for signal in SIGNALS {
        // SAFETY: a set, and a signal that there is.
        unsafe { libc::sigaddset(signals.as_mut_ptr(), signal) };
    }
    // SAFETY: a whole set.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, signals.as_ptr(), null_mut()) };
}

const RIP: usize = libc::REG_RIP as usize;

unsafe extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel's, of a handler with `SA_SIGINFO`.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    // SAFETY: as above.
    let is_sent = unsafe { (*info).si_code } <= 0;
    if !is_sent && let Some(way_out) = way_out(registers[RIP]) {
        registers[RIP] = way_out;
        return;
    }
    let all = BEFORE.load(Ordering::Acquire); // pairs with the release in `prepare`
    // SAFETY: it is never freed.
    let all = unsafe { all.as_ref() };
    let before = all.and_then(|all| SIGNALS.iter().position(|&one| one == signal).map(|i| &all[i]));
    match before {
        Some(before) if before.sa_sigaction == libc::SIG_IGN && is_sent => {}
        Some(before) if before.sa_sigaction != libc::SIG_DFL && before.sa_sigaction != libc::SIG_IGN => {
            if before.sa_flags & libc::SA_RESETHAND != 0 {
                set_default(signal);
            }
            // SAFETY: it was given to the kernel as one of these two, by that flag; the third argument harms neither.
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
                unsafe { std::mem::transmute(before.sa_sigaction) };
            handler(signal, info, context);
        }
        _ => {
            set_default(signal);
            if is_sent {
                // SAFETY: a signal, which ends the program.
                unsafe { libc::raise(signal) };
            }
            // Otherwise the instruction is run again, and ends the program.
        }
    }
}

fn set_default(signal: i32) {
    // SAFETY: all its bits may be zero: the default.
    let default: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: it is a whole one.
    unsafe { libc::sigaction(signal, from_ref(&default), null_mut()) };
}
