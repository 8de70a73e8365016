//! Owns: signals: what each thread blocks, who runs handlers, whose waits they end.
//! May use: `errno`, `libc`, `raddle-context`, `raddle-core`, `raddle-syscall`.
//! Never: a handler of the program's in the middle of the runtime.
//!
//! The kernel knows workers, and a handler that interrupts one may find it with a lock of the runtime's. So workers
//! block all signals but those of faults, and a signal for the program arrives at the OS thread in which it began, the
//! *keeper*, which waits for `main` and holds nothing. It has `main` run the handler (`handlers`), or runs it itself if
//! that cannot be reached; then the wait of `main` ends, as by the kernel it would. What a thread sends to itself is
//! handled there and then.
//!
//! What a thread blocks is a record of ours; the keeper blocks what all threads block. It sets its mask in a handler of
//! ours, by a signal of ours.

use crate::errno::{answer, fail};
use crate::next::next;
use crate::thread::record::{self, ThreadRecord};
use crate::thread::{cancel, handlers, wait};
use raddle_context::interpose;
use raddle_core::{blocking, choice, orphan};
use raddle_syscall::Errno;
use std::ffi::{c_int, c_void};
use std::ptr::{null_mut, without_provenance};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

interpose! {
    sigaction => set_action;
    signal => set_handler;
    bsd_signal => set_handler;
    sigprocmask => set_process_mask;
    pthread_sigmask => set_mask;
    raise => raise_here;
    kill => kill_program;
    sigaltstack => set_stack;
    sigwait => wait_for_signal;
    sigwaitinfo => wait_for_info;
    sigtimedwait => wait_for_info_until;
    pause => pause_until_handled;
    sigsuspend => suspend;
}

pub(super) const SIGNALS: usize = 65;
/// By which the keeper is told of its mask.
const TELL: c_int = 63;
/// Takes a thread off its worker.
pub(crate) const TICK: c_int = 61;
/// Has a worker stand still, for a report.
pub(crate) const STOP: c_int = 62;

pub(super) const fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// What a fault sends to the thread that makes it.
const FAULTS: u64 = bit(libc::SIGSEGV)
    | bit(libc::SIGBUS)
    | bit(libc::SIGFPE)
    | bit(libc::SIGILL)
    | bit(libc::SIGTRAP)
    | bit(libc::SIGSYS)
    | bit(libc::SIGABRT);
/// Which are the runtime's own.
const OURS: u64 = bit(TELL) | bit(TICK) | bit(STOP);
/// What workers do not block.
const OF_WORKERS: u64 = FAULTS | bit(TICK) | bit(STOP);
/// What cannot be blocked.
const NEVER: u64 = bit(libc::SIGKILL) | bit(libc::SIGSTOP);

/// What the program has installed.
pub(super) struct Action {
    pub(super) handler: AtomicUsize,
    pub(super) flags: AtomicI32,
    /// What it blocks while it runs.
    pub(super) mask: AtomicU64,
}

pub(super) static ACTIONS: [Action; SIGNALS] =
    [const { Action { handler: AtomicUsize::new(0), flags: AtomicI32::new(0), mask: AtomicU64::new(0) } };
        SIGNALS];

/// How many threads block each signal, of how many.
static BLOCKERS: [AtomicU32; SIGNALS] = [const { AtomicU32::new(0) }; SIGNALS];
static THREADS: AtomicU32 = AtomicU32::new(0);
/// What the keeper blocks, and is to block; its number.
static BLOCKED: AtomicU64 = AtomicU64::new(0);
static WANTED: AtomicU64 = AtomicU64::new(0);
static KEEPER: AtomicI32 = AtomicI32::new(0);
/// Whose waits a handler ends: `main`.
pub(super) static MAIN: AtomicPtr<ThreadRecord> = AtomicPtr::new(null_mut());

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
pub(super) fn note(record: &ThreadRecord, restarts: bool) {
    // pairs with the loads in `wait::sleep_at_point`
    record.signals.fetch_add(1, Ordering::SeqCst);
    if !restarts {
        record.breaks.fetch_add(1, Ordering::SeqCst); // pairs with the same
    }
}

