//! Owns: which signals are ours, and `SIGQUIT`, which asks for a dump.
//! May use: `watch`, `libc`.
//! Never: a signal that the program handles itself.

use crate::watch;
use std::ffi::c_void;
use std::sync::Once;

/// What the kernel calls.
pub(crate) type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut c_void);

/// Handles a signal, unless the program does. False if it does.
///
/// One that is ignored is taken: a script that starts a program with `&` leaves it with `SIGQUIT` ignored, and such a
/// program hangs as others do. (Go's runtime does the same.)
pub(crate) fn install(signal: libc::c_int, handler: Handler) -> bool {
    // SAFETY: all zeroes is a value of this struct.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes the present action there, and changes nothing.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    if asked != 0 || ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction) {
        return false;
    }
    action.sa_sigaction = handler as usize;
    // On the alternate stack, if the thread has one: a process's own may be full.
    action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK | libc::SA_SIGINFO;
    // SAFETY: the handler does what a handler may.
    unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) == 0 }
}

extern "C" fn quit(_signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel hands over a whole one.
    let info = unsafe { &*info };
    if info.si_code != libc::SI_QUEUE {
        return watch::ask_for_dump(0, 0);
    }
    // SAFETY: it was sent by a process, with a value.
    let process = unsafe { info.si_pid() };
    // SAFETY: as above.
    let value = unsafe { info.si_value() };
    watch::ask_for_dump(process as u32, value.sival_ptr.addr() as u32);
}

/// `SIGQUIT` asks for a dump, unless the program has another use for it.
pub(crate) fn catch() {
    static CAUGHT: Once = Once::new();
    CAUGHT.call_once(|| {
        install(libc::SIGQUIT, quit);
    });
}
