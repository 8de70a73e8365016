//! Owns: the names of rayon's `rayon-core`, version 1.13, for `raddle`.
//! May use: `raddle`.
//! Never: a function of its own.
//!
//! The crate `rayon` - parallel iterators, parallel sorts - and whatever else uses `rayon-core` runs on Raddle's
//! scheduler, unchanged, in a program whose manifest says
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { path = "PATH/TO/raddle/patch/rayon-core" }
//! ```
//!
//! It holds for the whole program, the libraries that it uses included. What differs is what differs for
//! `use raddle as rayon;`: what was taken is a process, so that it may wait, for a channel or a lock of Raddle's,
//! without blocking a thread of the pool; and the settings are Raddle's (`RADDLE_WORKERS`, not `RAYON_NUM_THREADS`),
//! unless the program builds its pools itself.

pub use raddle::{
    BroadcastContext, FnContext, Scope, ScopeFifo, ThreadBuilder, ThreadPool, ThreadPoolBuildError,
    ThreadPoolBuilder, Yield, broadcast, current_num_threads, current_thread_has_pending_tasks,
    current_thread_index, in_place_scope, in_place_scope_fifo, join, join_context, max_num_threads, scope,
    scope_fifo, spawn, spawn_broadcast, spawn_fifo, yield_local, yield_now,
};
#[allow(deprecated, reason = "a path swap compiles, with the warning that it had")]
pub use raddle::{Configuration, initialize};
