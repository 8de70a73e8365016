//! Owns: `Patience`, what ends the wait of a job on its worker's loop before that is over.
//! May use: `worker`.
//! Never: a queue.

use crate::worker::{Callback, Shared, Worker};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

/// What a deadline, or a cancellation, tells one who waits on its worker's loop. Held by the alarm, too, which another
/// worker may be about to ring when the wait is over.
pub(crate) struct Patience {
    runtime: Arc<Shared>,
    worker: usize,
    has_ended: Arc<AtomicBool>,
}

impl Patience {
    /// Of one who waits on the OS thread of `worker`.
    pub(crate) fn at(worker: &Worker) -> Arc<Patience> {
        let (runtime, worker) = (worker.hold_runtime(), worker.index);
        Arc::new(Patience { runtime, worker, has_ended: Arc::default() })
    }

    fn end(&self) {
        // Relaxed: it tells of nothing but itself; the fence of the wake, and that of who falls asleep, see to it that
        // one of them is seen.
        self.has_ended.store(true, Ordering::Relaxed);
        self.runtime.idle.wake_for_alarm(self.worker);
    }

    /// Whether it has, for who looks.
    pub(super) fn has_ended(&self) -> Arc<AtomicBool> {
        self.has_ended.clone()
    }

    /// What a cancellation calls.
    ///
    /// # Safety
    /// It stays until this has been called, or dropped.
    pub(crate) unsafe fn callback(&self) -> Callback {
        // SAFETY: passed on to the caller; `expire` may be called on any thread.
        unsafe { Callback::new(std::ptr::from_ref(self).cast(), 0, expire) }
    }
}

/// # Safety
/// `patience` points to a [`Patience`] that is there.
unsafe fn expire(patience: *const (), _number: u32) {
    // SAFETY: passed on to the caller.
    unsafe { &*patience.cast::<Patience>() }.end();
}

/// As the waker of an alarm: the deadline has passed.
impl Wake for Patience {
    fn wake(self: Arc<Self>) {
        self.end();
    }
}
