// Owns: the locks that users see, under the names of `std::sync`, and some that `std` has not.
// May use: `host::holder`, `raddle-core`.
// Never: deciding who runs; a wait while a list is locked.

//! Locks, condition variables, barriers and their like, as in `std::sync`, with which a process waits without its core.
//!
//! ```
//! use raddle::csp;
//! use raddle::sync::{Arc, Condvar, Mutex};
//!
//! let open = Arc::new((Mutex::new(false), Condvar::new()));
//! let gate = open.clone();
//! let waits = csp::spawn(move || drop(gate.1.wait_while(gate.0.lock().unwrap(), |open| !*open).unwrap()));
//! *open.0.lock().unwrap() = true;
//! open.1.notify_all();
//! waits.join().unwrap();
//! ```
//!
//! A program moves over by writing `raddle::sync` for `std::sync`: names, bounds, poisoning and output are the same,
//! and what does not wait (`Arc`, the error types) *is* the standard library's, but for [`atomic`], whose accesses an
//! exploration of schedules sees. What waits parks the user-level thread and leaves its worker to others. All of it
//! may be used by processes, by OS threads, by both at once, in a program that never starts a runtime, and in one that
//! has [none](crate#the-feature-scheduler).
//!
//! | what | waits in | who comes next |
//! |---|---|---|
//! | [`Mutex`] | a queue in its word | whoever runs, but at most 1023 pass the one who has waited longest |
//! | [`RwLock`] | a list | whoever runs, until one who was called comes too late; readers together |
//! | [`Condvar`] | a list | `notify_one` wakes who has waited longest |
//! | [`Barrier`], [`mpsc`] | lists, beside a short lock of the OS thread's | - |
//! | [`Once`], [`OnceLock`], [`LazyLock`] | a stack in its word | all at once |
//! | [`Semaphore`] | a list | first come, first served, whatever the number of permits |
//! | [`McsLock`], [`ClhLock`] | near its turn spins, far from it sleeps | in order; in a crowd, by worker |
//! | [`TicketLock`] | spins, then yields | first come, first served |
//! | [`SpinLock`] | spins, then yields | anybody |
//!
//! A loop of operations that never wait [starves nobody](crate#loops-that-never-wait): they, too, may let others run.
//!
//! A **task** (a Rust future that a worker polls) must not wait here: what would wait panics, at the line of the
//! program, and says what to write instead; `try_lock` and its like are always allowed. A semaphore has
//! `acquire_async`; a mutex whose guard is held over an `.await` is in `raddle::task`. A process that **unwinds** from
//! a panic and has to wait in a `drop` blocks its worker meanwhile: if what it waits for is held by another process of
//! the same worker, it waits for ever (see `csp`). A guard belongs to the thread, process or OS thread that made it.

pub mod atomic;
#[cfg(feature = "scheduler")]
mod awaits;
mod barrier;
mod clh;
mod condvar;
mod holders;
mod lazy_lock;
mod mcs;
mod monitor;
pub mod mpsc;
mod mutex;
mod nodes;
mod once;
mod once_lock;
mod queue_site;
mod rwlock;
mod semaphore;
mod sleepers;
mod spin;
mod ticket;
mod timed;
#[cfg(feature = "scheduler")]
mod unguarded;

pub use crate::host::Held;
#[cfg(feature = "scheduler")]
pub use awaits::AcquireFuture;
pub use barrier::{Barrier, BarrierWaitResult};
pub use clh::{ClhGuard, ClhLock};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use lazy_lock::LazyLock;
pub use mcs::{McsGuard, McsLock};
pub use mutex::{Mutex, MutexGuard};
#[allow(deprecated, reason = "who still uses it finds it")]
pub use once::ONCE_INIT;
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use semaphore::{AcquireError, Permit, Semaphore, TryAcquireError};
pub use spin::{SpinGuard, SpinLock};
pub use ticket::{TicketGuard, TicketLock};
#[cfg(feature = "scheduler")]
#[doc(hidden)]
pub use unguarded::Took;

// What does not wait is the standard library's own.
pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak};
