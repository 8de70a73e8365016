//! Owns: running a handler of the program's in the thread that its signal is for.
//! May use: `errno`, `libc`, `raddle-core`, `raddle-hang`, `raddle-syscall`.
//! Never: a handler in the midst of the runtime; a signal lost.
//!
//! A signal for the program is `main`'s, if that does not block it; one that a thread sends to another by
//! `pthread_kill`, that one's. The handler has to run there: it looks who it is, waits, or leaves by a jump. So whoever
//! has the signal leaves word, and *kicks* the thread, again and again:
//!
//! - one that waits at a word or for a descriptor wakes, runs the handler at the end of its wait, and waits on or not;
//! - one in a call of the kernel's, on a spare OS thread, is interrupted there;
//! - one that runs is interrupted by a tick, if it is in the program's own code.
//!
//! Some wait where nobody can reach them, or compute in the C library. After [`PATIENCE`] whoever has the signal takes
//! his word back and does what there is to do: the keeper runs the handler itself. Word is left, taken and taken back
//! by exchanges of one word, so that a handler runs once.
//!
//! | word | set by | taken by | taken back by |
//! |---|---|---|---|
//! | [`OFFERED`], one bit a signal | the keeper, with what the kernel told it in [`INFOS`] | `main` | the keeper |
//! | `ThreadRecord::sent`, one bit a signal | `pthread_kill` | its thread | the sender |

use crate::errno::{fail, last};
use crate::thread::cancel;
use crate::thread::record::{self, ThreadRecord};
use crate::thread::signals::{self, ACTIONS, Action, MAIN, SIGNALS, bit};
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// So long the thread that a signal is for may take to begin its handler, and so often it is kicked at least: a host
/// that stands still takes no part of this.
const PATIENCE: Duration = Duration::from_secs(2);
const KICKS: u32 = 1000;
/// So long between two kicks.
pub(super) const PAUSE: Duration = Duration::from_micros(50);

type Action3 = unsafe extern "C-unwind" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// What the keeper has for `main`.
static OFFERED: AtomicU64 = AtomicU64::new(0);

/// What the kernel has told of each: written before its bit is set, by the keeper, which has each signal once at a
/// time.
struct Infos(UnsafeCell<[MaybeUninit<libc::siginfo_t>; SIGNALS]>);

// SAFETY: an entry is its writer's until the bit is set, and then whoever's who clears the bit.
unsafe impl Sync for Infos {}

static INFOS: Infos = Infos(UnsafeCell::new([const { MaybeUninit::uninit() }; SIGNALS]));

fn info_of(signal: c_int) -> *mut libc::siginfo_t {
    let first = INFOS.0.get().cast::<libc::siginfo_t>();
    // SAFETY: signals are below the number of entries.
    unsafe { first.add(signal as usize) }
}

/// Whether a handler of the program's is installed.
pub(crate) fn is_handled(signal: c_int) -> bool {
    ACTIONS[signal as usize].handler.load(Ordering::Relaxed) > libc::SIG_IGN
}

fn is_main(here: &ThreadRecord) -> bool {
    std::ptr::eq(MAIN.load(Ordering::Relaxed), here)
}

/// What may run in this thread now.
fn arrived(here: &ThreadRecord) -> u64 {
    // pairs with the additions in `offer` and `send`
    let sent = here.sent.load(Ordering::SeqCst);
    let offered = if is_main(here) { OFFERED.load(Ordering::SeqCst) } else { 0 }; // pairs with the same
    (sent | offered) & !here.blocked.load(Ordering::Relaxed)
}

/// Whether there is something to [run](run_arrived).
#[inline]
pub(crate) fn has_arrived(here: &ThreadRecord) -> bool {
    (here.sent.load(Ordering::Relaxed) | OFFERED.load(Ordering::Relaxed)) != 0 && arrived(here) != 0
}

/// Calls the handler, as the kernel would have done, in the thread whose record this is.
fn call(here: &ThreadRecord, signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Action { handler, flags, mask } = &ACTIONS[signal as usize];
    let (handler, flags) = (handler.load(Ordering::Relaxed), flags.load(Ordering::Relaxed));
    if handler <= libc::SIG_IGN {
        return;
    }
    if flags & libc::SA_RESETHAND != 0 {
        signals::reset(signal);
    }
    let own = if flags & libc::SA_NODEFER != 0 { 0 } else { bit(signal) };
    let before = here.blocked.load(Ordering::Relaxed);
    signals::change(here, before | own | mask.load(Ordering::Relaxed));
    let errno = last();
    // SAFETY: zeroes are a value of this.
    let mut made: libc::ucontext_t = unsafe { std::mem::zeroed() };
    let context = if context.is_null() {
        // SAFETY: a place for the registers.
        unsafe { libc::getcontext(&raw mut made) };
        (&raw mut made).cast()
    } else {
        context
    };
    // SAFETY: what the program has given as a handler; one with fewer parameters does not look at the others.
    let function = unsafe { std::mem::transmute::<usize, Action3>(handler) };
    // SAFETY: what the kernel would have given to it.
    unsafe { function(signal, info, context) };
    fail(errno);
    signals::change(here, before);
    signals::note(here, flags & libc::SA_RESTART != 0);
}

