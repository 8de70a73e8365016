//! Owns: who runs, where and when.
//! May use: `raddle-context` for stacks and the switch.
//! Never: arguments, the terminal; files, but for a trace that was asked for.
//!
//! The scheduler of Raddle. Its users are the crate `raddle`, which is the public face, and later the other doors
//! (occam, C, OpenMP). Read `docs/ARCHITECTURE.md` for the map; in this crate read in this order: `header` (the one
//! thing that is queued), `worker` (where it waits and in which order), `worker/dispatch` (from one to the next),
//! `worker/boundary`, `worker/search`, `worker/sleep` (from one worker to the next), and the `protocol`s.
//!
//! The protocols through which workers and other threads meet are a crate of their own, `raddle-protocol`.

mod blocking;
pub mod cancel;
mod cell;
pub mod channel;
mod clock;
mod config;
mod counters;
pub mod engine;
pub mod explore;
mod external;
mod fork;
pub mod hang;
mod idle_times;
mod ids;
mod job;
mod live;
mod load;
mod policy;
mod pool;
mod process;
mod report;
mod runtime;
mod shared_queue;
pub mod sync;
pub mod thread;
mod timer;
pub mod trace;
mod wait;
mod worker;

pub use blocking::blocking;
pub use config::{ConfigError, SETTINGS, Setting};
pub use counters::Stats;
pub use idle_times::{DECADE_NAMES, DECADES, IdleDecade};
pub use job::{
    BroadcastContext, FnContext, Future, Scope, ScopeFifo, broadcast, future, in_place_scope,
    in_place_scope_fifo, join, join_context, par_for, par_for_each, par_map, scope, scope_fifo, spawn,
    spawn_broadcast, spawn_fifo,
};
pub use load::{Load, READY_LENGTHS, READY_NAMES};
pub use policy::{Balance, Futures, Policy, Processes, Queues, Victim};
#[allow(deprecated, reason = "a path swap compiles, with the warning that it had")]
pub use pool::{Configuration, initialize};
pub use pool::{
    ThreadBuilder, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder, Yield, current_num_threads,
    current_thread_has_pending_tasks, current_thread_index, max_num_threads, yield_local, yield_now,
};
pub use runtime::{BuildError, Builder, Runtime};

pub mod csp;

/// Decisions of the scheduler as values that know no worker, for `raddle lab simulate`: what it simulates is what runs.
#[doc(hidden)]
pub mod decisions {
    pub use crate::policy::{QUANTUM_NS, STEAL_NS};
    pub use crate::worker::looks::{Look, Seen};
}

/// Cells: Rust futures as runnables.
pub mod task {
    pub use crate::cell::{
        JoinHandle, Sleep, YieldNow, block_on, sleep, sleep_until, spawn, spawn_blocking, yield_now,
    };
}
