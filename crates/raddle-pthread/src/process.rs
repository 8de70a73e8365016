//! Owns: what a program does as a whole: its children, signals to threads, memory that it shares.
//! May use: `errno`, `thread`, `libc`, `raddle-context`, `raddle-core`, `raddle-syscall`.
//! Never: a wait for a child on a worker.

use crate::errno::answer;
use crate::next::next;
use crate::thread::record;
use crate::thread::signals::{self, call_away};
use crate::thread::{cancel, handlers};
use raddle_context::interpose;
use raddle_core::door::thread::pthread_self;
use raddle_syscall::Errno;
use std::ffi::{c_int, c_long};
use std::io::BufRead as _;
use std::sync::atomic::Ordering;

interpose! {
    waitpid => wait_for;
    wait4 => wait_for_and_count;
    waitid => wait_for_one;
    pthread_kill => kill;
    vfork => fork_instead;
    posix_spawn => spawn;
    posix_spawnp => spawn_found;
    popen => open_pipe;
    execve => become_program;
    execv => become_same;
    execvp => become_found;
    execvpe => become_found_in;
    fexecve => become_file;
}

/// Waits for a child, on a spare OS thread if need be.
fn wait_away(options: c_int, call: impl Fn() -> Result<usize, Errno> + Send) -> c_int {
    cancel::point();
    let done = if options & libc::WNOHANG != 0 { call() } else { call_away(true, call) };
    answer(done) as c_int
}

/// As `waitpid`.
unsafe extern "C-unwind" fn wait_for(child: libc::pid_t, status: usize, options: c_int) -> libc::pid_t {
    // SAFETY: the caller's arguments.
    unsafe { wait_for_and_count(child, status, options, 0) }
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn wait(status: usize) -> libc::pid_t {
    // SAFETY: the caller's argument.
    unsafe { wait_for(-1, status, 0) }
}

/// As `wait4`.
unsafe extern "C-unwind" fn wait_for_and_count(
    child: libc::pid_t,
    status: usize,
    options: c_int,
    usage: usize,
) -> libc::pid_t {
    // SAFETY: the caller's arguments.
    let call = move || unsafe {
        raddle_syscall::call(libc::SYS_wait4, [child as usize, status, options as usize, usage])
    };
    wait_away(options, call)
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn wait3(status: usize, options: c_int, usage: usize) -> libc::pid_t {
    // SAFETY: the caller's arguments.
    unsafe { wait_for_and_count(-1, status, options, usage) }
}

/// As `waitid`.
unsafe extern "C-unwind" fn wait_for_one(
    kind: libc::idtype_t,
    id: libc::id_t,
    info: usize,
    options: c_int,
) -> c_int {
    // SAFETY: the caller's arguments.
    let call = move || unsafe {
        raddle_syscall::call(libc::SYS_waitid, [kind as usize, id as usize, info, options as usize, 0])
    };
    wait_away(options, call)
}

/// As `vfork`: a child on the parent's memory would change the record of what its parent blocks.
unsafe extern "C" fn fork_instead() -> libc::pid_t {
    // SAFETY: the caller's affair.
    unsafe { libc::fork() }
}

macro_rules! with_mask {
    ($with:ident: $($ours:ident, $name:literal, ($($argument:ident),+);)+) => {$(
        /// The C library's, with the mask that the caller believes to have: the child, or the next program, has it.
        unsafe extern "C" fn $ours($($argument: usize),+) -> usize {
            type Next = unsafe extern "C" fn($(with_mask!(@usize $argument)),+) -> usize;
            let next = next!($name: Next);
            // SAFETY: the caller's arguments.
            signals::$with(|| unsafe { next($($argument),+) })
        }
    )+};
    (@usize $argument:ident) => { usize };
}

with_mask! {
    with_own_mask:
    spawn, c"posix_spawn", (a, b, c, d, e, f);
    spawn_found, c"posix_spawnp", (a, b, c, d, e, f);
    open_pipe, c"popen", (a, b);
}

with_mask! {
    with_none_of_ours:
    become_program, c"execve", (a, b, c);
    become_same, c"execv", (a, b);
    become_found, c"execvp", (a, b);
    become_found_in, c"execvpe", (a, b, c);
    become_file, c"fexecve", (a, b, c);
}

/// As `pthread_kill`. Signals are the program's: one for another thread goes to any.
unsafe extern "C" fn kill(thread: libc::pthread_t, signal: c_int) -> c_int {
    type Kill = unsafe extern "C" fn(libc::pthread_t, c_int) -> c_int;
    let Some(record) = record::of(thread) else {
        // SAFETY: the caller's arguments.
        return unsafe { next!(c"pthread_kill": Kill)(thread, signal) };
    };
    let has_ended = record.ended.load(Ordering::Relaxed) == 1;
    if !(0..=64).contains(&signal) {
        return libc::EINVAL;
    }
    if signal == 0 || has_ended {
        return 0;
    }
    send(thread as usize == pthread_self(), signal, record)
}

/// To the caller, or to another thread: its handler runs there, or the signal is the program's and the thread's wait is
/// ended.
fn send(to_caller: bool, signal: c_int, record: &record::ThreadRecord) -> c_int {
    let sent = if to_caller {
        signals::send_to_caller(signal)
    } else if signals::is_for(record, signal) && handlers::send(record, signal) {
        Ok(0)
    } else {
        let sent = send_to_program(signal);
        signals::interrupt(record);
        sent
    };
    sent.map_or_else(|refused| refused.0, |_| 0)
}

fn send_to_program(signal: c_int) -> Result<usize, Errno> {
    let process = std::process::id() as usize;
    // SAFETY: no memory is read.
    unsafe { raddle_syscall::call(libc::SYS_kill, [process, signal as usize]) }
}

/// A signal for the thread of this number, if that is one of ours. One for another thread goes to any.
pub(crate) fn signal_by_number(number: c_int, signal: c_int) -> Option<c_long> {
    let here = record::here()?;
    if here.number.load(Ordering::Relaxed) == number {
        return Some(answer(signals::send_to_caller(signal)));
    }
    (number >= 1 << 22).then(|| answer(send_to_program(signal)))
}

/// Whether the memory at an address is shared with other programs.
pub(crate) fn is_shared(address: usize) -> bool {
    let Ok(maps) = std::fs::File::open("/proc/self/maps") else { return false };
    std::io::BufReader::new(maps).lines().map_while(Result::ok).any(|line| {
        let mut words = line.split_whitespace();
        let bounds = words.next().and_then(|bounds| bounds.split_once('-'));
        let number = |text| usize::from_str_radix(text, 16).ok();
        let within = bounds
            .and_then(|(from, to)| number(from).zip(number(to)))
            .is_some_and(|(from, to)| (from..to).contains(&address));
        within && words.next().is_some_and(|rights| rights.ends_with('s'))
    })
}
