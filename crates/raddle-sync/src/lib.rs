//! Owns: what threads and processes share and communicate by: locks, channels, and the channels of CSP.
//! May use: nothing.
//! Never: deciding who runs.
//!
//! | module | what |
//! |---|---|
//! | [`sync`] | locks and their like, with the names of `std::sync`; queue locks |
//! | [`channel`] | channels with the names of `crossbeam-channel` |
//! | `csp` | one-to-one channels, alternation, PAR, barriers; with the feature `scheduler` alone |
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

#![warn(clippy::disallowed_methods)]

pub mod channel;
mod chunks;
#[cfg(feature = "scheduler")]
pub mod csp;
#[cfg_attr(feature = "scheduler", path = "host/scheduler/mod.rs")]
#[cfg_attr(not(feature = "scheduler"), path = "host/threads/mod.rs")]
mod host;
pub mod sync;
