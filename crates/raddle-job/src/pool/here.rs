//! Owns: what a program asks of the pool that it runs in.
//! May use: `raddle-core`.
//! Never: a worker kept over a wait.

use super::Yield;
use raddle_core::runtime::place::{number, place, with_runtime};
use raddle_core::wait::park::{let_jobs_run, may_wait};
use raddle_core::worker::lent::{let_worker_run, worker_has_something};
use raddle_core::worker::{Worker, fresh_begun, has_work};

/// The number of the worker that the caller runs on, counted from 0 in its pool. `None` on an OS thread that is no
/// worker.
///
/// A job of a pool and a light process keep it as long as they live; a process or thread may have another after each
/// wait. Who runs on an extra worker, while one of the pool's stands in a call that blocks it (`docs/HANGS.md`), has
/// none.
///
/// ```
/// assert_eq!(raddle::current_thread_index(), None);
/// assert!(raddle::scope(|_| raddle::current_thread_index()) < Some(raddle::current_num_threads()));
/// ```
#[inline]
pub fn current_thread_index() -> Option<usize> {
    number()
}

/// How many workers the caller's pool has (on an OS thread: the default one, which is started).
///
/// # Panics
/// If the default runtime cannot be started.
pub fn current_num_threads() -> usize {
    with_runtime(|runtime| runtime.workers().len())
}

/// The most workers that a pool can have; asking for more gives this many.
pub fn max_num_threads() -> usize {
    raddle_core::config::WORKERS_MAX
}

/// Whether there is work that only waits for the caller's worker. `None` on an OS thread that is no worker.
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    place()?;
    Some(worker_has_something().unwrap_or_else(has_work))
}

/// Lets the caller's worker begin something else that waits, and comes back. `None` on an OS thread that is no worker.
///
/// In a task, which must not wait, it does nothing.
#[inline]
#[track_caller]
pub fn yield_now() -> Option<Yield> {
    place()?;
    if let Some(begun) = let_worker_run() {
        return Some(if begun { Yield::Executed } else { Yield::Idle });
    }
    let shares = || Worker::with_current(|worker| worker.shared().has_shared(worker.index));
    Some(yield_while(|| has_work() || shares() == Some(true)))
}

/// As [`yield_now`], but only runs work of the caller's own worker.
#[inline]
pub fn yield_local() -> Option<Yield> {
    place()?;
    if let Some(begun) = let_worker_run() {
        return Some(if begun { Yield::Executed } else { Yield::Idle });
    }
    Some(yield_while(has_work))
}

/// What is shared by workers comes into a worker's own queues at its next boundary, which each yield brings nearer.
fn yield_while(is_worth_it: impl Fn() -> bool) -> Yield {
    while may_wait() && is_worth_it() {
        let (is_here, begun) = (has_work(), fresh_begun());
        let_jobs_run();
        let nothing_begun = begun.is_some() && fresh_begun() == begun;
        if is_here && !nothing_begun {
            return Yield::Executed;
        }
    }
    Yield::Idle
}
