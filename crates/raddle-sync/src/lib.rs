// Owns: what threads and processes share and communicate by: locks, channels, and the channels of CSP.
// May use: nothing.
// Never: deciding who runs.

//! Locks and channels, with the names of `std::sync` and `crossbeam-channel`, for processes of Raddle and OS threads:
//! with a runtime or without any.
//!
//! | module | what |
//! |---|---|
//! | [`sync`] | locks and their like, with the names of `std::sync`; queue locks |
//! | [`channel`] | channels with the names of `crossbeam-channel` |
//! | `csp` | one-to-one channels, alternation, PAR, barriers; with the feature `scheduler` alone |
//! | `task` | a mutex, permits and notifications for futures; with the feature `scheduler` alone |
//!
//! The crate `raddle` exports these modules as they are. A program that only wants a lock or a channel, and no runtime,
//! takes this crate by itself: it starts no OS thread then, and links no scheduler.
//!
//! ```
//! use raddle_sync::channel::bounded;
//! use raddle_sync::sync::Mutex;
//!
//! let (sender, numbers) = bounded(1);
//! let total = Mutex::new(0);
//! std::thread::scope(|scope| {
//!     scope.spawn(|| numbers.iter().for_each(|number| *total.lock().unwrap() += number));
//!     (1..=4).for_each(|number| sender.send(number).unwrap());
//!     drop(sender);
//! });
//! assert_eq!(total.into_inner().unwrap(), 10);
//! ```
//!
//! # The feature `scheduler`
//!
//! What waits, waits in the module `host`, of which there are two:
//!
//! | | without it, as by default | with it |
//! |---|---|---|
//! | who may wait | OS threads | processes, threads of Raddle, and OS threads |
//! | how | an OS thread sleeps on a futex | the worker goes on with something else; an OS thread sleeps |
//! | cancellation, schedules from a seed, reports of hangs | none | for all waits |
//! | is linked | this crate and `raddle-protocol` | the scheduler, too |
//!
//! `raddle` asks for the feature. Cargo builds a crate once for a program, with all features that anybody asks for: so
//! in a program with a runtime the locks of every library wait in the scheduler, also where the library does not know
//! of it.
//!
//! # Loops that never wait
//!
//! A process or thread that repeats operations of which none waits (it polls, it sends without a bound, it locks what
//! is free) keeps its worker for a time slice of 10 ms (`RADDLE_TICK`) and no longer: if others wait then, the next
//! such operation lets them run first. So an operation that never waits may let others run; who holds a lock of the
//! *standard library* then blocks those that wait for it, as in any wait. A task never gives way, nor does what unwinds
//! on shared storage.
//!
//! - [`channel`]: `send`, `recv`, their forms with `try_`, `_timeout` and `_deadline`, iterators, `len`, `is_empty`,
//!   `is_full`, `select!`, [`Select`](channel::Select).
//! - [`mpsc`](sync::mpsc): `send`, `recv`, `try_send`, `try_recv`, `recv_timeout`, iterators.
//! - [`sync`]: each lock, with its `try_` and its form with a deadline; [`Condvar`](sync::Condvar), waits and
//!   notifications; [`Barrier`](sync::Barrier); [`Semaphore`](sync::Semaphore), its questions included; looks at a
//!   [`Once`](sync::Once), [`OnceLock`](sync::OnceLock) or [`LazyLock`](sync::LazyLock) that is not complete.
//! - `csp`: `send`, `recv`, `try_send`, `try_recv`, forms with a deadline, `is_poisoned`, alternations, barriers,
//!   claims.
//! - Elsewhere: `park` with a token, `sleep_until` a time that has passed, `is_finished` of what has not,
//!   `is_cancelled`; `task::sleep` with no time left.
//!
//! These count. Not counted: to read what is complete; what frees or drops (an unlock, a permit, an end of a channel);
//! `spawn` and `unpark`, which are often called with a lock of the standard library held; and atomics, which *are* the
//! standard library's: who spins on one calls `yield_now`.

#![warn(clippy::disallowed_methods)]

pub mod channel;
mod chunks;
#[cfg(feature = "scheduler")]
pub mod csp;
#[cfg_attr(feature = "scheduler", path = "host/scheduler/mod.rs")]
#[cfg_attr(not(feature = "scheduler"), path = "host/threads/mod.rs")]
mod host;
#[cfg(feature = "futures")]
mod streams;
pub mod sync;
#[cfg(feature = "scheduler")]
pub mod task;
