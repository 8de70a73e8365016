//! Owns: `RemoteReceiver`.
//! May use: `engine::channels`, `error`, `net`, `post`, `shim`.
//! Never: telling a sender that its message was taken before it was.

use super::end::{ChannelEnd, EndFailure};
use super::message::RemoteMessage;
use super::ready::WhenSent;
use super::refusal::RemoteRecvError;
use crate::engine::AtDeadline;
use crate::error::NetError;
use crate::net::came;
use crate::post::{Post, Transfer};
use crate::shim::Direction;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// The receiving end of a channel between ranks. Made by [`Net::receiver`](crate::Net::receiver). Dropping it closes
/// the channel: who sends, or waits to, hears it.
///
/// A receive parks the caller, a process or an OS thread, and never its worker. In a task it panics if it has to wait.
pub struct RemoteReceiver<T> {
    end: ChannelEnd,
    /// A message that was taken and whose bytes have not come: who waited for them was cancelled.
    coming: Option<Arc<Post>>,
    messages: PhantomData<fn() -> T>,
}

impl<T: RemoteMessage> RemoteReceiver<T> {
    pub(super) fn new(end: ChannelEnd) -> RemoteReceiver<T> {
        RemoteReceiver { end, coming: None, messages: PhantomData }
    }

    /// Waits for a message.
    ///
    /// # Errors
    /// [`RemoteRecvError::Disconnected`] if the sender is gone and nothing of it is left; within
    /// [`RemoteRecvError::Failed`] [`NetError::Disagree`] if the other end is for other messages, [`NetError::Late`] if
    /// it is not there, or sends none in time.
    #[track_caller]
    pub fn recv(&mut self) -> Result<T, RemoteRecvError> {
        self.end.place = Location::caller();
        self.receive((self.end.deadline, AtDeadline::IsLate))
    }

    /// Receives if a message is offered now. It looks once, and waits only for the bytes of a large one.
    ///
    /// # Errors
    /// [`RemoteRecvError::Empty`] if none is; else as [`recv`](Self::recv).
    pub fn try_recv(&mut self) -> Result<T, RemoteRecvError> {
        self.end.engine.poll();
        self.receive((Duration::ZERO, AtDeadline::GoesOn))
    }

    /// As [`recv`](Self::recv), and gives up after so long, which is no fault.
    ///
    /// # Errors
    /// [`RemoteRecvError::Empty`] if none was offered by then; else as `recv`.
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<T, RemoteRecvError> {
        self.receive((timeout, AtDeadline::GoesOn))
    }

    /// Receives until the sender is gone, or something is wrong.
    pub fn iter(&mut self) -> impl Iterator<Item = T> {
        std::iter::from_fn(|| self.recv().ok())
    }

    /// In [`alt!`](raddle_sync::csp::alt!), [`pri_alt!`](raddle_sync::csp::pri_alt!) and
    /// [`select!`](raddle_sync::channel::select!): a case that is possible when a message is offered, or the sender is
    /// gone. What the case receives says nothing; the message is received by [`recv`](Self::recv), which does not wait
    /// for an offer then. Senders of other cases learn nothing of it.
    ///
    /// It is possible, too, when nothing was chosen for as long as the end's [deadline](Self::set_deadline): `recv`
    /// gives [`NetError::Late`] then, which names all that is waited for; or [`RemoteRecvError::Empty`], if the program
    /// was [asked](crate::OnLate::Ask) and wants to wait again: it is to choose again. A choice that may wait for ever
    /// has `set_deadline(Duration::MAX)` at its ends.
    ///
    /// # Errors
    /// [`NetError::Over`].
    ///
    /// ```no_run
    /// use raddle::csp;
    /// use raddle_mpi::{NetError, RemoteReceiver};
    /// use std::time::Duration;
    ///
    /// fn next(one: &mut RemoteReceiver<u64>, other: &mut RemoteReceiver<u64>) -> Result<Option<u64>, NetError> {
    ///     csp::alt! {
    ///         recv(one.when_sent()?) -> _ => Ok(one.recv().ok()),
    ///         recv(other.when_sent()?) -> _ => Ok(other.recv().ok()),
    ///         after(Duration::from_secs(1)) => Ok(None),
    ///     }
    /// }
    /// ```
    pub fn when_sent(&self) -> Result<WhenSent, NetError> {
        WhenSent::new(&self.end)
    }

    /// From now on, what does not come after so long is late; at first that is as the net has it.
    pub fn set_deadline(&mut self, deadline: Duration) {
        self.end.deadline = deadline;
    }

    /// Among the ends of its rank.
    pub(super) fn number(&self) -> u32 {
        self.end.number
    }

