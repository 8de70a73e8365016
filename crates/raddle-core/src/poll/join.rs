//! Owns: `JoinHandle`, a future of a task's output.
//! May use: nothing.
//! Never: the task itself; the two share only the slot.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::Result;

enum Meeting<T> {
    Nobody,
    Waiting(Waker),
    Output(Result<T>),
    /// The handle has had the output, or is gone.
    Over,
}

/// Where a task's output and the one who waits for it meet.
pub(crate) struct Slot<T>(Mutex<Meeting<T>>);

impl<T> Slot<T> {
    pub(crate) fn new() -> Self {
        Slot(Mutex::new(Meeting::Nobody))
    }

    fn lock(&self) -> MutexGuard<'_, Meeting<T>> {
        // Nothing under the lock can panic: wakers and outputs are cloned and dropped outside.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings the output. Gives it back if nobody will ask for it.
    #[must_use = "an output that nobody wants is dropped by who knows what to do if that panics"]
    pub(crate) fn fill(&self, output: Result<T>) -> Option<Result<T>> {
        let mut meeting = self.lock();
        if matches!(*meeting, Meeting::Over) {
            return Some(output);
        }
        let before = std::mem::replace(&mut *meeting, Meeting::Output(output));
        drop(meeting);
        if let Meeting::Waiting(waker) = before {
            waker.wake();
        }
        None
    }
}

/// A future of a task's output. Dropping it detaches the task, which goes on.
///
/// The output is `Err` with the panic's payload if the task panicked.
pub struct JoinHandle<T> {
    slot: Arc<Slot<T>>,
}

impl<T> JoinHandle<T> {
    pub(crate) fn new(slot: Arc<Slot<T>>) -> Self {
        JoinHandle { slot }
    }

    /// Whether the task has ended.
    pub fn is_finished(&self) -> bool {
        matches!(*self.slot.lock(), Meeting::Output(_) | Meeting::Over)
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T>;

    /// # Panics
    /// If it is polled again after it was ready.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        let waker = context.waker().clone();
        let mut meeting = self.slot.lock();
        let next = match *meeting {
            Meeting::Nobody | Meeting::Waiting(_) => Meeting::Waiting(waker),
            Meeting::Output(_) | Meeting::Over => Meeting::Over,
        };
        let before = std::mem::replace(&mut *meeting, next);
        drop(meeting);
        match before {
            Meeting::Output(output) => Poll::Ready(output),
            Meeting::Over => panic!("a JoinHandle was polled after it was ready"),
            Meeting::Nobody | Meeting::Waiting(_) => Poll::Pending,
        }
    }
}

impl<T> Drop for JoinHandle<T> {
    /// Lets go of the output, or of the waker of who waited: stale wakers may keep the task's memory for long.
    fn drop(&mut self) {
        let before = std::mem::replace(&mut *self.slot.lock(), Meeting::Over);
        drop(before);
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("finished", &self.is_finished()).finish()
    }
}
