//! Owns: POSIX threads, as C programs call them: threads, locks, waits.
//! May use: nothing.
//! Never: a call that a Rust program makes.
//!
//! The crate becomes a shared library (`cargo xtask pthreads`), which `raddle exec --pthreads` preloads. Read
//! `docs/PTHREADS.md` for what it does; here read `record` first, then `life`.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod alias;
mod barrier;
mod c11;
mod cancel;
mod cleanup;
mod cond;
mod descriptors;
mod errno;
mod futex;
mod life;
mod mutex;
mod names;
mod next;
mod once;
mod poll;
mod process;
mod record;
mod report;
mod rwlock;
mod sem;
mod signals;
mod spin;
mod start;
mod time;
mod wait;
mod watched;
