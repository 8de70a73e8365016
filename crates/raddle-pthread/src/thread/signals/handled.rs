//! Owns: what the program installs by `sigaction`, what the kernel calls for all of it, and which waits that ends.
//! May use: `errno`, `thread::handlers`, `thread::record`, `thread::wait`, `libc`, `raddle-context`,
//! `raddle-syscall`.
//! Never: the program's handler installed as it is.

use super::keeper::send;
use super::{ACTIONS, Action, FAULTS, MAIN, NEVER, OURS, SIGNALS, TELL, TICK, bit};
use crate::errno::fail;
use crate::next::next;
use crate::thread::record::{self, ThreadRecord};
use crate::thread::{handlers, wait};
use raddle_context::interpose;
use std::ffi::{c_int, c_void};
use std::ptr::without_provenance;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

interpose! {
    sigaction => set_action;
    signal => set_handler;
    bsd_signal => set_handler;
}

type Action3 = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// Every handler of the program's that the kernel calls is called here: at the keeper, which gives it to `main` if that
/// takes it; or in a child.
unsafe extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Action { handler, flags, .. } = &ACTIONS[signal as usize];
    let (handler, flags) = (handler.load(Ordering::Relaxed), flags.load(Ordering::Relaxed));
    let errno = crate::errno::last();
    // SAFETY: storage of threads is never unmapped.
    let main = unsafe { MAIN.load(Ordering::Relaxed).as_ref() };
    let is_elsewhere = record::here().is_none();
    if is_elsewhere && main.is_some_and(|main| undisturbed(|| handlers::offer(main, signal, info))) {
        return fail_with(errno);
    }
    if handler > libc::SIG_IGN {
        // SAFETY: what the program has given as a handler; one with fewer parameters does not look at the others.
        let call = unsafe { std::mem::transmute::<usize, Action3>(handler) };
        // SAFETY: the kernel's arguments.
        unsafe { call(signal, info, context) };
    }
    if let Some(main) = main {
        note(main, flags & libc::SA_RESTART != 0);
        // A thread of ours that has let its own signal through does so when it is back from here.
        if is_elsewhere {
            undisturbed(|| end_wait(main, raddle_syscall::yield_processor));
        }
    }
    fail_with(errno);
}

/// At the keeper, in a handler: no other signal comes in the midst of this, which wakes and so takes locks. The handler
/// of that one would wait for them for ever.
fn undisturbed<T>(call: impl FnOnce() -> T) -> T {
    let masked = raddle_syscall::blocked_signals();
    raddle_syscall::block_signals_only(masked | !FAULTS);
    let result = call();
    raddle_syscall::block_signals_only(masked);
    result
}

/// Puts `errno` back.
fn fail_with(errno: c_int) {
    fail(errno);
}

/// A handler has run for it.
pub(crate) fn note(record: &ThreadRecord, restarts: bool) {
    // pairs with the loads in `wait::sleep_at_point`
    record.signals.fetch_add(1, Ordering::SeqCst);
    if !restarts {
        record.breaks.fetch_add(1, Ordering::SeqCst); // pairs with the same
    }
}

/// The program's handler goes as the first signal comes.
pub(crate) fn reset(signal: c_int) {
    // SAFETY: no memory of the program's.
    unsafe { set_handler(signal, libc::SIG_DFL) };
}

/// Whether the program has any handler.
static HAS_HANDLERS: AtomicBool = AtomicBool::new(false);

/// Whether a handler is this library's: that of dumps, of which the program knows nothing.
fn is_ours(handler: usize) -> bool {
    let file = |address: usize| {
        // SAFETY: zeroes are a value of this.
        let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
        // SAFETY: any address may be asked for, and a place for the answer.
        let is = unsafe { libc::dladdr(without_provenance(address), &raw mut found) } != 0;
        is.then_some(found.dli_fbase)
    };
    file(handler).is_some_and(|base| Some(base) == file(is_ours as *const () as usize))
}

