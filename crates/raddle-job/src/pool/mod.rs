//! Owns: `ThreadPool`: a runtime with the names of rayon-core's pool.
//! May use: `job`, `raddle-core`.
//! Never: a mechanism of its own; a pool is a runtime whose jobs have roomy stacks.
//!
//! The behaviour is that of rayon-core's types and functions of these names. What differs: what is installed or spawned
//! runs as a process with thread-local storage of its own, which may wait by Raddle's means without blocking its
//! worker, and goes on there afterwards; only where the program prepares the pool's OS threads, by handlers, names or a
//! way to start them, a job sees their storage and holds its thread while it waits, as in Rayon. And an OS thread that
//! is to be part of a pool lends it its name and number, while one of the pool's own does its work.
//!
//! | file | what |
//! |---|---|
//! | `builder` | settings, and the way to a pool |
//! | `error` | why there is none |
//! | `launch` | how its OS threads are made |
//! | `here` | where a caller stands |
//! | `old` | names that Rayon has deprecated |

mod builder;
mod error;
pub(crate) mod here;
mod launch;
mod old;

pub use builder::ThreadPoolBuilder;
pub use error::ThreadPoolBuildError;
pub use here::{
    current_num_threads, current_thread_has_pending_tasks, current_thread_index, max_num_threads,
    yield_local, yield_now,
};
pub use launch::ThreadBuilder;
#[allow(deprecated, reason = "a path swap compiles, with the warning that it had")]
pub use old::{Configuration, initialize};

use crate::job::{self, BroadcastContext, Scope, ScopeFifo};
use raddle_core::process::make::run_in;
use raddle_core::runtime::Shared;
use raddle_core::wait::park;
use raddle_core::worker::jobs::Order;
use std::fmt;
use std::panic::Location;
use std::ptr::null;
use std::sync::Arc;

/// What [`yield_now`] has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// Something else has been begun, or gone on.
    Executed,
    /// There was nothing.
    Idle,
}

/// A set of workers to run jobs on, beside the default one: `rayon-core`'s names for a `Runtime`.
///
/// Dropping it waits for nothing: what has been spawned runs to its end, and then the workers end.
///
/// ```
/// let pool = raddle::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let sum = pool.install(|| {
///     assert_eq!(raddle::current_num_threads(), 2);
///     let (a, b) = raddle::join(|| 1 + 2, || 3 + 4);
///     a + b
/// });
/// assert_eq!(sum, 10);
/// # Ok::<(), raddle::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPool {
    shared: Arc<Shared>,
}

impl ThreadPool {
    /// Runs `op` in the pool and returns its value; on a worker of this pool: here. `op` may borrow.
    ///
    /// # Panics
    /// As `op`; and inside a task of another runtime, which must not wait.
    #[track_caller]
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        if self.is_here() {
            return op();
        }
        park::caller("ThreadPool::install");
        assert!(self.shared.is_here(), "a forked child has no workers of its parent's pool");
        run_in(&self.shared, op)
    }

    /// As `join`, in this pool.
    ///
    /// # Panics
    /// As `join`.
    #[track_caller]
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        let site = Location::caller();
        self.install(|| job::join_at(site, oper_a, oper_b))
    }

    /// As `scope`, in this pool.
    ///
    /// # Panics
    /// As `scope`.
    #[track_caller]
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        let site = Location::caller();
        self.install(|| job::scope_at(site, op))
    }

    /// As `scope_fifo`, in this pool.
    ///
    /// # Panics
    /// As `scope_fifo`.
    #[track_caller]
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        let site = Location::caller();
        self.install(|| job::fifo_at(site, op))
    }

    /// As `in_place_scope`: `op` runs here, its jobs in this pool.
    ///
    /// # Panics
    /// As `in_place_scope`.
    #[track_caller]
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        job::scope_here(self.elsewhere(), op, Location::caller())
    }

    /// As `in_place_scope_fifo`: `op` runs here, its jobs in this pool.
    ///
    /// # Panics
    /// As `in_place_scope_fifo`.
    #[track_caller]
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        job::fifo_here(self.elsewhere(), op, Location::caller())
    }

    /// As `spawn`, in this pool.
    #[track_caller]
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        job::submit(&self.shared, Order::YoungestFirst, Location::caller(), op);
    }

    /// As `spawn_fifo`, in this pool.
    #[track_caller]
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        job::submit(&self.shared, Order::OldestFirst, Location::caller(), op);
    }

    /// As `broadcast`, in this pool.
    ///
    /// # Panics
    /// As `broadcast`.
    ///
    /// ```
    /// let pool = raddle::ThreadPoolBuilder::new().num_threads(3).build()?;
    /// assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2]);
    /// # Ok::<(), raddle::ThreadPoolBuildError>(())
    /// ```
    #[track_caller]
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        job::broadcast_in(&self.shared, Location::caller(), op)
    }

    /// As `spawn_broadcast`, in this pool.
    #[track_caller]
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        job::spawn_broadcast_in(&self.shared, Location::caller(), op);
    }

    /// How many workers the pool has.
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.shared.workers().len()
    }

    /// The number of the worker of this pool that the caller runs on; `None` elsewhere.
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        raddle_core::runtime::place::place()
            .filter(|(shared, _)| std::ptr::eq(*shared, Arc::as_ptr(&self.shared)))
            .map(|(_, index)| index)
    }

    /// As [`current_thread_has_pending_tasks`], for a worker of this pool; `None` elsewhere.
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.current_thread_index().and_then(|_| current_thread_has_pending_tasks())
    }

    /// As [`yield_now`], on a worker of this pool; `None` elsewhere.
    #[track_caller]
    pub fn yield_now(&self) -> Option<Yield> {
        self.current_thread_index().and_then(|_| yield_now())
    }

    /// As [`yield_local`], on a worker of this pool; `None` elsewhere.
    pub fn yield_local(&self) -> Option<Yield> {
        self.current_thread_index().and_then(|_| yield_local())
    }

    fn is_here(&self) -> bool {
        self.current_thread_index().is_some()
    }

    /// The pool, for a caller who is not in it; null for one who is.
    fn elsewhere(&self) -> *const Shared {
        if self.is_here() { null() } else { Arc::as_ptr(&self.shared) }
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        if self.shared.is_here() {
            self.shared.close_alone();
        } else {
            // A forked child has the pool's memory and none of its OS threads.
            std::mem::forget(self.shared.clone());
        }
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool").field("num_threads", &self.current_num_threads()).finish_non_exhaustive()
    }
}