/// Ends what it waits in. `breathe` lets it run, if the caller is a thread of ours.
fn end_wait(record: &ThreadRecord, mut breathe: impl FnMut()) {
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
pub(super) fn wake_up(record: &ThreadRecord) -> bool {
    let address = record.waits_at.load(Ordering::SeqCst); // pairs with the stores in `wait`
    if address != 0 {
        wait::wake(without_provenance::<AtomicU32>(address), u32::MAX);
    }
    let waits_for = record.waits_for.load(Ordering::SeqCst); // pairs with the stores in `watched`
    let is_away = end_wait_for_descriptor(record);
    address != 0 || waits_for != 0 || is_away
}

/// The program's handler goes as the first signal comes.
pub(super) fn reset(signal: c_int) {
    // SAFETY: no memory of the program's.
    unsafe { set_handler(signal, libc::SIG_DFL) };
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

fn send(number: c_int, signal: c_int) -> Result<usize, Errno> {
    let process = std::process::id() as usize;
    // SAFETY: no memory is read.
    unsafe { raddle_syscall::call(libc::SYS_tgkill, [process, number as usize, signal as usize]) }
}

/// Makes a call of the kernel's that blocks, on a spare OS thread, and that a handler for the caller interrupts; again,
/// if the handler lets it be `begun_again`. A cancellation interrupts it, too, and unwinds the caller.
pub(crate) fn call_away(
    begun_again: bool,
    call: impl Fn() -> Result<usize, Errno> + Send,
) -> Result<usize, Errno> {
    let Some(here) = record::here() else { return call() };
    let breaks = here.breaks.load(Ordering::SeqCst); // pairs with the addition in `note`
    let result = loop {
        let result = call_away_once(begun_again, breaks, &call);
        handlers::run_arrived(here, null_mut());
        // pairs with the addition in `note`
        let is_broken = !begun_again || here.breaks.load(Ordering::SeqCst) != breaks;
        if is_broken || cancel::is_wanted(here) || result != Err(Errno(libc::EINTR)) {
            break result;
        }
    };
    if result == Err(Errno(libc::EINTR)) {
        cancel::point();
    }
    result
}

/// A call that another OS thread makes while its owner waits.
struct Lent<'c, C>(&'c C);

// SAFETY: its owner waits meanwhile, so it is as if it were given there and back.
unsafe impl<C: Send> Send for Lent<'_, C> {}

impl<C: Fn() -> Result<usize, Errno>> Lent<'_, C> {
    fn make(&self) -> Result<usize, Errno> {
        (self.0)()
    }
}

/// Until it is done, or a handler has to run first, or has run.
fn call_away_once<C: Fn() -> Result<usize, Errno> + Send>(
    begun_again: bool,
    breaks: u32,
    call: &C,
) -> Result<usize, Errno> {
    let lent = Lent(call);
    blocking(move || {
        let Some(here) = record::here() else { return lent.make() };
        let masked = raddle_syscall::blocked_signals();
        // pairs with the load in `end_wait_for_descriptor`
        here.away.store(raddle_syscall::thread_number(), Ordering::SeqCst);
        raddle_syscall::block_signals_only(masked & !bit(TELL));
        // Who cancels has set the mark before it looks where the caller is.
        let is_over = cancel::is_wanted(here) || handlers::has_arrived(here);
        let result = loop {
            let result = if is_over { Err(Errno(libc::EINTR)) } else { lent.make() };
            // pairs with the addition in `note`
            let is_broken = !begun_again || here.breaks.load(Ordering::SeqCst) != breaks;
            let is_over = is_broken || cancel::is_wanted(here) || handlers::has_arrived(here);
            if is_over || result != Err(Errno(libc::EINTR)) {
                break result;
            }
        };
        raddle_syscall::block_signals_only(masked);
        here.away.store(0, Ordering::SeqCst); // pairs with the load in `end_wait_for_descriptor`
        result
    })
}

