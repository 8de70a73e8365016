// Owns: the names of `std::sync::mpsc`.
// May use: `channel::single`, `host::choice`, `raddle-core`.
// Never: the errors: they are the standard library's own.

//! Channels with many senders and one receiver, as [`std::sync::mpsc`], for processes and OS threads. What waits parks.
//! `raddle::channel` has receivers that can be cloned, and alternation.
//!
//! ```
//! use raddle::{csp, sync::mpsc};
//!
//! let (sender, receiver) = mpsc::sync_channel(0);
//! let sends = csp::spawn(move || (1..=3).try_for_each(|n| sender.send(n)));
//! assert_eq!(receiver.iter().sum::<i32>(), 6);
//! sends.join().unwrap()?;
//! # Ok::<(), mpsc::SendError<i32>>(())
//! ```

mod shared;

use crate::channel::{SingleReceiver, SingleSender, single};
use crate::host::choice::{count, counted_point, counted_point_at, point, settle};
use shared::MpscShared;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

use super::sleepers::deadline;

/// A channel that never makes a sender wait.
#[must_use]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (end, receiver) = single();
    (Sender { end }, Receiver { kind: ReceiverKind::Unbounded(receiver), not_sync: PhantomData })
}

/// A channel for at most `bound` messages that wait; with 0, a sender waits until its message is received.
#[must_use]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let shared = MpscShared::new(bound);
    let receiver = ReceiverKind::Bounded(BoundedReceiver { shared: shared.clone() });
    (SyncSender { shared }, Receiver { kind: receiver, not_sync: PhantomData })
}

/// An end of a [`channel`], by which any number of threads send.
pub struct Sender<T> {
    end: SingleSender<T>,
}

/// An end of a [`sync_channel`], by which any number of threads send.
pub struct SyncSender<T> {
    shared: Arc<MpscShared<T>>,
}

/// The end by which one thread receives.
pub struct Receiver<T> {
    kind: ReceiverKind<T>,
    not_sync: PhantomData<std::cell::Cell<()>>,
}

/// What it is the end of.
enum ReceiverKind<T> {
    Unbounded(SingleReceiver<T>),
    Bounded(BoundedReceiver<T>),
}

struct BoundedReceiver<T> {
    shared: Arc<MpscShared<T>>,
}

impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}
impl<T> UnwindSafe for SyncSender<T> {}
impl<T> RefUnwindSafe for SyncSender<T> {}
impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

impl<T> Sender<T> {
    /// Sends `t`. Never waits.
    ///
    /// # Errors
    /// If the receiver has gone: the error holds `t`.
    #[track_caller]
    pub fn send(&self, t: T) -> Result<(), SendError<T>> {
        counted_point("mpsc::Sender::send");
        let sent = self.end.send(t).map_err(SendError);
        settle("mpsc::Sender::send");
        sent
    }
}

impl<T> SyncSender<T> {
    /// Waits until there is room, and sends `t`; with a bound of 0, waits until it is received.
    ///
    /// # Errors
    /// If the receiver has gone, or goes meanwhile: the error holds `t`.
    ///
    /// # Panics
    /// If it has to wait inside a task.
    #[track_caller]
    pub fn send(&self, t: T) -> Result<(), SendError<T>> {
        counted_point("SyncSender::send");
        let sent = self.shared.send(t);
        settle("SyncSender::send");
        sent
    }

    /// Sends `t` if that needs no wait; with a bound of 0, if the receiver waits for it.
    ///
    /// # Errors
    /// If it would have to wait, or the receiver has gone: the error holds `t`.
    #[track_caller]
    pub fn try_send(&self, t: T) -> Result<(), TrySendError<T>> {
        counted_point("SyncSender::try_send");
        let sent = self.shared.try_send(t);
        settle("SyncSender::try_send");
        sent
    }
}

impl<T> Receiver<T> {
    /// Receives a message if there is one.
    ///
    /// # Errors
    /// If there is none, or there are no senders any more either.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        point("mpsc::Receiver::try_recv");
        let received = match &self.kind {
            ReceiverKind::Unbounded(end) => end.try_recv(),
            ReceiverKind::Bounded(end) => end.shared.try_recv(),
        };
        // PERF: at the end, since the fence of a look in vain waits for each store before it.
        count();
        received
    }

    /// Waits for a message.
    ///
    /// # Errors
    /// If there is none, and no sender any more.
    ///
    /// # Panics
    /// If it has to wait inside a task.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        self.recv_at(Location::caller())
    }

    /// As [`recv`](Self::recv), for a call that stands there in the program.
    #[track_caller]
    fn recv_at(&self, site: &'static Location<'static>) -> Result<T, RecvError> {
        counted_point_at("mpsc::Receiver::recv", site);
        match &self.kind {
            ReceiverKind::Unbounded(end) => end.recv(site),
            ReceiverKind::Bounded(end) => {
                end.shared.recv("Receiver::recv", None, site).map_err(|_| RecvError)
            }
        }
    }

    /// Waits for a message, for at most `timeout`.
    ///
    /// # Errors
    /// If the time passes; if there is no message, and no sender any more.
    ///
    /// # Panics
    /// If it has to wait inside a task.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        counted_point("mpsc::Receiver::recv_timeout");
        let (deadline, site) = (deadline(timeout), Location::caller());
        match &self.kind {
            ReceiverKind::Unbounded(end) => end.recv_until(deadline, site),
            ReceiverKind::Bounded(end) => end.shared.recv("Receiver::recv_timeout", deadline, site),
        }
    }

    /// Messages until there is none, and no sender any more. Each `next` may wait.
    #[track_caller]
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { rx: self, site: Location::caller() }
    }

    /// The messages that are there. Never waits.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { rx: self }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        Sender { end: self.end.clone() }
    }
}

impl<T> Clone for SyncSender<T> {
    fn clone(&self) -> SyncSender<T> {
        self.shared.add_sender();
        SyncSender { shared: self.shared.clone() }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        // The end itself goes after this.
        point("mpsc::Sender::drop");
    }
}

impl<T> Drop for SyncSender<T> {
    fn drop(&mut self) {
        point("SyncSender::drop");
        self.shared.remove_sender();
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        // The end itself goes after this.
        point("mpsc::Receiver::drop");
    }
}

impl<T> Drop for BoundedReceiver<T> {
    fn drop(&mut self) {
        self.shared.remove_receiver();
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncSender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

/// What [`Receiver::iter`] returns.
pub struct Iter<'a, T: 'a> {
    rx: &'a Receiver<T>,
    /// Where it was asked for: that is the place in the program that a report names.
    site: &'static Location<'static>,
}

/// What [`Receiver::try_iter`] returns.
#[derive(Debug)]
pub struct TryIter<'a, T: 'a> {
    rx: &'a Receiver<T>,
}

/// The messages of a [`Receiver`] that is given away.
pub struct IntoIter<T> {
    rx: Receiver<T>,
    site: &'static Location<'static>,
}

impl<T> fmt::Debug for Iter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As std's, which knows no place.
        f.debug_struct("Iter").field("rx", self.rx).finish()
    }
}

impl<T> fmt::Debug for IntoIter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntoIter").field("rx", &self.rx).finish()
    }
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.rx.recv_at(self.site).ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.rx.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.rx.recv_at(self.site).ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    #[track_caller]
    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    #[track_caller]
    fn into_iter(self) -> IntoIter<T> {
        IntoIter { rx: self, site: Location::caller() }
    }
}
