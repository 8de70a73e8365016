//! Owns: which signals are ours, and the signal mask of the helpers' OS threads.
//! May use: `libc`.
//! Never: a thread of the program's; a signal that the program handles itself.

use std::ffi::c_void;

/// The program's signals are for its own threads.
pub(crate) fn block_signals() {
    // SAFETY: a set of bits, for which all zeroes is a value.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: writes the set.
    unsafe { libc::sigfillset(&raw mut all) };
    // SAFETY: reads the set. The C library leaves out what it needs itself.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut()) };
}

/// What the kernel calls.
pub(crate) type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut c_void);

/// The same, of one that may be unwound.
pub(crate) type LeavingHandler = extern "C-unwind" fn(libc::c_int, *mut libc::siginfo_t, *mut c_void);

/// Handles a signal, unless the program does. False if it does.
///
/// One that is ignored is taken: a script that starts a program with `&` leaves it with `SIGQUIT` ignored, and such a
/// program hangs as others do. (Go's runtime does the same.)
pub(crate) fn install(signal: libc::c_int, handler: Handler) -> bool {
    // On the alternate stack, if the thread has one: a process's own may be full.
    install_with(signal, handler as usize, libc::SA_ONSTACK)
}

/// As [`install`], for a handler from which a thread leaves its OS thread: on its own stack, and held back by no mask
/// that would be its worker's then.
pub(crate) fn install_to_leave(signal: libc::c_int, handler: LeavingHandler) -> bool {
    install_with(signal, handler as usize, libc::SA_NODEFER)
}

fn install_with(signal: libc::c_int, handler: usize, flags: libc::c_int) -> bool {
    // SAFETY: all zeroes is a value of this struct.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes the present action there, and changes nothing.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    if asked != 0 || ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction) {
        return false;
    }
    action.sa_sigaction = handler;
    action.sa_flags = libc::SA_RESTART | libc::SA_SIGINFO | flags;
    // SAFETY: the handler does what a handler may.
    unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) == 0 }
}
