//! Owns: in which runtime a caller is, and on which worker.
//! May use: `block::current`, `message`, `worker`, `raddle-protocol`.
//! Never: a worker kept over a wait.
//!
//! An OS thread *stands for* a worker while that worker's start or exit handler runs on it, and for ever if the program
//! has built a pool that it is to be part of. To those who ask it is in that pool then, with that number; it is still
//! no worker: what it calls runs on those.
//!
//! It uses the running header; a thread-local word for OS threads that stand for a worker.

use super::Shared;
use crate::message;
use crate::worker::{Worker, current_header};
use raddle_protocol::header::AWAY;
use std::cell::Cell;
use std::ptr::null;

thread_local! {
    static STANDS_FOR: Cell<(*const Shared, usize)> = const { Cell::new((null(), 0)) };
}

/// Calls `f`, while the calling OS thread stands for a worker.
pub fn stand_for<T>(shared: &Shared, index: usize, f: impl FnOnce() -> T) -> T {
    struct Back((*const Shared, usize));
    impl Drop for Back {
        fn drop(&mut self) {
            STANDS_FOR.set(self.0);
        }
    }
    let _back = Back(STANDS_FOR.replace((shared, index)));
    f()
}

/// The calling OS thread stands for the first worker of this pool from now on. False if it stands for another.
pub fn join_pool(shared: &'static Shared) -> bool {
    let stands_for_none = stood_for().is_none();
    if stands_for_none {
        STANDS_FOR.set((shared, 0));
    }
    stands_for_none
}

/// The pool in which the calling OS thread stands for a worker.
pub fn stood_for<'a>() -> Option<&'a Shared> {
    // SAFETY: null, or a pool that outlives its entry, which is taken back by who has made it.
    unsafe { STANDS_FOR.get().0.as_ref() }
}

/// The runtime that a call from here belongs to.
///
/// # Panics
/// If it is the default one, which cannot be started.
pub fn runtime<'a>() -> &'a Shared {
    message::started(super::here())
}

/// Whether the caller runs on a worker of this runtime. The pointer is compared, not followed.
#[inline]
pub fn is_on_worker_of(shared: *const Shared) -> bool {
    Worker::current().is_some_and(|worker| std::ptr::eq(worker.shared(), shared))
}

/// The caller's runtime and worker, if it has one, or stands for one.
pub fn place<'a>() -> Option<(&'a Shared, usize)> {
    if let Some(worker) = Worker::current() {
        return Some((worker.shared(), worker.index));
    }
    // First: who is away may have lent its OS thread, and then the handlers of that worker run here.
    if let Some(shared) = stood_for() {
        return Some((shared, STANDS_FOR.get().1));
    }
    // SAFETY: the word is null or the header of what runs here, which is alive.
    let away = unsafe { current_header().as_ref() }.filter(|running| running.is(AWAY))?;
    // SAFETY: only the public half of the worker is used that it came from; its runtime waits for it.
    let worker: &'a Worker = unsafe { Worker::of(away) };
    Some((worker.shared(), worker.index))
}
