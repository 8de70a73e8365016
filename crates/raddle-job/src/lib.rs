//! Owns: work that may run in parallel and costs a call when it does not: `join`, forks, scopes, loops, pools.
//! May use: nothing.
//! Never: foreign work on the stack of one who waits.
//!
//! The public interface is the crate `raddle`, which exports all this as it is.

#![warn(clippy::disallowed_methods)]

mod job;
mod pool;

pub use job::{
    BroadcastContext, FnContext, Fork, Scope, ScopeFifo, broadcast, fork, in_place_scope,
    in_place_scope_fifo, join, join_context, par_for, par_for_each, par_map, scope, scope_fifo, spawn,
    spawn_broadcast, spawn_fifo,
};
#[allow(deprecated, reason = "programs that use the former names still compile")]
pub use job::{Future, future};
#[allow(deprecated, reason = "a path swap compiles, with the warning that it had")]
pub use pool::{Configuration, initialize};
pub use pool::{
    ThreadBuilder, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder, Yield, current_num_threads,
    current_thread_has_pending_tasks, current_thread_index, max_num_threads, yield_local, yield_now,
};
