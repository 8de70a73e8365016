//! Owns: `SIGQUIT`, which asks for a dump.
//! May use: `signals`, `watch`, `libc`.
//! Never: a signal that the program handles itself.

use crate::signals::install;
use crate::watch;
use std::ffi::c_void;
use std::sync::Once;

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
