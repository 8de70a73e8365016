//! Owns: the keeper: what it blocks, how it is told, and who is its `main`.
//! May use: `thread::handlers`, `thread::record`, `thread::wait`, `libc`, `raddle-core`, `raddle-syscall`.
//! Never: a wait of a thread's for the keeper, in which that one cannot be served.

use super::{FAULTS, NEVER, OF_WORKERS, OURS, SIGNALS, TELL, bit};
use crate::thread::record::{self, ThreadRecord};
use crate::thread::{handlers, wait};
use raddle_core::{choice, orphan};
use raddle_syscall::Errno;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// How many threads block each signal, of how many.
static BLOCKERS: [AtomicU32; SIGNALS] = [const { AtomicU32::new(0) }; SIGNALS];
static THREADS: AtomicU32 = AtomicU32::new(0);
/// What the keeper blocks, and is to block; its number.
static BLOCKED: AtomicU64 = AtomicU64::new(0);
static WANTED: AtomicU64 = AtomicU64::new(0);
static KEEPER: AtomicI32 = AtomicI32::new(0);
/// Whose waits a handler ends: `main`.
pub(crate) static MAIN: AtomicPtr<ThreadRecord> = AtomicPtr::new(null_mut());

/// At the keeper: its mask is what is wanted from here on. Elsewhere it only interrupts.
unsafe extern "C" fn on_tell(_signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    if raddle_syscall::thread_number() != KEEPER.load(Ordering::Relaxed) {
        return;
    }
    let wanted = WANTED.load(Ordering::SeqCst); // pairs with the store in `tell_keeper`
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel's, for this call.
    let mask = unsafe { &raw mut (*context).uc_sigmask };
    // SAFETY: the kernel's set is the first eight bytes.
    unsafe { mask.cast::<u64>().write(wanted) };
    BLOCKED.store(wanted, Ordering::SeqCst); // pairs with the load in `tell_keeper`
}

/// So often one who follows a seed waits for the keeper before it lets others run.
const SEEDED_PAUSES: u32 = 20_000;

/// Has the keeper block what all threads block.
fn tell_keeper() {
    let threads = THREADS.load(Ordering::Relaxed);
    if threads == 0 {
        // `main` has not begun: what it blocks is what the keeper blocks.
        return;
    }
    let is_blocked = |signal: &usize| BLOCKERS[*signal].load(Ordering::Relaxed) >= threads;
    let wanted = (1..SIGNALS).filter(is_blocked).fold(0, |all, signal| all | bit(signal as c_int));
    let wanted = wanted & !(OURS | NEVER | FAULTS);
    let keeper = KEEPER.load(Ordering::Relaxed);
    if keeper == 0 || wanted == BLOCKED.load(Ordering::Relaxed) {
        return;
    }
    WANTED.store(wanted, Ordering::SeqCst); // pairs with the load in `on_tell`
    if send(keeper, TELL).is_ok() {
        // Another one may want something else meanwhile.
        let is_over = || {
            let blocked = BLOCKED.load(Ordering::SeqCst); // pairs with the store in `on_tell`
            blocked == wanted || WANTED.load(Ordering::SeqCst) != wanted // pairs with the stores above
        };
        let mut times = 0;
        while !is_over() {
            match record::here() {
                // The keeper may wait for the caller to take a signal, or for somebody who waits for its worker.
                Some(here) => {
                    handlers::run_arrived(here, null_mut());
                    // How often one would let others run is chance, and no seed's choice.
                    if choice::is_on() && times < SEEDED_PAUSES {
                        times += 1;
                        raddle_syscall::sleep(handlers::PAUSE);
                    } else {
                        wait::breathe(&mut times);
                    }
                }
                None => raddle_syscall::yield_processor(),
            }
        }
    }
}

fn count(blocked: u64, by: u32) {
    for (signal, blockers) in BLOCKERS.iter().enumerate().skip(1) {
        if blocked & bit(signal as c_int) != 0 {
            blockers.fetch_add(by, Ordering::Relaxed);
        }
    }
}

/// A thread begins that blocks this.
pub(crate) fn begin(record: &ThreadRecord, blocked: u64) {
    record.blocked.store(blocked, Ordering::Relaxed);
    THREADS.fetch_add(1, Ordering::Relaxed);
    count(blocked, 1);
    if BLOCKED.load(Ordering::Relaxed) != 0 {
        tell_keeper();
    }
}

/// A thread ends.
pub(crate) fn end(record: &ThreadRecord) {
    let own = std::ptr::from_ref(record).cast_mut();
    // Its record is another's soon.
    let _not_main = MAIN.compare_exchange(own, null_mut(), Ordering::Relaxed, Ordering::Relaxed);
    THREADS.fetch_sub(1, Ordering::Relaxed);
    count(record.blocked.load(Ordering::Relaxed), u32::MAX);
    if record.blocked.load(Ordering::Relaxed) != 0 || BLOCKED.load(Ordering::Relaxed) != 0 {
        tell_keeper();
    }
}

/// In the OS thread of `main`, before there are workers, which block all from here on. What it blocked.
pub(crate) fn begin_keeping() -> u64 {
    let before = raddle_syscall::blocked_signals();
    // SAFETY: zeroes are a value of this.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_tell as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: a handler that touches nothing but its context; no signal of the program's.
    unsafe { libc::sigaction(TELL, &raw const action, null_mut()) };
    raddle_syscall::block_signals_only(!OF_WORKERS);
    KEEPER.store(raddle_syscall::thread_number(), Ordering::Relaxed);
    BLOCKED.store(before & !(OURS | NEVER | FAULTS), Ordering::Relaxed);
    before
}

/// In the same one, when the workers are there.
pub(crate) fn keep(blocked: u64) {
    raddle_syscall::block_signals_only(blocked & !OURS);
    // What was wanted meanwhile.
    tell_keeper();
}

/// In the same one, if there are no workers: signals are the kernel's affair.
pub(crate) fn keep_nothing(blocked: u64) {
    KEEPER.store(0, Ordering::Relaxed);
    raddle_syscall::block_signals_only(blocked);
}

/// By the thread of `main`.
pub(crate) fn is_main(record: &'static ThreadRecord) {
    MAIN.store(std::ptr::from_ref(record).cast_mut(), Ordering::Relaxed);
}

/// In a forked child: the caller is its only thread, and takes its signals itself.
pub(crate) fn in_child(record: &'static ThreadRecord) {
    KEEPER.store(0, Ordering::Relaxed);
    is_main(record);
    raddle_syscall::block_signals_only(record.blocked.load(Ordering::Relaxed));
}

/// The caller, if its signals are the keeper's affair.
pub(super) fn kept() -> Option<&'static ThreadRecord> {
    record::here().filter(|_| KEEPER.load(Ordering::Relaxed) != 0 && !orphan::is_orphan())
}

/// What a thread that the caller makes blocks.
pub(crate) fn inherited() -> u64 {
    record::here().map_or(0, |here| here.blocked.load(Ordering::Relaxed))
}

pub(crate) fn change(here: &ThreadRecord, blocked: u64) {
    let before = here.blocked.swap(blocked, Ordering::Relaxed);
    if before != blocked {
        count(blocked & !before, 1);
        count(before & !blocked, u32::MAX);
        tell_keeper();
    }
}

/// To the OS thread of this number.
pub(super) fn send(number: c_int, signal: c_int) -> Result<usize, Errno> {
    let process = std::process::id() as usize;
    // SAFETY: no memory is read.
    unsafe { raddle_syscall::call(libc::SYS_tgkill, [process, number as usize, signal as usize]) }
}
