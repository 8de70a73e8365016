//! Owns: `Receiver`, and which kind of channel it is the end of.
//! May use: `host::choice`, `raddle-core`.
//! Never: a mechanism of its own.

use super::chan::Chan;
use super::clock::{Alarm, Clock, Tick, sleep};
use super::core::Side;
use super::error::{RecvError, RecvTimeoutError, TryRecvError};
use super::iter::{Iter, TryIter};
use crate::host::choice::{count, counted_point, counted_point_at, now, point};
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The end of a channel that messages come out of. Clones are ends of the same channel: each message goes to one.
///
/// ```
/// use raddle::channel::unbounded;
/// let (s, r) = unbounded();
/// let other = r.clone();
/// s.send("to one of them").unwrap();
/// drop(s);
/// assert_eq!(other.recv(), Ok("to one of them"));
/// assert!(r.recv().is_err());
/// ```
pub struct Receiver<T> {
    pub(super) kind: ReceiverFlavor<T>,
}

/// What it is the end of. The clocks' messages are `Instant`s, which is what `T` is then; the function says so.
pub(super) enum ReceiverFlavor<T> {
    Chan(Arc<Chan<T>>),
    Alarm(Arc<Alarm>, fn(Instant) -> T),
    Tick(Arc<Tick>, fn(Instant) -> T),
    Never,
}

// SAFETY: an end gives access to messages, which may go to another thread.
unsafe impl<T: Send> Send for Receiver<T> {}
// SAFETY: as above; the channel's state lies under its lock.
unsafe impl<T: Send> Sync for Receiver<T> {}
impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

impl<T> Receiver<T> {
    /// What `select!` asks of an end, which may be behind a pointer. The compiler shows the name where it is none.
    #[doc(hidden)]
    #[inline(always)]
    pub fn receiver_of_raddle_channel(&self) -> &Receiver<T> {
        self
    }

