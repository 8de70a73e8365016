//! Owns: sends and receives that wait by a waker: of tasks, and of whatever else polls futures.
//! May use: `host`.
//! Never: a queue of its own. A future stands in the channel's, as a process and an OS thread do, and has its turn.
//!
//! | file | what |
//! |---|---|
//! | `send` | `SendFuture` |
//! | `receive` | how far a receive has come |
//! | `stream` | `RecvFuture`, and `RecvStream`, one receive after the other |
//!
//! A message goes straight to the future that has waited longest, which may be dropped before it looks. It is given on
//! then: to the next who waits, or before all others into the channel, which holds one more than its capacity until
//! that is received. What else was considered: to wake the future and let it try again, as `flume` and `async-channel`
//! do. Nothing has to be given on then, but for the wake; but whoever comes at the right moment is faster than one who
//! has waited, and at a rendezvous the sender has to be woken, too, to look at who has come.
//!
//! There is no new protocol: all that two sides touch is touched under the lock of the channel, but for the waker,
//! which [`Awaiting`] gives to whoever ends the wait.

mod receive;
mod send;
mod stream;

pub use send::SendFuture;
pub use stream::{RecvFuture, RecvStream};

use super::chan::Chan;
use super::core::Core;
use super::list::WaitEntry;
use super::place::MessageSlot;
use super::{Receiver, Sender};
use crate::host::Awaiting;
use std::task::Context;

/// The place of a future in the queue, with room for its message.
struct Seat<T> {
    entry: WaitEntry,
    place: MessageSlot<T>,
}

// SAFETY: what is in it is touched under the channel's lock, or by one who has it alone; messages go to other threads.
unsafe impl<T: Send> Send for Seat<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Seat<T> {}

impl<T> Seat<T> {
    fn new() -> Self {
        Seat { entry: WaitEntry::new(), place: MessageSlot::empty() }
    }
}

/// What `look` finds inside the channel. As long as that is nothing the future stands there, and from now on waits by
/// the waker of `context`.
fn look_or_wait<T, R>(
    chan: &Chan<T>,
    waiting: &Awaiting<Seat<T>>,
    context: &Context<'_>,
    mut look: impl FnMut(&mut Core<T>) -> Option<R>,
) -> Option<R> {
    let own = context.waker();
    let (found, stays) = chan.core.enter(|core| {
        let found = look(core);
        // SAFETY: inside the lock; and if nothing was found nobody has taken it out.
        let stays = found.is_some() || unsafe { waiting.will_wake(own) };
        (found, stays)
    });
    if stays {
        return found;
    }
    let waker = own.clone();
    let (found, unused) = chan.core.enter(|core| match look(core) {
        // SAFETY: as above.
        None => (None, unsafe { waiting.wait_by(waker) }),
        found => (found, Some(waker)),
    });
    // Not inside the lock: it may be the last of its task.
    drop(unused);
    found
}

/// An end of a channel that a future uses.
enum FutureEnd<'a, E> {
    Borrowed(&'a E),
    Owned(E),
}

impl<E> FutureEnd<'_, E> {
    fn get(&self) -> &E {
        match self {
            FutureEnd::Borrowed(end) => end,
            FutureEnd::Owned(end) => end,
        }
    }
}

impl<T> Sender<T> {
    /// As [`send`](Self::send), for a task, or whatever polls futures: waits by a waker. Processes, threads and tasks
    /// stand in one queue.
    ///
    /// Nothing is sent before the first poll. [`SendFuture`] says what a drop before the end means.
    ///
    /// ```
    /// use raddle::channel::bounded;
    /// use raddle::{csp, task};
    ///
    /// let (s, r) = bounded(0);
    /// let process = csp::spawn(move || r.iter().sum::<i32>());
    /// task::block_on(task::spawn(async move {
    ///     for n in 0..10 {
    ///         s.send_async(n).await.unwrap();
    ///     }
    /// }))
    /// .unwrap();
    /// assert_eq!(process.join().unwrap(), 45);
    /// ```
    ///
    /// # Errors
    /// The future's: if all receivers are gone, or go while it waits. The message is inside.
    pub fn send_async(&self, msg: T) -> SendFuture<'_, T> {
        SendFuture::new(FutureEnd::Borrowed(self), msg)
    }

    /// As [`send_async`](Self::send_async), by a future that has the sender.
    ///
    /// # Errors
    /// As [`send_async`](Self::send_async).
    pub fn into_send_async(self, msg: T) -> SendFuture<'static, T> {
        SendFuture::new(FutureEnd::Owned(self), msg)
    }
}

impl<T> Receiver<T> {
    /// As [`recv`](Self::recv), for a task, or whatever polls futures: waits by a waker. Processes, threads and tasks
    /// stand in one queue. Works for [`after`](super::after) and the like, too.
    ///
    /// Dropped before it was ready, it has received nothing, or has given on what it had: no message is lost.
    ///
    /// ```
    /// use raddle::channel::unbounded;
    /// use raddle::task;
    ///
    /// let (s, r) = unbounded();
    /// let received = task::spawn(async move { r.recv_async().await });
    /// s.send("from an OS thread").unwrap();
    /// assert_eq!(task::block_on(received).unwrap(), Ok("from an OS thread"));
    /// ```
    ///
    /// # Errors
    /// The future's: if the channel is empty and all senders are gone.
    pub fn recv_async(&self) -> RecvFuture<'_, T> {
        RecvFuture::new(FutureEnd::Borrowed(self))
    }

    /// As [`recv_async`](Self::recv_async), by a future that has the receiver.
    ///
    /// # Errors
    /// As [`recv_async`](Self::recv_async).
    pub fn into_recv_async(self) -> RecvFuture<'static, T> {
        RecvFuture::new(FutureEnd::Owned(self))
    }

    /// What it receives, one message after the other, until all senders are gone.
    ///
    /// ```
    /// use raddle::channel::bounded;
    /// use raddle::task;
    ///
    /// let (s, r) = bounded(1);
    /// let sender = task::spawn(async move {
    ///     for n in 0..3 {
    ///         s.send_async(n).await.unwrap();
    ///     }
    /// });
    /// task::block_on(async {
    ///     let mut numbers = r.stream();
    ///     let mut sum = 0;
    ///     while let Some(n) = numbers.next().await {
    ///         sum += n;
    ///     }
    ///     assert_eq!(sum, 3);
    ///     sender.await.unwrap();
    /// });
    /// ```
    pub fn stream(&self) -> RecvStream<'_, T> {
        RecvStream::new(FutureEnd::Borrowed(self))
    }

    /// As [`stream`](Self::stream), of a stream that has the receiver.
    pub fn into_stream(self) -> RecvStream<'static, T> {
        RecvStream::new(FutureEnd::Owned(self))
    }
}
