//! Owns: `scope_fifo`, `in_place_scope_fifo` and `spawn_fifo`: jobs that run in the order in which they were spawned.
//! May use: `job::scope`.
//! Never: a job on the stack of the scope's owner, unless that one unwinds and so must not wait.
//!
//! A scope calls the youngest of its jobs first, since that one lies on top of its flow's list. Here the owner calls
//! none: it waits, and so lets go of all of them, the oldest first; its worker starts them in that order, as processes.
//! That costs a process for each job instead of a call. (A mark in the list under the scope's oldest job would let the
//! owner call it; but every promotion would have to step over the marks.)

use super::flow::{Without, in_runtime};
use super::scope::{Order, Scope, in_place, spawn};
use std::fmt;

/// A scope whose jobs run in the order in which they were spawned; see [`scope_fifo`].
#[repr(transparent)]
pub struct ScopeFifo<'scope>(Scope<'scope>);

/// As [`scope`](super::scope()), but of the jobs that a worker has spawned and nobody has taken, the oldest runs first.
///
/// Each of them runs as a light process, which costs more than the call that a job of [`scope`](super::scope()) is.
///
/// # Panics
/// As [`scope`](super::scope()).
///
/// ```
/// let order = std::sync::Mutex::new(Vec::new());
/// raddle_core::scope_fifo(|s| {
///     for n in 0..3 {
///         let order = &order;
///         s.spawn_fifo(move |_| order.lock().unwrap().push(n));
///     }
/// });
/// assert_eq!(order.into_inner().unwrap().len(), 3);
/// ```
pub fn scope_fifo<'scope, Body, R>(body: Body) -> R
where
    Body: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    match Without::of_caller() {
        Without::Thread => in_runtime(|| in_place_scope_fifo(body)),
        _ => in_place_scope_fifo(body),
    }
}

/// As [`scope_fifo`], but `body` runs here on an OS thread, too, and need not be `Send`.
///
/// # Panics
/// As [`scope_fifo`].
pub fn in_place_scope_fifo<'scope, Body, R>(body: Body) -> R
where
    Body: FnOnce(&ScopeFifo<'scope>) -> R,
{
    in_place(Order::OldestFirst, |scope| body(ScopeFifo::of(scope)))
}

impl<'scope> ScopeFifo<'scope> {
    fn of<'a>(scope: &'a Scope<'scope>) -> &'a Self {
        let scope: *const Scope<'scope> = scope;
        // SAFETY: this type is a scope and nothing else (`repr(transparent)`); the borrow is the caller's.
        unsafe { &*scope.cast::<Self>() }
    }

    /// Spawns a job that may borrow what outlives the scope, and may spawn further ones in it.
    ///
    /// # Panics
    /// On an OS thread, if the default runtime cannot be started.
    #[inline]
    pub fn spawn_fifo<Body>(&self, body: Body)
    where
        Body: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        self.0.spawn(move |scope| body(ScopeFifo::of(scope)));
    }
}

/// As [`spawn`](fn@super::spawn); of the jobs that one worker has spawned, the oldest starts first.
///
/// # Panics
/// As [`spawn`](fn@super::spawn).
#[track_caller]
pub fn spawn_fifo<F>(f: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn(f);
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeFifo").finish_non_exhaustive()
    }
}