/// Whether the program has any handler.
static HAS_HANDLERS: AtomicBool = AtomicBool::new(false);

/// How many wait for a signal, whatever it does. One that is cancelled in its wait stays counted: then a deadlock is
/// not told.
static WAIT_FOR_SIGNALS: AtomicU32 = AtomicU32::new(0);

/// Whether a signal may wake somebody, or end the program, for which somebody waits.
pub(crate) fn are_waited_for() -> bool {
    HAS_HANDLERS.load(Ordering::Relaxed) || WAIT_FOR_SIGNALS.load(Ordering::Relaxed) != 0
}

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

/// What a thread that the caller makes blocks.
pub(crate) fn inherited() -> u64 {
    record::here().map_or(0, |here| here.blocked.load(Ordering::Relaxed))
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

/// What the caller blocks, for a jump that puts it back.
pub(crate) fn own_mask() -> Option<u64> {
    kept().map(|here| here.blocked.load(Ordering::Relaxed))
}

/// Puts it back.
pub(crate) fn set_own_mask(blocked: u64) {
    kept().into_iter().for_each(|here| change(here, blocked));
}

/// In a forked child: the caller is its only thread, and takes its signals itself.
pub(crate) fn in_child(record: &'static ThreadRecord) {
    KEEPER.store(0, Ordering::Relaxed);
    is_main(record);
    raddle_syscall::block_signals_only(record.blocked.load(Ordering::Relaxed));
}

/// The caller, if its signals are the keeper's affair.
fn kept() -> Option<&'static ThreadRecord> {
    record::here().filter(|_| KEEPER.load(Ordering::Relaxed) != 0 && !orphan::is_orphan())
}

/// Whether this signal, sent by the caller to that thread, has a handler and may run it there.
pub(crate) fn is_for(record: &ThreadRecord, signal: c_int) -> bool {
    let is_blocked = || record.blocked.load(Ordering::Relaxed) & bit(signal) != 0;
    let is_signal = (1..SIGNALS as c_int).contains(&signal);
    is_signal && kept().is_some() && !is_blocked() && handlers::is_handled(signal)
}

/// With the mask that the program believes the caller to have: for what a child inherits.
pub(crate) fn with_own_mask<T>(call: impl FnOnce() -> T) -> T {
    let Some(here) = kept() else { return call() };
    let masked = raddle_syscall::blocked_signals();
    raddle_syscall::block_signals_only(here.blocked.load(Ordering::Relaxed));
    let result = call();
    raddle_syscall::block_signals_only(masked);
    result
}

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

unsafe extern "C" fn set_mask(how: c_int, set: *const u64, old: *mut u64) -> c_int {
    type SetSignals = unsafe extern "C" fn(c_int, *const u64, *mut u64) -> c_int;
    let Some(here) = kept() else {
        // SAFETY: the caller's arguments.
        let answer = unsafe { next!(c"pthread_sigmask": SetSignals)(how, set, old) };
        if let Some(here) = record::here() {
            here.blocked.store(raddle_syscall::blocked_signals(), Ordering::Relaxed);
        }
        return answer;
    };
    let before = here.blocked.load(Ordering::Relaxed);
    // SAFETY: the caller's, or null.
    if let Some(&set) = unsafe { set.as_ref() } {
        let new = match how {
            libc::SIG_BLOCK => before | set,
            libc::SIG_UNBLOCK => before & !set,
            libc::SIG_SETMASK => set,
            _ => return libc::EINVAL,
        };
        change(here, new & !NEVER);
        if how != libc::SIG_BLOCK {
            // A handler of a fault may have been left by a jump, with the mask that the kernel had set for it.
            let masked = raddle_syscall::blocked_signals();
            if masked & OF_WORKERS != 0 {
                raddle_syscall::block_signals_only(masked & !OF_WORKERS);
            }
        }
        handlers::run_arrived(here, null_mut());
    }
    if !old.is_null() {
        // SAFETY: the caller's: 128 bytes, of which the kernel has eight.
        unsafe { old.write(before) };
    }
    0
}

