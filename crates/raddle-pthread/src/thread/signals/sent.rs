//! Owns: signals that threads of the program send.
//! May use: `errno`, `thread::handlers`, `thread::record`, `thread::wait`, `libc`, `raddle-context`,
//! `raddle-syscall`.
//! Never: one for the worker of whoever sends it, but for what that has done.

use super::handled::end_wait;
use super::keeper::{MAIN, kept, send};
use super::{FAULTS, SIGNALS, bit};
use crate::errno::answer;
use crate::thread::record::ThreadRecord;
use crate::thread::{handlers, wait};
use raddle_context::interpose;
use raddle_syscall::Errno;
use std::ffi::c_int;
use std::sync::atomic::Ordering;

interpose! {
    raise => raise_here;
    kill => kill_program;
}

/// Whether this signal, sent by the caller to that thread, has a handler and may run it there.
pub(crate) fn is_for(record: &ThreadRecord, signal: c_int) -> bool {
    let is_blocked = || record.blocked.load(Ordering::Relaxed) & bit(signal) != 0;
    let is_signal = (1..SIGNALS as c_int).contains(&signal);
    is_signal && kept().is_some() && !is_blocked() && handlers::is_handled(signal)
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
