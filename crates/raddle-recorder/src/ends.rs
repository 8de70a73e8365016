//! Owns: what asks for files from outside of a runtime: the program's exit, and `SIGUSR2`.
//! May use: `libc`, `raddle-core`.
//! Never: more than an addition in the handler of the signal.
//!
//! It uses the runtimes that have a trace; one handler of the program's exit, one of the signal.

use raddle_core::runtime::Shared;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// How often `SIGUSR2` has come.
static SIGNALS: AtomicUsize = AtomicUsize::new(0);
/// The runtimes that have a trace.
static SESSIONS: Mutex<Sessions> = Mutex::new(Sessions { handlers_are_there: false, traced: Vec::new() });

pub(crate) struct Sessions {
    handlers_are_there: bool,
    traced: Vec<Weak<Shared>>,
}

/// Holds the list. Over a fork, too: so a child never finds it held by a thread that it lacks.
pub(crate) type SessionsGuard = MutexGuard<'static, Sessions>;

/// Locks the list.
pub(crate) fn sessions() -> SessionsGuard {
    SESSIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on this runtime's trace becomes a file at the program's exit, and is asked for by the signal.
pub(crate) fn watch_over(shared: &Arc<Shared>) {
    let mut sessions = sessions();
    if !std::mem::replace(&mut sessions.handlers_are_there, true) {
        register_exit();
        catch_signal();
    }
    sessions.traced.push(Arc::downgrade(shared));
}

/// How often `SIGUSR2` has come until now.
pub(crate) fn signals() -> usize {
    SIGNALS.load(Ordering::Relaxed)
}

/// A program that exits without dropping its runtimes has its files, too.
fn register_exit() {
    extern "C" fn at_exit() {
        let traced = std::mem::take(&mut sessions().traced);
        for shared in traced.iter().filter_map(Weak::upgrade) {
            shared.trace().finish(&shared, false);
            // Whoever holds it last would free workers that still run.
            std::mem::forget(shared);
        }
    }
    // SAFETY: registers a function that lives as long as the program. Full tables leave the file out.
    unsafe { libc::atexit(at_exit) };
}

/// `SIGUSR2` asks for a file, unless the program has another use for it.
fn catch_signal() {
    extern "C" fn note(_signal: libc::c_int) {
        SIGNALS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: all zeroes is a value of this struct.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes the present action there, and changes nothing.
    let asked = unsafe { libc::sigaction(libc::SIGUSR2, std::ptr::null(), &raw mut action) };
    if asked == 0 && action.sa_sigaction == libc::SIG_DFL {
        action.sa_sigaction = note as extern "C" fn(libc::c_int) as usize;
        // On the alternate stack, if the thread has one: a process's own may be full.
        action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        // SAFETY: the handler touches one atomic, which a handler may.
        unsafe { libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut()) };
    }
}
