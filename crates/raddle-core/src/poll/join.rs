//! Owns: `JoinHandle`, a future of a task's output.
//! May use: `worker::choice`.
//! Never: the task itself; the two share only the slot.

use crate::worker::choice::counted_look;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::Result;

enum JoinState<T> {
    Nobody,
    Waiting(Waker),
    Output(Result<T>),
    /// The handle has had the output, or is gone.
    Over,
}

/// Where a task's output and the one who waits for it meet.
pub(crate) struct JoinSlot<T>(Mutex<JoinState<T>>);

impl<T> JoinSlot<T> {
    pub(crate) fn new() -> Self {
        JoinSlot(Mutex::new(JoinState::Nobody))
    }

    fn lock(&self) -> MutexGuard<'_, JoinState<T>> {
        // Nothing under the lock can panic: wakers and outputs are cloned and dropped outside.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings the output. Gives it back if nobody will ask for it.
    #[must_use = "an output that nobody wants is dropped by who knows what to do if that panics"]
    pub(crate) fn fill(&self, output: Result<T>) -> Option<Result<T>> {
        let mut meeting = self.lock();
        if matches!(*meeting, JoinState::Over) {
            return Some(output);
        }
        let before = std::mem::replace(&mut *meeting, JoinState::Output(output));
        drop(meeting);
        if let JoinState::Waiting(waker) = before {
            waker.wake();
        }
        None
    }
}

/// A future of a task's output. Dropping it detaches the task, which goes on.
///
/// The output is `Err` with the panic's payload if the task panicked.
pub struct JoinHandle<T> {
    slot: Arc<JoinSlot<T>>,
}

impl<T> JoinHandle<T> {
    pub(crate) fn new(slot: Arc<JoinSlot<T>>) -> Self {
        JoinHandle { slot }
    }

    /// Whether the task has ended.
    pub fn is_finished(&self) -> bool {
        counted_look("task::JoinHandle::is_finished", || {
            matches!(*self.slot.lock(), JoinState::Output(_) | JoinState::Over)
        })
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
            JoinState::Nobody | JoinState::Waiting(_) => JoinState::Waiting(waker),
            JoinState::Output(_) | JoinState::Over => JoinState::Over,
        };
        let before = std::mem::replace(&mut *meeting, next);
        drop(meeting);
        match before {
            JoinState::Output(output) => Poll::Ready(output),
            JoinState::Over => panic!("a JoinHandle was polled after it was ready"),
            JoinState::Nobody | JoinState::Waiting(_) => Poll::Pending,
        }
    }
}

impl<T> Drop for JoinHandle<T> {
    /// Lets go of the output, or of the waker of who waited: stale wakers may keep the task's memory for long.
    fn drop(&mut self) {
        let before = std::mem::replace(&mut *self.slot.lock(), JoinState::Over);
        drop(before);
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("finished", &self.is_finished()).finish()
    }
}
