//! Owns: `JoinHandle`, a future of a cell's output.
//! May use: a lock for the moment of meeting.
//! Never: the cell itself; the two share only the slot.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::Result;

enum Meeting<T> {
    Nobody,
    Waiting(Waker),
    Output(Result<T>),
    Taken,
}

/// Where a cell's output and the one who waits for it meet.
pub(super) struct Slot<T>(Mutex<Meeting<T>>);

impl<T> Slot<T> {
    pub(super) fn new() -> Self {
        Slot(Mutex::new(Meeting::Nobody))
    }

    fn lock(&self) -> MutexGuard<'_, Meeting<T>> {
        // Nothing under the lock can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn fill(&self, output: Result<T>) {
        let before = std::mem::replace(&mut *self.lock(), Meeting::Output(output));
        if let Meeting::Waiting(waker) = before {
            waker.wake();
        }
    }
}

/// A future of a cell's output. Dropping it detaches the cell, which goes on.
///
/// The output is `Err` with the panic's payload if the cell panicked.
pub struct JoinHandle<T> {
    slot: Arc<Slot<T>>,
}

impl<T> JoinHandle<T> {
    pub(super) fn new(slot: Arc<Slot<T>>) -> Self {
        JoinHandle { slot }
    }

    /// Whether the cell has ended.
    pub fn is_finished(&self) -> bool {
        matches!(*self.slot.lock(), Meeting::Output(_) | Meeting::Taken)
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T>;

    /// # Panics
    /// If it is polled again after it was ready.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        let mut meeting = self.slot.lock();
        match std::mem::replace(&mut *meeting, Meeting::Taken) {
            Meeting::Output(output) => Poll::Ready(output),
            Meeting::Taken => panic!("a JoinHandle was polled after it was ready"),
            Meeting::Nobody | Meeting::Waiting(_) => {
                *meeting = Meeting::Waiting(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("finished", &self.is_finished()).finish()
    }
}
