//! Owns: what a job that waits on its worker's loop is woken by.
//! May use: `worker`, `raddle-protocol`.
//! Never: a queue.

use crate::worker::Worker;
use raddle_protocol::header::{Header, Kind};
use std::cell::Cell;
use std::ptr::null;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// In the frame of the one who waits.
#[repr(C)]
pub(super) struct NestedWait {
    header: Header,
    worker: *const Worker,
    is_over: AtomicBool,
    /// Of one who may give up: whether it is time to. See [`Patience`](super::Patience).
    patience: Option<Arc<AtomicBool>>,
}

impl NestedWait {
    /// Of one who waits on the OS thread of `worker`, and stays until it is over.
    pub(super) fn at(worker: &Worker) -> NestedWait {
        let header = Header::acting(Kind::Bell, 0, NestedWait::end);
        NestedWait { header, worker, is_over: AtomicBool::new(false), patience: None }
    }

    /// As [`at`](Self::at), of one who stays until it is over or, after the end of its patience, until it has seen to
    /// it that nobody wakes it.
    pub(super) fn patiently(worker: &Worker, patience: Arc<AtomicBool>) -> NestedWait {
        NestedWait { patience: Some(patience), ..NestedWait::at(worker) }
    }

    /// What is woken.
    pub(super) fn header(&self) -> *mut Header {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// # Safety
    /// `header` begins one whose owner has not seen that it is over, and this is its one wake.
    unsafe fn end(header: *mut Header) {
        // SAFETY: its owner stays until it is over.
        let wait = unsafe { &*header.cast::<NestedWait>() };
        // SAFETY: the worker lives as long as the one who waits there.
        let worker = unsafe { &*wait.worker };
        // When that goes on it may end, and its runtime with it.
        let (runtime, index) = (worker.hold_runtime(), worker.index);
        // Only jobs of a runtime whose jobs hold their OS threads wait so, and such a runtime has no extra workers
        // (`runtime::builder`): the worker is one of the idle set.
        debug_assert!(index < runtime.workers().len(), "a job holds the OS thread of an extra worker");
        // Release pairs with the acquire in `is_over`: what was done before the wake is seen. After it the frame may be
        // gone.
        wait.is_over.store(true, Ordering::Release);
        runtime.idle.wake_for_alarm(index);
    }

    pub(super) fn is_over(&self) -> bool {
        // Acquire pairs with the release in `end`.
        self.is_over.load(Ordering::Acquire)
    }

    /// Whether the one who waits goes on: it is over, or its patience is.
    pub(super) fn goes_on(&self) -> bool {
        // Relaxed: as in `Patience::end`.
        self.is_over() || self.patience.as_ref().is_some_and(|ended| ended.load(Ordering::Relaxed))
    }
}

/// The innermost of the waits that a worker's loop is nested in; null where it runs on the worker's own stack.
pub(in crate::worker) struct Innermost(Cell<*const NestedWait>);

impl Innermost {
    pub(in crate::worker) const fn none() -> Innermost {
        Innermost(Cell::new(null()))
    }

    /// Another one is the innermost: null, or in the frame of one who stays until it has set the last one again, which
    /// this returns.
    pub(super) fn set(&self, wait: *const NestedWait) -> *const NestedWait {
        self.0.replace(wait)
    }

    /// Whether the loop is to go back to the one who waits.
    pub(in crate::worker) fn is_over(&self) -> bool {
        // SAFETY: null, or in the frame of one who stays until it has set this back.
        unsafe { self.0.get().as_ref() }.is_some_and(NestedWait::goes_on)
    }
}