/// What is told of a signal that a thread of the program sends.
fn told_of(signal: c_int) -> libc::siginfo_t {
    /// The fields that one by `tgkill` has.
    #[repr(C)]
    struct Sent {
        signal: c_int,
        errno: c_int,
        code: c_int,
        pad: c_int,
        process: libc::pid_t,
        user: libc::uid_t,
        rest: [u64; 13],
    }
    const _: () = assert!(size_of::<Sent>() == size_of::<libc::siginfo_t>());
    // SAFETY: no memory is touched.
    let user = unsafe { libc::getuid() };
    let process = std::process::id().cast_signed();
    let sent = Sent { signal, errno: 0, code: libc::SI_TKILL, pad: 0, process, user, rest: [0; 13] };
    // SAFETY: the same bytes, all of which are set.
    unsafe { std::mem::transmute::<Sent, libc::siginfo_t>(sent) }
}

/// Runs a handler in the caller, which has sent the signal to itself.
pub(crate) fn run_here(here: &ThreadRecord, signal: c_int) {
    let mut info = told_of(signal);
    call(here, signal, &raw mut info, std::ptr::null_mut());
}

/// Runs what has arrived for the caller, whose record this is. `context` is where a tick has interrupted it, or null.
pub(crate) fn run_arrived(here: &ThreadRecord, context: *mut c_void) {
    loop {
        let ready = arrived(here);
        if ready == 0 {
            return;
        }
        let signal = ready.trailing_zeros() as c_int + 1;
        // pairs with the addition in `send`
        if here.sent.fetch_and(!bit(signal), Ordering::SeqCst) & bit(signal) != 0 {
            let mut info = told_of(signal);
            call(here, signal, &raw mut info, context);
        } else if is_main(here) {
            // Before the bit goes: then it may be written again.
            // SAFETY: written before the bit was set, and read in vain if that has been taken back meanwhile.
            let mut info = unsafe { info_of(signal).cast::<MaybeUninit<libc::siginfo_t>>().read() };
            // pairs with the addition in `offer`
            if OFFERED.fetch_and(!bit(signal), Ordering::SeqCst) & bit(signal) != 0 {
                call(here, signal, info.as_mut_ptr(), context);
            }
        }
    }
}

/// In the handler of a tick: what has arrived for the thread that is interrupted. A cancellation, too, if it may come
/// anywhere. True if anything was done.
pub(crate) fn at_tick(context: *mut c_void) -> bool {
    let Some(here) = record::here() else { return false };
    cancel::anywhere(here);
    let has = has_arrived(here);
    if has {
        run_arrived(here, context);
    }
    has
}

/// Has the thread look what has arrived for it, wherever it is; whoever kicks does so again.
fn kick(record: &ThreadRecord) {
    if !signals::wake_up(record) {
        raddle_hang::nudge();
    }
}

/// At the keeper, in the handler of the kernel's: gives a signal to `main`. False if that does not take it.
pub(crate) fn offer(main: &ThreadRecord, signal: c_int, info: *const libc::siginfo_t) -> bool {
    if main.blocked.load(Ordering::Relaxed) & bit(signal) != 0 || !is_handled(signal) {
        return false;
    }
    // SAFETY: the kernel's for this call.
    let told = unsafe { info.read() };
    // SAFETY: nobody else offers the same signal, which is blocked here meanwhile.
    unsafe { info_of(signal).write(told) };
    OFFERED.fetch_or(bit(signal), Ordering::SeqCst); // pairs with the loads in `arrived`
    let began = Instant::now();
    let is_there = || OFFERED.load(Ordering::SeqCst) & bit(signal) != 0; // pairs with the exchange in `run_arrived`
    for kicks in 0.. {
        let is_late = kicks >= KICKS && began.elapsed() > PATIENCE;
        let is_blocked = main.blocked.load(Ordering::Relaxed) & bit(signal) != 0;
        if !is_there() || is_blocked || !is_main(main) || is_late {
            break;
        }
        kick(main);
        raddle_syscall::sleep(PAUSE);
    }
    // pairs with the exchange in `run_arrived`
    OFFERED.fetch_and(!bit(signal), Ordering::SeqCst) & bit(signal) == 0
}

/// Kicks a thread while something waits for it, with patience.
pub(crate) fn kick_while(target: &ThreadRecord, is_there: impl Fn() -> bool) {
    let began = Instant::now();
    for kicks in 0.. {
        let is_late = kicks >= KICKS && began.elapsed() > PATIENCE;
        if !is_there() || is_late || target.ended.load(Ordering::Relaxed) != 0 {
            return;
        }
        kick(target);
        raddle_core::door::thread::yield_now();
        let before = Instant::now();
        while is_there() && before.elapsed() < PAUSE {
            std::hint::spin_loop();
        }
    }
}

/// Gives a signal that is handled to another thread, which does not block it. False if that does not take it; one that
/// has ended meanwhile needs none.
pub(crate) fn send(target: &ThreadRecord, signal: c_int) -> bool {
    target.sent.fetch_or(bit(signal), Ordering::SeqCst); // pairs with the loads in `arrived`
    let is_blocked = || target.blocked.load(Ordering::Relaxed) & bit(signal) != 0;
    // pairs with the exchange in `run_arrived`
    kick_while(target, || target.sent.load(Ordering::SeqCst) & bit(signal) != 0 && !is_blocked());
    // pairs with the exchange in `run_arrived`
    let is_taken = target.sent.fetch_and(!bit(signal), Ordering::SeqCst) & bit(signal) == 0;
    is_taken || target.ended.load(Ordering::Relaxed) != 0
}
