//! Owns: who runs, where and when.
//! May use: `raddle-context` for stacks and the switch.
//! Never: arguments, the terminal; files, but for a trace that was asked for.
//!
//! The scheduler of Raddle. Its users are the crate `raddle`, which is the public face, and later the other doors
//! (occam, C, OpenMP). Read `docs/ARCHITECTURE.md` for the map; in this crate read in this order: `header` (the one
//! thing that is queued), `worker` (where it waits and in which order), `worker/dispatch` (from one to the next),
//! `worker/boundary`, `worker/search`, `worker/sleep` (from one worker to the next), and the `protocol`s.
//!
//! Under `--cfg loom` only the protocols exist, for `tests/loom.rs`.

#![cfg_attr(loom, allow(dead_code, reason = "the models use a part of what the scheduler uses"))]

mod fifo;
mod glance;
mod header;
mod order;
mod prim;
mod protocol;

#[cfg(loom)]
pub mod model;

#[cfg(not(loom))]
mod blocking;
#[cfg(not(loom))]
pub mod cancel;
#[cfg(not(loom))]
mod cell;
#[cfg(not(loom))]
pub mod channel;
#[cfg(not(loom))]
mod clock;
#[cfg(not(loom))]
mod config;
#[cfg(not(loom))]
mod counters;
#[cfg(not(loom))]
pub mod engine;
#[cfg(not(loom))]
pub mod explore;
#[cfg(not(loom))]
mod external;
#[cfg(not(loom))]
mod fork;
#[cfg(not(loom))]
pub mod hang;
#[cfg(not(loom))]
mod idle_times;
#[cfg(not(loom))]
mod ids;
#[cfg(not(loom))]
mod job;
#[cfg(not(loom))]
mod live;
#[cfg(not(loom))]
mod load;
#[cfg(not(loom))]
mod policy;
#[cfg(not(loom))]
mod pool;
#[cfg(not(loom))]
mod process;
#[cfg(not(loom))]
mod report;
#[cfg(not(loom))]
mod runtime;
#[cfg(not(loom))]
mod shared_queue;
#[cfg(not(loom))]
pub mod sync;
#[cfg(not(loom))]
pub mod thread;
#[cfg(not(loom))]
mod timer;
#[cfg(not(loom))]
pub mod trace;
#[cfg(not(loom))]
mod wait;
#[cfg(not(loom))]
mod worker;

#[cfg(not(loom))]
pub use blocking::blocking;
#[cfg(not(loom))]
pub use config::{ConfigError, SETTINGS, Setting};
#[cfg(not(loom))]
pub use counters::Stats;
#[cfg(not(loom))]
pub use idle_times::{DECADE_NAMES, DECADES, IdleDecade};
#[cfg(not(loom))]
pub use job::{
    BroadcastContext, FnContext, Future, Scope, ScopeFifo, broadcast, future, in_place_scope,
    in_place_scope_fifo, join, join_context, par_for, par_for_each, par_map, scope, scope_fifo, spawn,
    spawn_broadcast, spawn_fifo,
};
#[cfg(not(loom))]
pub use load::{Load, READY_LENGTHS, READY_NAMES};
#[cfg(not(loom))]
pub use policy::{Balance, Futures, Policy, Processes, Queues, Victim};
#[cfg(not(loom))]
#[allow(deprecated, reason = "a path swap compiles, with the warning that it had")]
pub use pool::{Configuration, initialize};
#[cfg(not(loom))]
pub use pool::{
    ThreadBuilder, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder, Yield, current_num_threads,
    current_thread_has_pending_tasks, current_thread_index, max_num_threads, yield_local, yield_now,
};
#[cfg(not(loom))]
pub use runtime::{BuildError, Builder, Runtime};

#[cfg(not(loom))]
pub mod csp;

/// Decisions of the scheduler as values that know no worker, for `raddle lab simulate`: what it simulates is what runs.
#[cfg(not(loom))]
#[doc(hidden)]
pub mod decisions {
    pub use crate::policy::{QUANTUM_NS, STEAL_NS};
    pub use crate::worker::looks::{Look, Seen};
}

/// Cells: Rust futures as runnables.
#[cfg(not(loom))]
pub mod task {
    pub use crate::cell::{
        JoinHandle, Sleep, YieldNow, block_on, sleep, sleep_until, spawn, spawn_blocking, yield_now,
    };
}
