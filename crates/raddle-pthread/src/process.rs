//! Owns: what a program does as a whole: its children, signals to threads, memory that it shares.
//! May use: `cancel`, `errno`, `next`, `record`, `report`, `libc`, `raddle-context`, `raddle-core`, `raddle-syscall`.
//! Never: a wait for a child on a worker.

use crate::cancel;
use crate::errno::answer;
use crate::next::next;
use crate::record;
use raddle_context::interpose;
use raddle_core::blocking;
use raddle_core::door::thread::pthread_self;
use std::ffi::{c_int, c_long, c_void};
use std::io::BufRead as _;
use std::sync::atomic::Ordering;

interpose! {
    waitpid => wait_for;
    wait4 => wait_for_and_count;
    waitid => wait_for_one;
    pthread_kill => kill;
}

/// As `waitpid`.
unsafe extern "C-unwind" fn wait_for(child: libc::pid_t, status: *mut c_int, options: c_int) -> libc::pid_t {
    type Wait = unsafe extern "C" fn(libc::pid_t, *mut c_int, c_int) -> libc::pid_t;
    cancel::point();
    let (next, status) = (next!(c"waitpid": Wait), status.expose_provenance());
    // SAFETY: the caller's arguments.
    let call = move || unsafe { next(child, std::ptr::with_exposed_provenance_mut(status), options) };
    if options & libc::WNOHANG != 0 { call() } else { blocking(call) }
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn wait(status: *mut c_int) -> libc::pid_t {
    // SAFETY: the caller's argument.
    unsafe { wait_for(-1, status, 0) }
}

/// As `wait4`.
unsafe extern "C-unwind" fn wait_for_and_count(
    child: libc::pid_t,
    status: *mut c_int,
    options: c_int,
    usage: *mut libc::rusage,
) -> libc::pid_t {
    type Wait = unsafe extern "C" fn(libc::pid_t, *mut c_int, c_int, *mut libc::rusage) -> libc::pid_t;
    cancel::point();
    let next = next!(c"wait4": Wait);
    let (status, usage) = (status.expose_provenance(), usage.expose_provenance());
    let call = move || {
        let place = std::ptr::with_exposed_provenance_mut(status);
        // SAFETY: the caller's arguments.
        unsafe { next(child, place, options, std::ptr::with_exposed_provenance_mut(usage)) }
    };
    if options & libc::WNOHANG != 0 { call() } else { blocking(call) }
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn wait3(
    status: *mut c_int,
    options: c_int,
    usage: *mut libc::rusage,
) -> libc::pid_t {
    // SAFETY: the caller's arguments.
    unsafe { wait_for_and_count(-1, status, options, usage) }
}

/// As `waitid`.
unsafe extern "C-unwind" fn wait_for_one(
    kind: libc::idtype_t,
    id: libc::id_t,
    info: *mut c_void,
    options: c_int,
) -> c_int {
    type Wait = unsafe extern "C" fn(libc::idtype_t, libc::id_t, *mut c_void, c_int) -> c_int;
    cancel::point();
    let (next, info) = (next!(c"waitid": Wait), info.expose_provenance());
    // SAFETY: the caller's arguments.
    let call = move || unsafe { next(kind, id, std::ptr::with_exposed_provenance_mut(info), options) };
    if options & libc::WNOHANG != 0 { call() } else { blocking(call) }
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
    send(thread as usize == pthread_self(), signal)
}

/// To the OS thread that runs the caller, or to the program.
fn send(to_caller: bool, signal: c_int) -> c_int {
    let process = std::process::id() as usize;
    let sent = if to_caller {
        let number = raddle_syscall::thread_number() as usize;
        // SAFETY: no memory is read.
        unsafe { raddle_syscall::call(libc::SYS_tgkill, [process, number, signal as usize]) }
    } else {
        // SAFETY: as above.
        unsafe { raddle_syscall::call(libc::SYS_kill, [process, signal as usize]) }
    };
    sent.map_or_else(|refused| refused.0, |_| 0)
}

/// A signal for the thread of this number, if that is one of ours.
pub(crate) fn signal_by_number(number: c_int, signal: c_int) -> Option<c_long> {
    let here = record::here()?;
    let is_caller = here.number.load(Ordering::Relaxed) == number;
    if !is_caller && number < 1 << 22 {
        return None;
    }
    let error = send(is_caller, signal);
    Some(answer(if error == 0 { Ok(0) } else { Err(raddle_syscall::Errno(error)) }))
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
