//! Owns: `SendFuture`, a send that waits by a waker.
//! May use: `channel::chan`, `channel::core`, `channel::error`, `channel::list`, `channel::sender`, `host`,
//! `raddle-core`.
//! Never: a message lost, or sent and given back.

use super::super::core::{Sent, Side, Wakes};
use super::super::error::SendError;
use super::super::list::{Left, Sleeper};
use super::super::{Sender, chan::Chan};
use super::{FutureEnd, Seat, look_or_wait};
use crate::host::Awaiting;
use crate::host::choice::{count_in_task, point};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A send that is under way; from [`Sender::send_async`].
///
/// Dropped before it was ready, it has sent its message or not. If a receiver, or a place in the channel, has had the
/// message meanwhile, it is sent, and nothing takes it back; else it is dropped with the future.
/// [`withdraw`](Self::withdraw) says which, and returns the message.
#[must_use = "a future does nothing until it is awaited"]
pub struct SendFuture<'a, T> {
    sender: FutureEnd<'a, Sender<T>>,
    state: SendState<T>,
}

enum SendState<T> {
    /// Has not been polled.
    New(T),
    /// Stands in the queue, with the message.
    Queued(Arc<Awaiting<Seat<T>>>),
    Over,
}

// Nothing in it is pinned: what others know the address of is an allocation of its own.
impl<T> Unpin for SendFuture<'_, T> {}

impl<'a, T> SendFuture<'a, T> {
    pub(super) fn new(sender: FutureEnd<'a, Sender<T>>, message: T) -> Self {
        SendFuture { sender, state: SendState::New(message) }
    }

    /// Ends the send. The message, if it has not been sent; `None` if it has.
    ///
    /// ```
    /// use raddle::channel::bounded;
    /// use raddle::task;
    /// use std::time::Duration;
    ///
    /// let (s, r) = bounded(0);
    /// task::block_on(async {
    ///     let mut send = s.send_async("still mine");
    ///     assert!(task::timeout(Duration::from_millis(1), &mut send).await.is_err());
    ///     assert_eq!(send.withdraw(), Some("still mine"));
    /// });
    /// assert!(r.try_recv().is_err());
    /// ```
    pub fn withdraw(mut self) -> Option<T> {
        self.leave()
    }

    #[cfg(feature = "futures")]
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, SendState::Over)
    }

    /// Takes the message back, if it is there still.
    fn leave(&mut self) -> Option<T> {
        match std::mem::replace(&mut self.state, SendState::Over) {
            SendState::New(message) => Some(message),
            SendState::Over => None,
            SendState::Queued(waiting) => {
                let seat = &waiting.entry;
                let left = self.sender.get().chan.core.enter(|core| {
                    core.leave(Side::Send, &seat.entry);
                    seat.entry.left()
                });
                if left == Left::Nothing {
                    // SAFETY: it has been taken out of the queue by us: nobody has ended its wait.
                    unsafe { waiting.take_back() };
                }
                // SAFETY: nobody has taken it, and nobody can any more.
                (left != Left::Done).then(|| unsafe { seat.place.take() })
            }
        }
    }

    /// Tries, and stands in the queue if that is too early.
    fn begin(&mut self, message: T, context: &Context<'_>) -> Poll<Result<(), SendError<T>>> {
        let chan: &Chan<T> = &self.sender.get().chan;
        let message = match chan.core.enter(|core| core.send(message)) {
            Sent::Taken(wakes) => {
                chan.wake(wakes);
                return Poll::Ready(Ok(()));
            }
            Sent::Disconnected(message) => return Poll::Ready(Err(SendError(message))),
            Sent::Full(message) => message,
        };
        let waiting = Awaiting::by(context.waker().clone(), None, Seat::new);
        let seat = &waiting.entry;
        seat.place.put(message);
        let (left, wakes) = chan.core.enter(|core| {
            // SAFETY: it has just been put there.
            match core.send(unsafe { seat.place.take() }) {
                Sent::Taken(wakes) => (Left::Done, wakes),
                Sent::Disconnected(message) => {
                    seat.place.put(message);
                    (Left::Disconnected, Wakes::default())
                }
                Sent::Full(message) => {
                    seat.place.put(message);
                    seat.entry.prepare(Sleeper::Parked(waiting.queued()), seat.place.address(), 0);
                    // SAFETY: the allocation stays as long as the queue has its reference; its message is in the place.
                    unsafe { core.wait(Side::Send, &seat.entry) };
                    (Left::Nothing, Wakes::default())
                }
            }
        });
        chan.wake(wakes);
        self.state = SendState::Queued(waiting);
        self.after(left)
    }

    /// What has been left for one that stands, or has stood, in the queue.
    fn after(&mut self, left: Left) -> Poll<Result<(), SendError<T>>> {
        if left == Left::Nothing {
            return Poll::Pending;
        }
        if let SendState::Queued(waiting) = std::mem::replace(&mut self.state, SendState::Over)
            && left != Left::Done
        {
            // SAFETY: nobody has taken it, and nobody can any more.
            return Poll::Ready(Err(SendError(unsafe { waiting.entry.place.take() })));
        }
        Poll::Ready(Ok(()))
    }
}

impl<T> Future for SendFuture<'_, T> {
    type Output = Result<(), SendError<T>>;

    /// # Panics
    /// If it is polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if count_in_task() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        // A waker's code may panic: what stands in the queue stays here then, to be taken out of it.
        if let SendState::Queued(waiting) = &this.state {
            let entry = &waiting.entry.entry;
            let left = look_or_wait(&this.sender.get().chan, waiting, context, |_| match entry.left() {
                Left::Nothing => None,
                left => Some(left),
            });
            return this.after(left.unwrap_or(Left::Nothing));
        }
        let SendState::New(message) = std::mem::replace(&mut this.state, SendState::Over) else {
            panic!("a SendFuture was polled after it was ready")
        };
        point("channel::Sender::send_async");
        this.begin(message, context)
    }
}

impl<T> Drop for SendFuture<'_, T> {
    fn drop(&mut self) {
        drop(self.leave());
    }
}

impl<T> fmt::Debug for SendFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("SendFuture { .. }")
    }
}
