//! Owns: `RecvFuture` and `RecvStream`.
//! May use: `channel::error`, `channel::receiver`.
//! Never: a message that is taken before it is asked for, and kept.

use super::super::Receiver;
use super::super::error::RecvError;
use super::FutureEnd;
use super::receive::ReceiveWait;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A receiver with its receive. Leaves the channel before the receiver goes.
struct Receiving<'a, T> {
    receiver: FutureEnd<'a, Receiver<T>>,
    wait: ReceiveWait<T>,
}

impl<T> Receiving<'_, T> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<T, RecvError>> {
        self.wait.poll(self.receiver.get(), context)
    }
}

impl<T> Drop for Receiving<'_, T> {
    fn drop(&mut self) {
        self.wait.leave(self.receiver.get());
    }
}

/// A receive that is under way; from [`Receiver::recv_async`].
///
/// Dropped before it was ready, it has received nothing: a message that it was given already goes on to the next who
/// waits, or back into the channel, before all others. (The channel may hold one more than its capacity then. Who has
/// received a later message meanwhile, by another receiver or future, sees the two in the other order; and of several
/// futures that are dropped, the last one's message stands first.)
#[must_use = "a future does nothing until it is awaited"]
pub struct RecvFuture<'a, T> {
    receiving: Receiving<'a, T>,
    pub(crate) is_over: bool,
}

/// The messages of a channel; from [`Receiver::stream`]. Ends when the channel is empty and all senders are gone.
///
/// As with a [`RecvFuture`], nothing is lost when it is dropped.
#[must_use = "a stream does nothing until it is asked for something"]
pub struct RecvStream<'a, T> {
    receiving: Receiving<'a, T>,
    is_over: bool,
}

// Nothing in them is pinned: what others know the address of is an allocation of its own.
impl<T> Unpin for RecvFuture<'_, T> {}
impl<T> Unpin for RecvStream<'_, T> {}

impl<'a, T> RecvFuture<'a, T> {
    pub(super) fn new(receiver: FutureEnd<'a, Receiver<T>>) -> Self {
        RecvFuture { receiving: Receiving { receiver, wait: ReceiveWait::new() }, is_over: false }
    }
}

impl<T> Future for RecvFuture<'_, T> {
    type Output = Result<T, RecvError>;

    /// # Panics
    /// If it is polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(!self.is_over, "a RecvFuture was polled after it was ready");
        let polled = self.receiving.poll(context);
        self.is_over = polled.is_ready();
        polled
    }
}

impl<'a, T> RecvStream<'a, T> {
    pub(super) fn new(receiver: FutureEnd<'a, Receiver<T>>) -> Self {
        RecvStream { receiving: Receiving { receiver, wait: ReceiveWait::new() }, is_over: false }
    }

    /// The next message; `None` when all senders are gone. To drop this future loses nothing.
    pub async fn next(&mut self) -> Option<T> {
        poll_fn(|context| self.poll_message(context)).await
    }

    /// Whether it has ended: there will be no message.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    pub(crate) fn poll_message(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let polled = self.receiving.poll(context).map(Result::ok);
        self.is_over = matches!(polled, Poll::Ready(None));
        polled
    }
}

impl<T> fmt::Debug for RecvFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("RecvFuture { .. }")
    }
}

impl<T> fmt::Debug for RecvStream<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("RecvStream { .. }")
    }
}