unsafe extern "C" fn set_action(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    type SetSignals = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
    let next = next!(c"sigaction": SetSignals);
    if (1..SIGNALS as c_int).contains(&signal) && bit(signal) & OURS != 0 {
        // As the C library has it with those of its own.
        return fail(libc::EINVAL);
    }
    if !(1..SIGNALS as c_int).contains(&signal) || bit(signal) & (FAULTS | NEVER) != 0 {
        // SAFETY: the caller's arguments.
        return unsafe { next(signal, new, old) };
    }
    let Action { handler, flags, mask } = &ACTIONS[signal as usize];
    let before = (handler.load(Ordering::Relaxed), flags.load(Ordering::Relaxed));
    // SAFETY: the caller's, or null.
    let given = unsafe { new.as_ref() };
    let ours = given.map(|given| {
        let mut ours = *given;
        if given.sa_sigaction > libc::SIG_IGN {
            HAS_HANDLERS.store(true, Ordering::Relaxed);
            handler.store(given.sa_sigaction, Ordering::Relaxed);
            flags.store(given.sa_flags, Ordering::Relaxed);
            let of_kernel = (&raw const given.sa_mask).cast::<u64>();
            // SAFETY: the kernel's set is the first eight bytes.
            mask.store(unsafe { of_kernel.read() } & !NEVER, Ordering::Relaxed);
            ours.sa_sigaction = on_signal as *const () as usize;
            ours.sa_flags = (given.sa_flags | libc::SA_SIGINFO) & !(libc::SA_ONSTACK | libc::SA_NODEFER);
            // What `on_tell` sets would be undone as this handler returns.
            // SAFETY: a set of ours.
            unsafe { libc::sigaddset(&raw mut ours.sa_mask, TELL) };
        } else {
            handler.store(given.sa_sigaction, Ordering::Relaxed);
        }
        ours
    });
    let place = ours.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the caller's arguments, with a handler of ours.
    let answer = unsafe { next(signal, place, old) };
    // SAFETY: the caller's, or null.
    if let Some(old) = unsafe { old.as_mut() }
        && old.sa_sigaction == on_signal as *const () as usize
    {
        (old.sa_sigaction, old.sa_flags) = before;
        // SAFETY: the caller's set, which had it not.
        unsafe { libc::sigdelset(&raw mut old.sa_mask, TELL) };
    }
    // SAFETY: as above.
    if let Some(old) = unsafe { old.as_mut() }
        && old.sa_sigaction > libc::SIG_IGN
        && is_ours(old.sa_sigaction)
    {
        (old.sa_sigaction, old.sa_flags) = (libc::SIG_DFL, 0);
    }
    answer
}

unsafe extern "C" fn set_handler(signal: c_int, handler: usize) -> usize {
    // SAFETY: zeroes are a value of this.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    let mut before = action;
    action.sa_sigaction = handler;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: descriptions of ours, and the caller's handler.
    let refused = unsafe { set_action(signal, &raw const action, &raw mut before) };
    if refused == 0 { before.sa_sigaction } else { libc::SIG_ERR }
}

/// The last real-time signal that is the program's: the others above are ours, as the C library has its own below the
/// first one.
#[unsafe(no_mangle)]
extern "C" fn __libc_current_sigrtmax() -> c_int {
    TICK - 1
}

/// How many wait for a signal, whatever it does. One that is cancelled in its wait stays counted: then a deadlock is
/// not told.
pub(super) static WAIT_FOR_SIGNALS: AtomicU32 = AtomicU32::new(0);

/// Whether a signal may wake somebody, or end the program, for which somebody waits.
pub(crate) fn are_waited_for() -> bool {
    HAS_HANDLERS.load(Ordering::Relaxed) || WAIT_FOR_SIGNALS.load(Ordering::Relaxed) != 0
}

/// Ends what it waits in. `breathe` lets it run, if the caller is a thread of ours.
pub(super) fn end_wait(record: &ThreadRecord, mut breathe: impl FnMut()) {
    loop {
        let address = record.waits_at.load(Ordering::SeqCst); // pairs with the stores there
        if address == 0 || wait::wake(without_provenance::<AtomicU32>(address), u32::MAX) > 0 {
            break;
        }
        breathe();
    }
    end_wait_for_descriptor(record);
}

/// Wakes it once, if it waits for something; true if it does. It may not sleep yet.
pub(crate) fn wake_up(record: &ThreadRecord) -> bool {
    let address = record.waits_at.load(Ordering::SeqCst); // pairs with the stores in `wait`
    if address != 0 {
        wait::wake(without_provenance::<AtomicU32>(address), u32::MAX);
    }
    let waits_for = record.waits_for.load(Ordering::SeqCst); // pairs with the stores in `watched`
    let is_away = end_wait_for_descriptor(record);
    address != 0 || waits_for != 0 || is_away
}

/// Has those who wait for a descriptor look whether their wait is over: said by `watched`, before the first wait.
pub(crate) static LOOK_AGAIN: OnceLock<fn(c_int)> = OnceLock::new();

/// As [`end_wait`], of a wait for a descriptor, or in a call of the kernel's.
/// Whether it was in such a call: perhaps not yet in the kernel, where the signal would have ended that.
pub(crate) fn end_wait_for_descriptor(record: &ThreadRecord) -> bool {
    let descriptor = record.waits_for.load(Ordering::SeqCst); // pairs with the stores in `watched`
    if descriptor != 0 {
        LOOK_AGAIN.get().into_iter().for_each(|look_again| look_again(descriptor - 1));
    }
    let away = record.away.load(Ordering::SeqCst); // pairs with the stores in `call_away`
    if away != 0 {
        // It may have come back.
        let _late = send(away, TELL);
    }
    away != 0
}

/// Ends what another thread waits in, by a thread of ours.
pub(crate) fn interrupt(record: &ThreadRecord) {
    note(record, false);
    let mut times = 0;
    end_wait(record, || wait::breathe(&mut times));
}
