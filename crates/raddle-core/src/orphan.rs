//! Owns: how a process that has forked the program finds out that it is alone in the child.
//! May use: `message`, `libc`, `raddle-context`.
//! Never: a lock; a fork taken for granted because nothing of ours runs here.

use crate::message;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many forks lie between the program's start and this process.
static GENERATION: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// This OS thread was a runnable of the parent's, which has forked, and is none in the child.
    static WAS_RUNNABLE: Cell<bool> = const { Cell::new(false) };
}

/// Tells a forked child from its parent.
pub fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// The child begins: what is the parent's is known by another number. `was_runnable` says that something of ours has
/// forked, and not an OS thread of the program.
pub(crate) fn begin_generation(was_runnable: bool) {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    if was_runnable {
        WAS_RUNNABLE.set(true);
    }
}

/// Whether the caller, whose block says that it is a process, has become an OS thread in a forked child.
#[inline(always)]
pub fn is_orphan() -> bool {
    raddle_context::current::get().is_null() && has_forked()
}

/// Nothing of ours runs here, says the caller's OS thread: that is so in a forked child, and never else.
#[cold]
#[inline(never)]
fn has_forked() -> bool {
    if !WAS_RUNNABLE.get() {
        message::fatal(
            "the word that says what runs on an OS thread has been lost while something ran there",
        );
    }
    true
}

/// The function of a process has ended in a forked child: the child ends as a program does whose `main` ends so.
pub fn end_of_orphan(panicked: bool) -> ! {
    /// What Rust's start-up code gives after a panic in `main`.
    const PANICKED: libc::c_int = 101;
    // SAFETY: runs the program's exit handlers, as the return of `main` does.
    unsafe { libc::exit(if panicked { PANICKED } else { 0 }) }
}
