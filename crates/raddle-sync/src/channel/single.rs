//! Owns: the ends of an unbounded channel that has one receiver: those of `sync::mpsc`.
//! May use: `chunks`, `host`, `raddle-core`, `raddle-protocol`.
//! Never: a message in two places, or one that is received before those that were sent before it.
//!
//! Who is the only receiver has a queue of its own, which nobody else looks at. It takes from there, without a lock;
//! when there is nothing it takes all that is in the channel, in one step. So the two sides meet once a batch, and the
//! line that both write goes from core to core once a batch. The older messages are always in its own queue, and it
//! waits, and looks at the channel, only when that is empty: so the order is the channel's, and the protocol, too.
//!
//! The two queues change places: what was the receiver's, and is empty, goes on as the channel's, with its memory. A
//! batch costs no allocation, and memory is kept for four chunks, however many messages there have been.

use super::chan::{Chan, Ends};
use super::core::{CAN_RECEIVE, Side};
use super::error::TrySendError;
use crate::chunks::ChunkedQueue;
use crate::host::park::caller;
use crate::host::{CallOn, WaitReason};
use std::cell::RefCell;
use std::panic::Location;
use std::sync::Arc;
use std::sync::mpsc::{RecvError, RecvTimeoutError, TryRecvError};
use std::time::Instant;

const RECV: CallOn<Ends> = CallOn::new("mpsc::Receiver::recv", WaitReason::Receive);
const RECV_DEADLINE: CallOn<Ends> = CallOn::with_deadline("mpsc::Receiver::recv", WaitReason::Receive);

/// One of those that send.
pub(crate) struct SingleSender<T> {
    chan: Arc<Chan<T>>,
}

/// The one that receives. Not `Sync`: the queue of its own has no lock.
pub(crate) struct SingleReceiver<T> {
    chan: Arc<Chan<T>>,
    own: RefCell<ChunkedQueue<T>>,
}

/// A channel with one end of each kind.
pub(crate) fn single<T>() -> (SingleSender<T>, SingleReceiver<T>) {
    let chan = Arc::new(Chan::new(usize::MAX));
    (SingleSender { chan: chan.clone() }, SingleReceiver { chan, own: RefCell::new(ChunkedQueue::new()) })
}

impl<T> SingleSender<T> {
    /// Sends, and never waits; the message comes back if there is no receiver.
    #[inline]
    pub(crate) fn send(&self, message: T) -> Result<(), T> {
        match self.chan.try_send(message) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(message) | TrySendError::Disconnected(message)) => Err(message),
        }
    }
}

impl<T> Clone for SingleSender<T> {
    fn clone(&self) -> Self {
        self.chan.add(Side::Send);
        SingleSender { chan: self.chan.clone() }
    }
}

impl<T> Drop for SingleSender<T> {
    fn drop(&mut self) {
        self.chan.drop_end(Side::Send);
    }
}

impl<T> SingleReceiver<T> {
    /// Takes the oldest message, if there is one.
    #[inline]
    pub(crate) fn try_recv(&self) -> Result<T, TryRecvError> {
        let own = self.own.borrow_mut().pop_front();
        match own {
            Some(message) => Ok(message),
            None => self.try_take_all(),
        }
    }

    #[inline(never)]
    fn try_take_all(&self) -> Result<T, TryRecvError> {
        let core = &self.chan.core;
        if core.look() & CAN_RECEIVE == 0 && core.look_surely() & CAN_RECEIVE == 0 {
            return Err(TryRecvError::Empty);
        }
        self.take_all()
    }

    fn take_all(&self) -> Result<T, TryRecvError> {
        let mut own = self.own.borrow_mut();
        let senders_gone = self.chan.core.enter(|core| !core.receive_all(&mut own) && core.senders_gone);
        match own.pop_front() {
            Some(message) => Ok(message),
            None if senders_gone => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }

    /// Takes the oldest message, waiting for one.
    #[inline]
    #[track_caller]
    pub(crate) fn recv(&self, site: &'static Location<'static>) -> Result<T, RecvError> {
        let own = self.own.borrow_mut().pop_front();
        match own {
            Some(message) => Ok(message),
            None => self.take_all_or_wait(site),
        }
    }

    #[inline(never)]
    #[track_caller]
    fn take_all_or_wait(&self, site: &'static Location<'static>) -> Result<T, RecvError> {
        loop {
            if self.chan.core.look() & CAN_RECEIVE != 0 {
                match self.take_all() {
                    Ok(message) => return Ok(message),
                    Err(TryRecvError::Disconnected) => return Err(RecvError),
                    Err(TryRecvError::Empty) => {}
                }
            }
            if let Some(received) = self.chan.recv_waiting(const { &RECV }, site) {
                return received.map_err(|_| RecvError);
            }
        }
    }

    /// As [`recv`](Self::recv), until then, if there is a deadline.
    #[track_caller]
    pub(crate) fn recv_until(
        &self,
        deadline: Option<Instant>,
        site: &'static Location<'static>,
    ) -> Result<T, RecvTimeoutError> {
        loop {
            match self.try_recv() {
                Ok(message) => return Ok(message),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                Err(TryRecvError::Empty) => {}
            }
            caller(RECV_DEADLINE.name());
            match self.chan.recv_or_give_up(const { &RECV_DEADLINE }, deadline, site) {
                None => return Err(RecvTimeoutError::Timeout),
                Some(Some(received)) => return received.map_err(|_| RecvTimeoutError::Disconnected),
                Some(None) => {}
            }
        }
    }
}

/// Sends fail before the first message is dropped. The drop of one that panics is the last: the others are leaked.
impl<T> Drop for SingleReceiver<T> {
    fn drop(&mut self) {
        let unwanted = std::mem::ManuallyDrop::new(self.chan.take_end(Side::Receive));
        drop(self.own.take());
        drop(std::mem::ManuallyDrop::into_inner(unwanted));
    }
}