pub(super) fn change(here: &ThreadRecord, blocked: u64) {
    let before = here.blocked.swap(blocked, Ordering::Relaxed);
    if before != blocked {
        count(blocked & !before, 1);
        count(before & !blocked, u32::MAX);
        tell_keeper();
    }
}

unsafe extern "C" fn set_process_mask(how: c_int, set: *const u64, old: *mut u64) -> c_int {
    // SAFETY: the caller's arguments.
    match unsafe { set_mask(how, set, old) } {
        0 => 0,
        error => fail(error),
    }
}

/// As [`set_process_mask`], of sets by their addresses.
///
/// # Safety
/// As `rt_sigprocmask(2)`.
pub(crate) unsafe fn set_mask_by_number(how: c_int, set: usize, old: usize) -> c_int {
    let (set, old) = (std::ptr::with_exposed_provenance(set), std::ptr::with_exposed_provenance_mut(old));
    // SAFETY: the caller's arguments.
    unsafe { set_process_mask(how, set, old) }
}

/// The last real-time signal that is the program's: the others above are ours, as the C library has its own below the
/// first one.
#[unsafe(no_mangle)]
extern "C" fn __libc_current_sigrtmax() -> c_int {
    TICK - 1
}

/// Lets a signal through to the caller, here.
fn send_here(signal: c_int) -> Result<usize, Errno> {
    let masked = raddle_syscall::blocked_signals();
    // It waits while it is blocked, as one with what the kernel may have sent here.
    let sent = send(raddle_syscall::thread_number(), signal);
    raddle_syscall::block_signals_only(masked & !bit(signal));
    raddle_syscall::block_signals_only(masked);
    let main = MAIN.load(Ordering::Relaxed);
    let mut times = 0;
    // SAFETY: storage of threads is never unmapped.
    if let Some(main) = unsafe { main.as_ref() } {
        end_wait(main, || wait::breathe(&mut times));
    }
    sent
}

/// What the kernel has sent to the OS thread of the caller for what that did, unless the caller blocks it.
pub(crate) fn let_through(signal: c_int) {
    if kept().is_some_and(|here| here.blocked.load(Ordering::Relaxed) & bit(signal) == 0) {
        let _sent = send_here(signal);
    }
}

/// To the caller itself, or pending for the program, if it blocks that.
pub(crate) fn send_to_caller(signal: c_int) -> Result<usize, Errno> {
    let is_signal = (1..SIGNALS as c_int).contains(&signal);
    match kept() {
        Some(here) if is_signal && here.blocked.load(Ordering::Relaxed) & bit(signal) == 0 => {
            if bit(signal) & FAULTS == 0 && handlers::is_handled(signal) {
                handlers::run_here(here, signal);
                return Ok(0);
            }
            send_here(signal)
        }
        Some(_) => {
            // SAFETY: no memory is read.
            unsafe { raddle_syscall::call(libc::SYS_kill, [std::process::id() as usize, signal as usize]) }
        }
        None => send(raddle_syscall::thread_number(), signal),
    }
}

unsafe extern "C" fn raise_here(signal: c_int) -> c_int {
    answer(send_to_caller(signal)) as c_int
}

unsafe extern "C" fn kill_program(process: libc::pid_t, signal: c_int) -> c_int {
    let is_main = |here: &ThreadRecord| std::ptr::eq(MAIN.load(Ordering::Relaxed), here);
    if process == std::process::id().cast_signed() && kept().is_some_and(is_main) && signal != 0 {
        return answer(send_to_caller(signal)) as c_int;
    }
    // SAFETY: no memory is read.
    answer(unsafe { raddle_syscall::call(libc::SYS_kill, [process as usize, signal as usize]) }) as c_int
}

