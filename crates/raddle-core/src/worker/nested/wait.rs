//! Owns: what a job that waits on its worker's loop is woken by.
//! May use: `worker`, `raddle-protocol`.
//! Never: a queue.

use crate::worker::Worker;
use raddle_protocol::header::{Header, Kind};
use std::cell::Cell;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, Ordering};

/// In the frame of the one who waits.
#[repr(C)]
pub(super) struct NestedWait {
    header: Header,
    worker: *const Worker,
    is_over: AtomicBool,
}

impl NestedWait {
    /// Of one who waits on the OS thread of `worker`, and stays until it is over.
    pub(super) fn at(worker: &Worker) -> NestedWait {
        let header = Header::acting(Kind::Bell, 0, NestedWait::end);
        NestedWait { header, worker, is_over: AtomicBool::new(false) }
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
        // Release pairs with the acquire in `is_over`: what was done before the wake is seen. After it the frame may be
        // gone.
        wait.is_over.store(true, Ordering::Release);
        runtime.idle.wake_for_alarm(index);
    }

    pub(super) fn is_over(&self) -> bool {
        // Acquire pairs with the release in `end`.
        self.is_over.load(Ordering::Acquire)
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
        unsafe { self.0.get().as_ref() }.is_some_and(NestedWait::is_over)
    }
}
