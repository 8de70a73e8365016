//! Owns: `Sender`.
//! May use: `host::choice`, `raddle-core`.
//! Never: a mechanism of its own.

use super::chan::Chan;
use super::core::Side;
use super::error::{SendError, SendTimeoutError, TrySendError};
use crate::host::choice::{count, counted_point, is_on, now, point, settle};
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The end of a channel that messages go into. Clones are ends of the same channel.
///
/// ```
/// use raddle::channel::{TrySendError, bounded};
/// let (s, r) = bounded(1);
/// s.send(1).unwrap();
/// assert_eq!(s.try_send(2), Err(TrySendError::Full(2)));
/// drop(r);
/// assert!(s.send(3).is_err());
/// ```
pub struct Sender<T> {
    pub(super) chan: Arc<Chan<T>>,
}

// SAFETY: an end gives access to messages, which may go to another thread.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: as above; the channel's state lies under its lock.
unsafe impl<T: Send> Sync for Sender<T> {}
impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}

impl<T> Sender<T> {
    /// What `select!` asks of an end, which may be behind a pointer. The compiler shows the name where it is none.
    #[doc(hidden)]
    #[inline(always)]
    pub fn sender_of_raddle_channel(&self) -> &Sender<T> {
        self
    }

    /// Sends without waiting.
    ///
    /// # Errors
    /// [`TrySendError::Full`] if it would have to wait, [`TrySendError::Disconnected`] if all receivers are gone.
    #[inline]
    #[track_caller]
    pub fn try_send(&self, msg: T) -> Result<(), TrySendError<T>> {
        counted_point("channel::Sender::try_send");
        let sent = self.chan.try_send(msg);
        settle("channel::Sender::try_send");
        sent
    }

    /// Sends, waiting for a place; at a rendezvous, until the message has been received.
    ///
    /// # Errors
    /// If all receivers are gone, or go while it waits.
    ///
    /// # Panics
    /// If it would have to wait inside a task: there use [`try_send`](Self::try_send).
    #[inline(always)]
    #[track_caller]
    pub fn send(&self, msg: T) -> Result<(), SendError<T>> {
        if is_on() {
            return self.send_by_seed(msg);
        }
        count();
        self.chan.send(msg)
    }

    /// Another one may go on before, and after if it has woken somebody.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn send_by_seed(&self, msg: T) -> Result<(), SendError<T>> {
        counted_point("channel::Sender::send");
        let sent = self.chan.send(msg);
        settle("channel::Sender::send");
        sent
    }

    /// As [`send`](Self::send), waiting at most for `timeout`.
    ///
    /// # Errors
    /// [`SendTimeoutError::Timeout`] after that, [`SendTimeoutError::Disconnected`] as `send`.
    ///
    /// # Panics
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn send_timeout(&self, msg: T, timeout: Duration) -> Result<(), SendTimeoutError<T>> {
        match now().checked_add(timeout) {
            Some(deadline) => self.send_deadline(msg, deadline),
            None => self.send(msg).map_err(SendTimeoutError::from),
        }
    }

    /// As [`send`](Self::send), waiting at most until `deadline`.
    ///
    /// # Errors
    /// As [`send_timeout`](Self::send_timeout).
    ///
    /// # Panics
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn send_deadline(&self, msg: T, deadline: Instant) -> Result<(), SendTimeoutError<T>> {
        counted_point("channel::Sender::send_deadline");
        let sent = self.chan.send_until(msg, deadline);
        settle("channel::Sender::send_deadline");
        sent
    }

    /// Whether there is no message in the channel. Always at a rendezvous.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is no place in the channel. Always at a rendezvous.
    #[track_caller]
    pub fn is_full(&self) -> bool {
        counted_point("channel::Sender::is_full");
        self.chan.is_full()
    }

    /// The messages in the channel.
    #[track_caller]
    pub fn len(&self) -> usize {
        counted_point("channel::Sender::len");
        self.chan.len()
    }

    /// The most messages that the channel holds; `None` if there is no bound.
    pub fn capacity(&self) -> Option<usize> {
        self.chan.capacity()
    }

    /// Whether both are ends of one channel.
    pub fn same_channel(&self, other: &Sender<T>) -> bool {
        Arc::ptr_eq(&self.chan, &other.chan)
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        point("channel::Sender::drop");
        self.chan.drop_end(Side::Send);
        settle("channel::Sender::drop");
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.chan.add(Side::Send);
        Sender { chan: self.chan.clone() }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Sender { .. }")
    }
}
