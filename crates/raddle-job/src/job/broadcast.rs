//! Owns: `broadcast` and `spawn_broadcast`: one job for each worker.
//! May use: `raddle-core`.
//! Never: a worker left out, or a job taken by another one.

use super::spawn::run;
use raddle_core::process::make::spawn_roomy;
use raddle_core::runtime::Shared;
use raddle_core::runtime::place;
use raddle_core::wait::park;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{Location, resume_unwind};
use std::sync::Arc;

/// What a job of [`broadcast`] is told: on which worker it runs, of how many.
pub struct BroadcastContext<'a> {
    index: usize,
    num_threads: usize,
    /// As in Rayon: it stays with the job that it was given to.
    stays: PhantomData<&'a mut dyn Fn()>,
}

impl BroadcastContext<'_> {
    pub(super) fn new(index: usize, num_threads: usize) -> Self {
        BroadcastContext { index, num_threads, stays: PhantomData }
    }

    /// The number of the worker, counted from 0.
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// How many workers the pool has, and jobs the broadcast.
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.num_threads
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index)
            .field("num_threads", &self.num_threads)
            .finish_non_exhaustive()
    }
}

/// Runs `op` once on each worker of the caller's pool (from an OS thread: of the default one) and returns what it
/// returned there, in the workers' order.
///
/// A worker begins it when it next has nothing to run.
///
/// # Panics
/// When all have ended: as the first of them that panicked. Inside a task, which must not wait. If the default runtime
/// cannot be started.
///
/// ```
/// let squares = raddle::broadcast(|context| context.index() * context.index());
/// assert_eq!(squares.len(), raddle::current_num_threads());
/// assert_eq!(squares[0], 0);
/// ```
#[track_caller]
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    let site = Location::caller();
    place::with_runtime(|runtime| broadcast_in(runtime, site, op))
}

/// As [`broadcast`], in this pool, called at `site` in the program.
pub(crate) fn broadcast_in<OP, R>(pool: &Shared, site: &'static Location<'static>, op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    park::caller("broadcast");
    let (count, op) = (pool.workers().len(), &op);
    let job = |index| move || op(BroadcastContext::new(index, count));
    // SAFETY: what they borrow outlives this call, which waits for the end of each, whatever panics.
    let spawn = |index| unsafe { spawn_roomy(pool, Some(index), site, job(index)) };
    let jobs: Vec<_> = (0..count).map(spawn).collect();
    let results: Vec<_> = jobs.into_iter().map(|job| job.join_at(site)).collect();
    results.into_iter().map(|result| result.unwrap_or_else(|panic| resume_unwind(panic))).collect()
}

/// Starts `op` once on each worker of the caller's pool (from an OS thread: of the default one), and returns at once.
///
/// A panic of `op` goes where that of a spawned job goes.
///
/// # Panics
/// If the default runtime cannot be started.
#[track_caller]
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    let site = Location::caller();
    place::with_runtime(|runtime| spawn_broadcast_in(runtime, site, op));
}

/// As [`spawn_broadcast`], in this pool, called at `site` in the program.
pub(crate) fn spawn_broadcast_in<OP>(pool: &Shared, site: &'static Location<'static>, op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    let (count, op) = (pool.workers().len(), Arc::new(op));
    for index in 0..count {
        let op = op.clone();
        let job = move || run(|| op(BroadcastContext::new(index, count)));
        // SAFETY: the closure is `'static`.
        drop(unsafe { spawn_roomy(pool, Some(index), site, job) });
    }
}
