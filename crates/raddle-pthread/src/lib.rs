//! Owns: POSIX threads, as C programs call them: threads, locks, waits.
//! May use: `raddle-explore`, `raddle-recorder`.
//! Never: a call that a Rust program makes.
//!
//! The crate becomes a shared library (`cargo xtask pthreads`), which `raddle exec --pthreads` preloads. Read
//! `docs/PTHREADS.md` for what it does; here read `thread::record` first, then `thread::life`.

// Loom's models (`tests/loom.rs`) write its steps again: the scheduler is not compiled for loom.
#![cfg(all(target_arch = "x86_64", target_os = "linux", not(loom)))]

mod alias;
mod barrier;
mod c11;
mod cond;
mod descriptors;
mod errno;
mod futex;
mod memory;
mod mutex;
mod names;
mod next;
mod once;
mod poll;
mod process;
mod report;
mod rwlock;
mod sem;
mod spin;
mod thread;
mod watched;

// Who chooses by a seed, who looks for hangs and sends ticks, who records: to be linked is enough.
use {raddle_explore as _, raddle_recorder as _};
