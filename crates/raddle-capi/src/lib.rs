//! Owns: `raddle.h`, behind which the Rust face stands: one function each, an error as a code, a handle as an address.
//! May use: nothing.
//! Never: a mechanism of its own; a panic that leaves a function.
//!
//! The crate becomes `libraddle.so` and `libraddle.a` (`cargo xtask install`). For users `docs/C.md` and
//! `include/raddle.h` are written; here read `fault` first (how a call ends), then `handle`.
//!
//! *What differs from the Rust face.* Nothing unwinds: a wait that is cancelled would leave frames of C as an
//! exception, so that each function here catches it and returns `RADDLE_ECANCELED`; what the wait would have used up (a
//! join's handle, a condition variable's lock) the caller keeps. Guards are gone: who holds a lock is
//! looked at in its unlock.
//!
//! *Alternatives.* Handles as numbers in a table, so that a stale one is always told: each lock would cost a look into
//! the table, as much as the lock. Objects in the program's own memory, as POSIX has: no memory to allocate, but their
//! sizes would be a promise. Handles here are addresses, with a tag that says what lies there; those of threads and of
//! forks have no memory of their own at all.

mod back;
mod call;
mod cancel;
mod chan;
mod explore;
mod fault;
mod fork;
mod halo;
mod handle;
mod lock;
mod meet;
mod memory;
mod mpi;
mod net;
mod observe;
mod once;
mod remote;
mod runtime;
mod rwlock;
mod select;
mod spawn;
mod stm;
mod task;
mod time;