    /// Receives without waiting. (Where a [`select!`](super::select!) has chosen to send to it at a rendezvous, it
    /// waits until the message has been computed.)
    ///
    /// # Errors
    /// [`TryRecvError::Empty`] if it would have to wait, [`TryRecvError::Disconnected`] if there will be no message.
    #[inline]
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        point("channel::Receiver::try_recv");
        let received = match &self.kind {
            ReceiverFlavor::Chan(chan) => chan.try_recv(),
            ReceiverFlavor::Alarm(alarm, message) => alarm.try_recv().map(message).ok_or(TryRecvError::Empty),
            ReceiverFlavor::Tick(tick, message) => tick.try_recv().map(message).ok_or(TryRecvError::Empty),
            ReceiverFlavor::Never => Err(TryRecvError::Empty),
        };
        // PERF: at the end, since the fence of a look in vain waits for each store before it: 1 ns.
        count();
        received
    }

    /// Receives, waiting for a message.
    ///
    /// # Errors
    /// If the channel is empty and all senders are gone.
    ///
    /// # Panics
    /// If it would have to wait inside a task: there use [`try_recv`](Self::try_recv).
    #[inline(always)]
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        self.recv_at(Location::caller())
    }

    /// As [`recv`](Self::recv), for a call that stands there in the program.
    #[inline(always)]
    #[track_caller]
    pub(super) fn recv_at(&self, site: &'static Location<'static>) -> Result<T, RecvError> {
        counted_point_at("channel::Receiver::recv", site);
        match &self.kind {
            ReceiverFlavor::Chan(chan) => chan.recv(site),
            _ => self.recv_clock(None).ok_or(RecvError),
        }
    }

    /// As [`recv`](Self::recv), waiting at most for `timeout`.
    ///
    /// # Errors
    /// [`RecvTimeoutError::Timeout`] after that, [`RecvTimeoutError::Disconnected`] as `recv`.
    ///
    /// # Panics
    /// As [`recv`](Self::recv).
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        match now().checked_add(timeout) {
            Some(deadline) => self.recv_deadline(deadline),
            None => self.recv().map_err(RecvTimeoutError::from),
        }
    }

    /// As [`recv`](Self::recv), waiting at most until `deadline`.
    ///
    /// # Errors
    /// As [`recv_timeout`](Self::recv_timeout).
    ///
    /// # Panics
    /// As [`recv`](Self::recv).
    #[track_caller]
    pub fn recv_deadline(&self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        counted_point("channel::Receiver::recv_deadline");
        match &self.kind {
            ReceiverFlavor::Chan(chan) => chan.recv_until(deadline),
            _ => self.recv_clock(Some(deadline)).ok_or(RecvTimeoutError::Timeout),
        }
    }

    #[track_caller]
    fn recv_clock(&self, deadline: Option<Instant>) -> Option<T> {
        match &self.kind {
            ReceiverFlavor::Alarm(alarm, message) => alarm.recv(deadline).map(message),
            ReceiverFlavor::Tick(tick, message) => tick.recv(deadline).map(message),
            ReceiverFlavor::Never | ReceiverFlavor::Chan(_) => {
                sleep(deadline);
                None
            }
        }
    }

    /// The clock, if it is the end of one.
    pub(super) fn clock(&self) -> Option<&dyn Clock> {
        match &self.kind {
            ReceiverFlavor::Alarm(alarm, _) => Some(&**alarm),
            ReceiverFlavor::Tick(tick, _) => Some(&**tick),
            ReceiverFlavor::Chan(_) | ReceiverFlavor::Never => None,
        }
    }

    /// Whether there is no message in the channel. Always at a rendezvous.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is no place in the channel. Always at a rendezvous.
    #[track_caller]
    pub fn is_full(&self) -> bool {
        counted_point("channel::Receiver::is_full");
        match &self.kind {
            ReceiverFlavor::Chan(chan) => chan.is_full(),
            ReceiverFlavor::Never => true,
            _ => self.len() == 1,
        }
    }

    /// The messages in the channel.
    #[track_caller]
    pub fn len(&self) -> usize {
        counted_point("channel::Receiver::len");
        match &self.kind {
            ReceiverFlavor::Chan(chan) => chan.len(),
            _ => self.clock().is_some_and(Clock::is_ready).into(),
        }
    }

    /// The most messages that the channel holds; `None` if there is no bound.
    pub fn capacity(&self) -> Option<usize> {
        match &self.kind {
            ReceiverFlavor::Chan(chan) => chan.capacity(),
            ReceiverFlavor::Never => Some(0),
            _ => Some(1),
        }
    }

    /// An iterator that waits for each message and ends when all senders are gone.
    #[track_caller]
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { receiver: self, site: Location::caller() }
    }

    /// An iterator that never waits and ends when the channel is empty.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { receiver: self }
    }

    /// Whether both are ends of one channel. All of [`never`](super::never) are one.
    pub fn same_channel(&self, other: &Receiver<T>) -> bool {
        match (&self.kind, &other.kind) {
            (ReceiverFlavor::Chan(one), ReceiverFlavor::Chan(other)) => Arc::ptr_eq(one, other),
            (ReceiverFlavor::Alarm(one, _), ReceiverFlavor::Alarm(other, _)) => Arc::ptr_eq(one, other),
            (ReceiverFlavor::Tick(one, _), ReceiverFlavor::Tick(other, _)) => Arc::ptr_eq(one, other),
            (ReceiverFlavor::Never, ReceiverFlavor::Never) => true,
            _ => false,
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        point("channel::Receiver::drop");
        if let ReceiverFlavor::Chan(chan) = &self.kind {
            chan.drop_end(Side::Receive);
        }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        let kind = match &self.kind {
            ReceiverFlavor::Chan(chan) => {
                chan.add(Side::Receive);
                ReceiverFlavor::Chan(chan.clone())
            }
            ReceiverFlavor::Alarm(alarm, message) => ReceiverFlavor::Alarm(alarm.clone(), *message),
            ReceiverFlavor::Tick(tick, message) => ReceiverFlavor::Tick(tick.clone(), *message),
            ReceiverFlavor::Never => ReceiverFlavor::Never,
        };
        Receiver { kind }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Receiver { .. }")
    }
}
