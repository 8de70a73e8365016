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
use crate::worker::lent::lends_to;
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
    let stands_for_none = STANDS_FOR.get().0.is_null();
    if stands_for_none {
        STANDS_FOR.set((shared, 0));
        lends_to(shared);
    }
    stands_for_none
}

/// As [`join_pool`], of the default runtime.
pub fn join_default() -> bool {
    super::default::started().is_some_and(join_pool)
}

/// The pool in which the calling OS thread stands for a worker.
///
/// # Safety
/// It is not used any more when the OS thread does not stand for that worker any more.
pub(super) unsafe fn stood_for<'a>() -> Option<&'a Shared> {
    // SAFETY: null, or a pool that outlives its entry, which is taken back by who has made it.
    unsafe { STANDS_FOR.get().0.as_ref() }
}

/// Calls `f` with the runtime that a call from here belongs to.
///
/// # Panics
/// As `f`; and if it is the default one, which cannot be started.
pub fn with_runtime<T>(f: impl FnOnce(&Shared) -> T) -> T {
    // SAFETY: `f` cannot keep it.
    f(message::started(unsafe { super::here() }))
}

/// Whether the caller runs on a worker of this runtime. The pointer is compared, not followed.
#[inline]
pub fn is_on_worker_of(shared: *const Shared) -> bool {
    Worker::with_current(|worker| std::ptr::eq(worker.shared(), shared)) == Some(true)
}

/// The number of the worker that the caller stands for, runs on, or is away from. `None` on an OS thread that is none,
/// and for an extra worker's.
pub fn number() -> Option<usize> {
    let (shared, index) = place()?;
    // SAFETY: the runtime of what runs here, or which this OS thread stands for: it lives meanwhile.
    let workers = unsafe { &*shared }.workers().len();
    (index < workers).then_some(index)
}

/// The caller's runtime, to be compared, and the number of its worker, if it has one, or stands for one.
pub fn place() -> Option<(*const Shared, usize)> {
    if let Some(place) = Worker::with_current(|worker| (std::ptr::from_ref(worker.shared()), worker.index)) {
        return Some(place);
    }
    // First: who is away may have lent its OS thread, and then the handlers of that worker run here.
    let (shared, index) = STANDS_FOR.get();
    if !shared.is_null() {
        return Some((shared, index));
    }
    // SAFETY: the word is null or the header of what runs here, which is alive.
    let away = unsafe { current_header().as_ref() }.filter(|running| running.is(AWAY))?;
    // SAFETY: only the public half of the worker is used that it came from; its runtime waits for it.
    let worker = unsafe { Worker::of(away) };
    Some((std::ptr::from_ref(worker.shared()), worker.index))
}
