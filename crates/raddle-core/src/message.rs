//! Owns: the lines that the scheduler itself writes on standard error, and how it ends when it is wrong.
//! May use: `observe`, `libc`, `raddle-syscall`.
//! Never: being called on a path that is not already a failure, an overflow, or the user's wish (`RADDLE_STATS`).

use crate::observe::Slot;
use raddle_syscall::Errno;
use std::fmt::Display;
use std::io::Write as _;
use std::time::{Duration, Instant};

/// What is to be kept before the program is aborted: what led to it is worth a file, if there is a trace.
pub(crate) static BEFORE_ABORT: Slot<dyn Fn() + Sync> = Slot::new();

/// The crates of this house, as paths of functions begin: a report looks for the program's own behind them.
pub const OWN_CRATES: &[&str] = &[
    "raddle::",
    "raddle_context::",
    "raddle_core::",
    "raddle_explore::",
    "raddle_hang::",
    "raddle_job::",
    "raddle_net::",
    "raddle_protocol::",
    "raddle_pthread::",
    "raddle_recorder::",
    "raddle_stm::",
    "raddle_sync::",
    "raddle_syscall::",
    "raddle_thread::",
];

/// We are wrong, or an invariant cannot be kept: say so and abort.
pub fn fatal(what: &str) -> ! {
    let _unwritable = writeln!(std::io::stderr(), "raddle: fatal: {what}");
    if let Some(before) = BEFORE_ABORT.get() {
        before();
    }
    std::process::abort();
}

/// Why the default runtime could not be started, or what needed it not be done.
pub trait StartError: Display {
    /// Whether a setting is wrong: who runs the program can mend that, and no line of the program is at fault.
    fn is_of_settings(&self) -> bool;
}

/// What needed the default runtime, or a panic that says what kept it from starting. A wrong setting is said as
/// `#[raddle::main]` does: the program ends with code 2.
#[inline(always)]
#[track_caller]
pub fn started<T, E: StartError>(result: Result<T, E>) -> T {
    match result {
        Ok(done) => done,
        Err(error) => not_started(&error),
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn not_started(error: &dyn StartError) -> ! {
    end_if_of_settings(error);
    panic!("the default runtime cannot be started: {error}")
}

/// Ends the program with code 2 if a setting is wrong; for those who panic of what else there may be.
pub fn end_if_of_settings(error: &dyn StartError) {
    if error.is_of_settings() {
        let _unwritable = writeln!(std::io::stderr(), "raddle: {error}");
        std::process::exit(2);
    }
}

/// Something begins that no seed decides.
pub(crate) fn not_by_seed(what: &str) {
    let why = "is outside of what a seed decides: the same seed may go another way the next time";
    let _unwritable = writeln!(std::io::stderr(), "raddle: {what} {why}");
}

/// The counters, as `RADDLE_STATS` asks; a dump; a report.
///
/// Not by the standard library's lock of its standard error: who holds that may be the one who is told to stand.
pub fn say(text: &str) {
    let mut left = text.as_bytes();
    while !left.is_empty() {
        match raddle_syscall::write(libc::STDERR_FILENO, left) {
            Ok(written) if written > 0 => left = &left[written..],
            Err(Errno(libc::EINTR)) => {}
            _unwritable => return,
        }
    }
}

/// A pipe that can be written to at all takes so many bytes at once without a wait.
const AT_ONCE: usize = libc::PIPE_BUF;

/// As [`say`], for one that others rely on: where nobody reads what was written before, it waits for at most
/// `patience`. False if the rest of the text was lost.
///
/// Who writes there at the same time may fill the pipe between the question and the write: then it waits all the same.
pub fn say_within(text: &str, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    let mut left = text.as_bytes();
    while !left.is_empty() {
        let mut files = [libc::pollfd { fd: libc::STDERR_FILENO, events: libc::POLLOUT, revents: 0 }];
        match raddle_syscall::poll(&mut files, Some(until.saturating_duration_since(Instant::now()))) {
            Err(Errno(libc::EINTR)) => continue,
            Ok(0) => return false,
            _ready_or_unknown => {}
        }
        match raddle_syscall::write(libc::STDERR_FILENO, &left[..left.len().min(AT_ONCE)]) {
            Ok(written) if written > 0 => left = &left[written..],
            Err(Errno(libc::EINTR | libc::EAGAIN)) => {}
            _unwritable => return false,
        }
    }
    true
}
