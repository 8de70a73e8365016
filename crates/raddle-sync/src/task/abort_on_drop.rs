//! Owns: `AbortOnDrop`.
//! May use: `raddle-core`.
//! Never: a task that outlives its handle.

use raddle_core::task::{JoinError, JoinHandle};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A handle of a task which aborts it when it is dropped.
///
/// ```
/// use raddle::channel::bounded;
/// use raddle::task::{self, AbortOnDrop};
/// task::block_on(async {
///     let (s, r) = bounded::<()>(0);
///     let waits = task::spawn(async move {
///         let _dropped_with_the_task = s;
///         std::future::pending::<()>().await;
///     });
///     drop(AbortOnDrop::new(waits));
///     assert!(r.recv_async().await.is_err(), "the sender is gone");
/// });
/// ```
#[derive(Debug)]
#[must_use = "the task is aborted when this is dropped"]
pub struct AbortOnDrop<T>(Option<JoinHandle<T>>);

impl<T> AbortOnDrop<T> {
    /// Aborts that task when it is dropped.
    pub fn new(handle: JoinHandle<T>) -> Self {
        AbortOnDrop(Some(handle))
    }

    fn handle(&self) -> &JoinHandle<T> {
        self.0.as_ref().expect("it is taken by what ends this")
    }

    /// As [`JoinHandle::abort`].
    pub fn abort(&self) {
        self.handle().abort();
    }

    /// Whether the task has ended.
    pub fn is_finished(&self) -> bool {
        self.handle().is_finished()
    }

    /// The handle, by whose drop the task is not aborted.
    pub fn detach(mut self) -> JoinHandle<T> {
        self.0.take().expect("it is taken once")
    }
}

impl<T> Future for AbortOnDrop<T> {
    type Output = Result<T, JoinError>;

    /// # Panics
    /// If it is polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let handle = self.0.as_mut().expect("it is taken by what ends this");
        Pin::new(handle).poll(context)
    }
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        if let Some(handle) = &self.0 {
            handle.abort();
        }
    }
}
