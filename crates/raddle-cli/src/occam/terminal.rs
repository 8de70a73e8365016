//! Owns: signals and the terminal's mode while an occam program runs.
//! May use: `libc`.
//! Never: leaves the terminal otherwise than it was found: at the end, in a panic, or when a signal ends the program.
//!
//! An interrupt sets a flag that the host reads some tens of times per second; it then writes the output and ends. A
//! second interrupt, for a program that does not get that far, ends the process in the handler. So does a timer,
//! which begins with the first one, if for two ticks the program has not read the flag and has used 60 ms of
//! processor time, or if a call of the world, such as the output to a pipe that nobody reads, has lasted for two. So
//! it ends within 100 ms whatever it does. Who only gets no processor is waited for, and so is who writes a trace.

use std::io::IsTerminal as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// The signals that end a program.
pub(crate) const ENDING: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// The first signal that came, or 0.
static ASKED: AtomicI32 = AtomicI32::new(0);
/// Whether the host has been told of it.
static ANSWERED: AtomicBool = AtomicBool::new(false);
/// Calls of the world that have begun, and those that have ended.
static CALLS: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];
/// The two at the last tick, and how many ticks there have been.
static SEEN: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];
static TICKS: AtomicU32 = AtomicU32::new(0);
/// The processor time of the process when the signal came, in nanoseconds.
static ASKED_AT: AtomicU64 = AtomicU64::new(0);
/// The timer, and 1; 0 if there is none.
static TIMER: AtomicUsize = AtomicUsize::new(0);
/// Whether the terminal is in our mode.
static RAW: AtomicBool = AtomicBool::new(false);
/// The program was stopped and continued; the shell may have changed the mode meanwhile.
static CONTINUED: AtomicBool = AtomicBool::new(false);
/// The original mode, and ours.
static MODES: OnceLock<(libc::termios, libc::termios)> = OnceLock::new();

/// From one tick to the next, once a signal has come.
const TICK_NS: i64 = 30_000_000;
/// So much processor time a program may use until it reads the flag.
const UNANSWERED_NS: u64 = 60_000_000;

/// Handles signals while it lives; dropping it restores the terminal.
pub(super) struct Terminal;

impl Terminal {
    pub(super) fn watched() -> Terminal {
        for signal in ENDING {
            handle(signal, asked_to_end);
        }
        handle(libc::SIGQUIT, quit);
        handle(libc::SIGCONT, continued);
        set_up_timer();
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
        Terminal
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// The signal that asked for an end, if one did.
pub(super) fn signal() -> Option<i32> {
    if CONTINUED.swap(false, Ordering::Relaxed) && RAW.load(Ordering::Relaxed) {
        set_mode(|(_, raw)| raw);
    }
    let asked = Some(ASKED.load(Ordering::Relaxed)).filter(|&signal| signal != 0);
    if asked.is_some() {
        ANSWERED.store(true, Ordering::Relaxed);
    }
    asked
}

/// Makes a call of the world, which may last.
pub(super) fn called<R>(call: impl FnOnce() -> R) -> R {
    CALLS[0].fetch_add(1, Ordering::Relaxed);
    let result = call();
    CALLS[1].fetch_add(1, Ordering::Relaxed);
    result
}

/// Ends the program as that signal would.
pub(super) fn ask(signal: i32) {
    let _first = ASKED.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
}

/// Makes the terminal deliver each key as it is pressed, without showing it.
pub(super) fn one_key_at_a_time() {
    if RAW.load(Ordering::Relaxed) || !std::io::stdin().is_terminal() {
        return;
    }
    // SAFETY: a structure of numbers, for which all zeroes is a value.
    let mut found: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one such structure.
    if unsafe { libc::tcgetattr(libc::STDIN_FILENO, &raw mut found) } != 0 {
        return;
    }
    let mut raw = found;
    raw.c_lflag &= !(libc::ICANON | libc::ECHO);
    raw.c_cc[libc::VMIN] = 1;
    raw.c_cc[libc::VTIME] = 0;
    MODES.get_or_init(|| (found, raw));
    RAW.store(true, Ordering::Relaxed);
    set_mode(|(_, raw)| raw);
}

/// Also called by handlers of signals: nothing here allocates or locks.
fn restore() {
    if RAW.swap(false, Ordering::Relaxed) {
        set_mode(|(found, _)| found);
    }
}

fn set_mode(which: impl Fn(&'static (libc::termios, libc::termios)) -> &'static libc::termios) {
    let Some(modes) = MODES.get() else { return };
    // SAFETY: a call with a number.
    let foreground = unsafe { libc::tcgetpgrp(libc::STDIN_FILENO) };
    // SAFETY: a call without arguments.
    let ours = unsafe { libc::getpgrp() };
    // In the background the terminal belongs to another process group, and changing its mode would stop us.
    if foreground == ours {
        // SAFETY: the kernel reads one such structure.
        unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, which(modes)) };
    }
}

/// Has a signal call that, which does only what a handler may, unless the signal is ignored.
pub(crate) fn handle(signal: i32, handler: extern "C" fn(i32)) {
    // SAFETY: a structure of numbers, for which all zeroes is a value.
    let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one such structure.
    unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut before) };
    if before.sa_sigaction == libc::SIG_IGN {
        return; // as `nohup` wants it
    }
    // SAFETY: as above.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the handlers do only what a handler may: atomics, and calls of the kernel.
    unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
}

