//! Owns: who runs, where and when.
//! May use: nothing.
//! Never: arguments, the terminal; files, but for a trace that was asked for.
//!
//! The scheduler of Raddle. Its users are the crate `raddle`, which is the public face, and later the other doors
//! (occam, C, OpenMP). Read `docs/ARCHITECTURE.md` for the map; in this crate read in this order: `header` (the one
//! thing that is queued), `worker` (where it waits and in which order), `worker/pick`, `enter` and `leave` (from one to
//! the next), `worker/boundary`, `worker/search`, `worker/sleep` (from one worker to the next), and the `protocol`s.
//!
//! The protocols through which workers and other threads meet are a crate of their own, `raddle-protocol`.

#![warn(clippy::disallowed_methods)]
#![allow(
    clippy::new_without_default,
    reason = "what `new` makes here is a part of a worker; nobody wants one by default"
)]

#[doc(hidden)]
pub mod block;
pub mod cancel;
#[doc(hidden)]
pub mod describe;
pub mod door;
pub mod engine;
pub mod task;
pub mod trace;
#[doc(hidden)]
pub mod tracer;

#[doc(hidden)]
pub mod blocking;
mod clock;
#[doc(hidden)]
pub mod config;
#[doc(hidden)]
pub mod counters;
mod idle_times;
mod ids;
#[doc(hidden)]
pub mod in_turn;
#[doc(hidden)]
pub mod message;
#[doc(hidden)]
pub mod observe;
#[doc(hidden)]
pub mod orphan;
#[doc(hidden)]
pub mod os_thread;
#[doc(hidden)]
pub mod policy;
#[doc(hidden)]
pub mod poll;
#[doc(hidden)]
pub mod process;
#[doc(hidden)]
pub mod region;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod runtime;
#[doc(hidden)]
pub mod spawn;
#[doc(hidden)]
pub mod stack_search;
#[doc(hidden)]
pub mod stamp;
#[doc(hidden)]
pub mod wait;
#[doc(hidden)]
pub mod worker;

pub use blocking::blocking;
pub use config::{ConfigError, SETTINGS, Setting};
pub use counters::Stats;
pub use idle_times::{DECADE_NAMES, DECADES, IdleDecade};
pub use policy::{Balance, Futures, Policy, Processes, Queues, Victim};
pub use runtime::{BuildError, Builder, Runtime};
#[doc(hidden)]
pub use worker::choice;
pub use worker::load::{Load, READY_LENGTHS, READY_NAMES};
pub use worker::rests::before_sleep;

/// Decisions of the scheduler as values that know no worker, for `raddle lab simulate`: what it simulates is what runs.
#[doc(hidden)]
pub mod decisions {
    pub use crate::policy::{QUANTUM_NS, STEAL_NS};
    pub use crate::worker::looks::{Look, Seen};
}
