//! Owns: POSIX threads, as C programs call them: threads, locks, waits.
//! May use: `raddle-explore`, `raddle-recorder`.
//! Never: a call that a Rust program makes.
//!
//! The crate becomes a shared library (`cargo xtask pthreads`), which `raddle exec --pthreads` preloads. Read
//! `docs/PTHREADS.md` for what it does; here read `thread::record` first, then `thread::life`.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

#[cfg(not(loom))]
mod alias;
#[cfg(not(loom))]
mod barrier;
#[cfg(not(loom))]
mod c11;
#[cfg(not(loom))]
mod cond;
#[cfg(not(loom))]
mod descriptors;
#[cfg(not(loom))]
mod errno;
#[cfg(not(loom))]
mod futex;
#[cfg(all(test, loom))]
mod model;
#[cfg(not(loom))]
mod mutex;
#[cfg(not(loom))]
mod names;
#[cfg(not(loom))]
mod next;
#[cfg(not(loom))]
mod once;
#[cfg(not(loom))]
mod poll;
#[cfg(not(loom))]
mod process;
#[cfg(not(loom))]
mod report;
#[cfg(not(loom))]
mod rwlock;
#[cfg(not(loom))]
mod sem;
#[cfg(not(loom))]
mod spin;
#[cfg(not(loom))]
mod thread;
#[cfg(not(loom))]
mod watched;

// Who chooses by a seed, who looks for hangs and sends ticks, who records: to be linked is enough.
#[cfg(not(loom))]
use {raddle_explore as _, raddle_recorder as _};
