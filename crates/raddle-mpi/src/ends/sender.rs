//! Owns: `RemoteSender`.
//! May use: `channel`, `engine::channels`, `error`, `post`, `shim`.
//! Never: a send that goes on, without a buffer, before its message was taken.

use super::end::{ChannelEnd, EndFailure};
use super::message::RemoteMessage;
use super::refusal::RemoteSendError;
use crate::channel::{EndIsGone, EndState, RIDE_BYTES, SendingEnd};
use crate::engine::AtDeadline;
use crate::error::NetError;
use crate::post::{Post, Transfer};
use crate::shim::Direction;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// The sending end of a channel between ranks. Made by [`Net::sender`](crate::Net::sender). Dropping it closes the
/// channel: what was sent before is still received.
///
/// A send parks the caller, a process or an OS thread, and never its worker. In a task it panics if it has to wait.
pub struct RemoteSender<T> {
    end: ChannelEnd,
    messages: PhantomData<fn(T)>,
}

impl<T: RemoteMessage> RemoteSender<T> {
    pub(super) fn new(end: ChannelEnd) -> RemoteSender<T> {
        RemoteSender { end, messages: PhantomData }
    }

    /// Sends a message: goes on when the receiver has taken it, or if the channel has a buffer, when there is a place.
    ///
    /// # Errors
    /// The message, if the receiver is gone; and with it [`NetError::Disagree`] if the other end is for other messages,
    /// [`NetError::Late`] if it is not there, or takes none in time.
    #[track_caller]
    pub fn send(&mut self, message: T) -> Result<(), RemoteSendError<T>> {
        self.end.place = Location::caller();
        match self.send_bytes(&message) {
            Ok(()) => Ok(()),
            Err(EndFailure::Gone) => Err(RemoteSendError::Disconnected(message)),
            Err(EndFailure::Net(error)) => Err(RemoteSendError::Failed(message, error)),
        }
    }

    /// From now on, what is not taken after so long is late; at first that is as the net has it.
    pub fn set_deadline(&mut self, deadline: Duration) {
        self.end.deadline = deadline;
    }

    /// Waits until the other end is there, and is for the same messages.
    pub(super) fn wait_until_bound(&self) -> Result<(), NetError> {
        match self.wait("the binding of", |_| Some(Ok(())), true) {
            Ok(()) => Ok(()),
            Err(EndFailure::Gone) => Err(NetError::Over),
            Err(EndFailure::Net(error)) => Err(error),
        }
    }

    fn send_bytes(&self, message: &T) -> Result<(), EndFailure> {
        let (end, bytes) = (&self.end, message.size());
        let (offer, is_rendezvous, kept) = if bytes <= RIDE_BYTES {
            let (offer, is_rendezvous) = self.offer_small(message, bytes)?;
            (offer, is_rendezvous, None)
        } else {
            let is_rendezvous = self.wait(
                "a send on",
                |sending| sending.room().map(|room| room.map(|()| sending.is_rendezvous())),
                true,
            )?;
            let post = Arc::new(self.large(message)?);
            let kept = Some(post.clone());
            let offer = end.engine.with_channels(|channels, shim, _| {
                channels.offer(shim, end.number, (bytes, kept), |_| ())
            })??;
            (offer, is_rendezvous, Some(post))
        };
        if is_rendezvous {
            self.wait("a send on", |sending| sending.is_taken(offer), false)?;
            if let Some(post) = kept {
                end.engine.wait_for_bytes(&post, end.deadline)?;
            }
        }
        Ok(())
    }

    /// Offers a message with its bytes, when there is room; the number of the offer, and whether it is to be taken.
    ///
    /// PERF: both under one lock; example `ring`.
    fn offer_small(&self, message: &T, bytes: usize) -> Result<(u64, bool), EndFailure> {
        let (end, number) = (&self.end, self.end.number);
        let offered = end.wait("a send on", (end.deadline, AtDeadline::IsLate), true, |channels, shim| {
            let is_rendezvous = match channels.end(number).map(|record| (&record.state, record.theirs)) {
                Some((EndState::Sending(_), None)) => return None,
                Some((EndState::Sending(sending), Some(_))) => match sending.room()? {
                    Ok(()) => sending.is_rendezvous(),
                    Err(gone) => return Some(Err(gone)),
                },
                _ => return Some(Err(EndIsGone)),
            };
            let offer = channels.offer(shim, number, (bytes, None), |to| message.put(to));
            Some(offer.map(|offer| (offer, is_rendezvous)))
        })?;
        Ok(offered.expect("who is late has an error")?)
    }

    /// A message whose bytes go when it was taken.
    fn large(&self, message: &T) -> Result<Post, NetError> {
        let number = self.end.number;
        let address = self.end.engine.with_channels(|channels, _, _| channels.data_address(number))?;
        let address = address.ok_or(NetError::Over)?;
        let label = format!("channel `{}`", self.end.name);
        let transfer = Transfer::new(Direction::Out, address, message.size(), label)?;
        let transfer = transfer.filled(|to| message.put(to));
        Ok(Post::new(format!("a send on channel `{}`", self.end.name), vec![transfer], false))
    }

    fn wait<R>(
        &self,
        what: &str,
        mut answer: impl FnMut(&SendingEnd<Arc<Post>>) -> Option<Result<R, EndIsGone>>,
        asks_first: bool,
    ) -> Result<R, EndFailure> {
        let (end, number) = (&self.end, self.end.number);
        let found = end.wait(what, (end.deadline, AtDeadline::IsLate), asks_first, |channels, _| {
            let record = channels.end(number);
            match record.map(|record| (&record.state, record.theirs)) {
                Some((EndState::Sending(_), None)) => None,
                Some((EndState::Sending(sending), Some(_))) => answer(sending),
                _ => Some(Err(EndIsGone)),
            }
        })?;
        Ok(found.expect("who is late has an error")?)
    }
}

impl<T> fmt::Debug for RemoteSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ChannelEnd { name, peer, .. } = &self.end;
        f.debug_struct("RemoteSender").field("name", name).field("to", peer).finish_non_exhaustive()
    }
}