    fn receive(&mut self, at: (Duration, AtDeadline)) -> Result<T, RemoteRecvError> {
        let Some(waited) = self.end.late_choice() else { return self.receive_at(at) };
        match self.receive_at((Duration::ZERO, AtDeadline::GoesOn)) {
            Err(RemoteRecvError::Empty) => Err(match self.end.choice_is_late(waited) {
                Ok(Some(error)) | Err(error) => RemoteRecvError::Failed(error),
                Ok(None) => RemoteRecvError::Empty,
            }),
            came => came,
        }
    }

    fn receive_at(&mut self, at: (Duration, AtDeadline)) -> Result<T, RemoteRecvError> {
        self.receive_or_fail(at).map_err(RemoteRecvError::from)
    }

    /// Nothing, if that is to be the answer.
    fn receive_or_fail(&mut self, at: (Duration, AtDeadline)) -> Result<T, Option<EndFailure>> {
        if let Some(message) = self.take_offer(at)? {
            return Ok(message);
        }
        self.bytes_that_come().map_err(|error| Some(EndFailure::Net(error)))
    }

    /// A message that is here with all its bytes, by one who must not wait; one that is here in part begins to come.
    pub(super) fn recv_if_here(&mut self) -> Result<T, RemoteRecvError> {
        let told = match self.take_offer((Duration::ZERO, AtDeadline::GoesOn)) {
            Ok(None) if self.is_coming() => Err(None),
            Ok(None) => self.bytes_that_come().map_err(|error| Some(EndFailure::Net(error))),
            Ok(Some(message)) => Ok(message),
            Err(failure) => Err(failure),
        };
        told.map_err(RemoteRecvError::from)
    }

    /// Whether a message was taken whose bytes have not come yet.
    pub(super) fn is_coming(&self) -> bool {
        self.coming.as_ref().is_some_and(|post| !post.is_done())
    }

    /// Whether a message was taken, and not received.
    pub(super) fn has_taken(&self) -> bool {
        self.coming.is_some()
    }

    /// Takes an offer, if none is taken already. The message, if its bytes have ridden along; none if they come.
    fn take_offer(&mut self, at: (Duration, AtDeadline)) -> Result<Option<T>, Option<EndFailure>> {
        if self.coming.is_some() {
            return Ok(None);
        }
        let net = |error: NetError| Some(EndFailure::Net(error));
        let number = self.end.number;
        let taken = self.end.wait("a receive on", at, true, |channels, shim| {
            channels.take(shim, number, |offer| offer.map(T::get))
        });
        let offer = taken.map_err(net)?.ok_or(None::<EndFailure>)?;
        match offer.map_err(|gone| Some(EndFailure::from(gone)))? {
            Ok(message) => message.map(Some).ok_or_else(|| net(self.nonsense())),
            Err(bytes) => {
                self.coming = Some(self.fetch(bytes).map_err(net)?);
                Ok(None)
            }
        }
    }

    /// The message that was taken, when its bytes have come.
    fn bytes_that_come(&mut self) -> Result<T, NetError> {
        let post = self.coming.as_ref().expect("it is there, or was just begun");
        // The sender waits for that, or its rank looks: it comes within the deadline, not at once. The deadline begins
        // when the message was taken: who waits longer than that for an offer (`recv_timeout`) would have none left.
        let arrived = self.end.engine.wait_for_bytes(post, self.end.deadline);
        let message = arrived.and_then(|()| came(post, 0, T::get));
        self.coming = None;
        message?.ok_or_else(|| self.nonsense())
    }

    /// Makes room for the bytes of a message that was taken, and tells the sender so.
    fn fetch(&self, bytes: usize) -> Result<Arc<Post>, NetError> {
        let (engine, number) = (&self.end.engine, self.end.number);
        let address = engine.with_channels(|channels, _, _| channels.data_address(number))?;
        let label = format!("channel `{}`", self.end.name);
        let transfer = Transfer::new(Direction::In, address.ok_or(NetError::Over)?, bytes, label)?;
        let post =
            Arc::new(Post::new(format!("a receive on channel `{}`", self.end.name), vec![transfer], false));
        engine.start_taken(&post, number)?;
        Ok(post)
    }

    fn nonsense(&self) -> NetError {
        let ChannelEnd { name, peer, .. } = &self.end;
        NetError::Disagree(format!(
            "channel `{name}`: rank {peer} has sent bytes that are no {}",
            T::type_name()
        ))
    }
}

impl From<Option<EndFailure>> for RemoteRecvError {
    fn from(failure: Option<EndFailure>) -> Self {
        match failure {
            Some(EndFailure::Net(error)) => RemoteRecvError::Failed(error),
            Some(EndFailure::Gone) => RemoteRecvError::Disconnected,
            None => RemoteRecvError::Empty,
        }
    }
}

impl<T> fmt::Debug for RemoteReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ChannelEnd { name, peer, .. } = &self.end;
        f.debug_struct("RemoteReceiver").field("name", name).field("from", peer).finish_non_exhaustive()
    }
}