extern "C" fn asked_to_end(signal: i32) {
    if ASKED.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        restore();
        // SAFETY: it ends the program at once.
        unsafe { libc::_exit(128 + signal) }
    }
    ASKED_AT.store(processor_ns(), Ordering::Relaxed);
    start_timer();
}

/// A timer that sends `SIGALRM`, which POSIX lets a handler start. Without it a second interrupt is needed, as above.
fn set_up_timer() {
    if TIMER.load(Ordering::Relaxed) != 0 {
        return;
    }
    // SAFETY: a structure of numbers, for which all zeroes is a value.
    let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
    event.sigev_notify = libc::SIGEV_SIGNAL;
    event.sigev_signo = libc::SIGALRM;
    let mut timer: libc::timer_t = std::ptr::null_mut();
    // SAFETY: the kernel reads the one and writes the other.
    if unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) } == 0 {
        handle(libc::SIGALRM, tick);
        // The kernel numbers timers from 0.
        TIMER.store(timer.addr() + 1, Ordering::Relaxed);
    }
}

fn start_timer() {
    let Some(timer) = TIMER.load(Ordering::Relaxed).checked_sub(1) else { return };
    let every = libc::timespec { tv_sec: 0, tv_nsec: TICK_NS };
    let times = libc::itimerspec { it_interval: every, it_value: every };
    // SAFETY: the timer was created, and is never deleted; the kernel reads the structure.
    unsafe {
        libc::timer_settime(
            std::ptr::without_provenance_mut(timer),
            0,
            &raw const times,
            std::ptr::null_mut(),
        )
    };
}

/// The processor time of the process.
fn processor_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one such structure.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A signal has come: does the program answer?
extern "C" fn tick(_: i32) {
    let now = [0, 1].map(|at| CALLS[at].load(Ordering::Relaxed));
    let before = [0, 1].map(|at| SEEN[at].swap(now[at], Ordering::Relaxed));
    let lasts = now[0] != now[1] && now == before;
    let used = processor_ns().saturating_sub(ASKED_AT.load(Ordering::Relaxed));
    let ignored = !ANSWERED.load(Ordering::Relaxed) && used >= UNANSWERED_NS;
    let is_first = TICKS.fetch_add(1, Ordering::Relaxed) == 0;
    if !is_first && (lasts || ignored) {
        restore();
        // SAFETY: it ends the program at once.
        unsafe { libc::_exit(128 + ASKED.load(Ordering::Relaxed)) }
    }
}

/// The second interrupt: restores the terminal and takes the signal's default action.
extern "C" fn quit(signal: i32) {
    restore();
    // SAFETY: a call with numbers.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
    // SAFETY: as above; it takes effect when this handler returns.
    unsafe { libc::raise(signal) };
}

extern "C" fn continued(_: i32) {
    CONTINUED.store(true, Ordering::Relaxed);
}