thread_local! {
    static STACK: std::cell::Cell<(usize, c_int, usize)> = const { std::cell::Cell::new((0, libc::SS_DISABLE, 0)) };
}

/// A record only: the alternate stack is the worker's.
unsafe extern "C" fn set_stack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    type SetSignals = unsafe extern "C" fn(*const libc::stack_t, *mut libc::stack_t) -> c_int;
    if record::here().is_none() {
        // SAFETY: the caller's arguments.
        return unsafe { next!(c"sigaltstack": SetSignals)(new, old) };
    }
    let (place, flags, bytes) = STACK.get();
    // SAFETY: null, or the caller's.
    if let Some(new) = unsafe { new.as_ref() } {
        if new.ss_flags & !libc::SS_DISABLE != 0 {
            return fail(libc::EINVAL);
        }
        if new.ss_flags == 0 && new.ss_size < libc::MINSIGSTKSZ {
            return fail(libc::ENOMEM);
        }
        STACK.set((new.ss_sp.expose_provenance(), new.ss_flags, new.ss_size));
    }
    if !old.is_null() {
        let ss_sp = std::ptr::with_exposed_provenance_mut(place);
        // SAFETY: the caller's.
        unsafe { old.write(libc::stack_t { ss_sp, ss_flags: flags, ss_size: bytes }) };
    }
    0
}

unsafe extern "C-unwind" fn wait_for_signal(set: usize, signal: *mut c_int) -> c_int {
    type SignalWait = unsafe extern "C" fn(usize, usize) -> c_int;
    cancel::point();
    let (next, place) = (next!(c"sigwait": SignalWait), signal.expose_provenance());
    // SAFETY: the caller's arguments.
    blocking(move || unsafe { next(set, place) })
}

unsafe extern "C-unwind" fn wait_for_info(set: usize, info: usize) -> c_int {
    type SignalWait = unsafe extern "C" fn(usize, usize) -> c_int;
    cancel::point();
    let next = next!(c"sigwaitinfo": SignalWait);
    // SAFETY: the caller's arguments.
    blocking(move || unsafe { next(set, info) })
}

unsafe extern "C-unwind" fn wait_for_info_until(set: usize, info: usize, time: usize) -> c_int {
    type SignalWait = unsafe extern "C" fn(usize, usize, usize) -> c_int;
    cancel::point();
    let next = next!(c"sigtimedwait": SignalWait);
    // SAFETY: the caller's arguments.
    blocking(move || unsafe { next(set, info, time) })
}

unsafe extern "C-unwind" fn pause_until_handled() -> c_int {
    type Pause = unsafe extern "C" fn() -> c_int;
    if kept().is_none() {
        // SAFETY: no preconditions.
        return unsafe { next!(c"pause": Pause)() };
    }
    WAIT_FOR_SIGNALS.fetch_add(1, Ordering::Relaxed);
    crate::thread::time::sleep_until_signal(wait::Handlers::All);
    WAIT_FOR_SIGNALS.fetch_sub(1, Ordering::Relaxed);
    fail(libc::EINTR)
}

unsafe extern "C-unwind" fn suspend(set: *const u64) -> c_int {
    type Suspend = unsafe extern "C" fn(*const u64) -> c_int;
    let Some(here) = kept() else {
        // SAFETY: the caller's argument.
        return unsafe { next!(c"sigsuspend": Suspend)(set) };
    };
    let before = here.blocked.load(Ordering::Relaxed);
    let seen = here.signals.load(Ordering::SeqCst); // pairs with the addition in `note`
    // SAFETY: the caller's.
    change(here, unsafe { set.read() } & !NEVER);
    // One that was pending is handled as the mask changes, before or behind any of the next steps.
    WAIT_FOR_SIGNALS.fetch_add(1, Ordering::Relaxed);
    crate::thread::time::sleep_until_signal(wait::Handlers::Since(seen));
    WAIT_FOR_SIGNALS.fetch_sub(1, Ordering::Relaxed);
    change(here, before);
    fail(libc::EINTR)
}
