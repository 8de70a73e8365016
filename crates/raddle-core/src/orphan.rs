//! Owns: how a process that has forked the program finds out that it is alone in the child.
//! May use: `libc`, `raddle-context`.
//! Never: a lock.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many forks lie between the program's start and this process.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Tells a forked child from its parent.
pub fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// The child begins: what is the parent's is known by another number.
pub(crate) fn begin_generation() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// Whether the caller, whose block says that it is a process, has become an OS thread in a forked child.
pub fn is_orphan() -> bool {
    raddle_context::current::get().is_null()
}

/// The function of a process has ended in a forked child: the child ends as a program does whose `main` ends so.
pub fn end_of_orphan(panicked: bool) -> ! {
    /// What Rust's start-up code gives after a panic in `main`.
    const PANICKED: libc::c_int = 101;
    // SAFETY: runs the program's exit handlers, as the return of `main` does.
    unsafe { libc::exit(if panicked { PANICKED } else { 0 }) }
}
