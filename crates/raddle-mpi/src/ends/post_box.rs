//! Owns: `PostBox`: messages to and from all ranks, of which whoever waits takes those of any.
//! May use: `channel`, `engine`, `error`, `gate`, `net`.
//! Never: a send that waits: what nobody has taken yet stays where it is.

use super::end::ChannelEnd;
use super::receiver::RemoteReceiver;
use super::refusal::{RemoteRecvError, RemoteSendError};
use super::sender::RemoteSender;
use crate::channel::{ChannelTable, EndBell, EndRole};
use crate::engine::{AtDeadline, Engine, WaitsLong};
use crate::error::{Late, NetError};
use crate::gate::lock;
use crate::net::Net;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::Duration;

/// Messages of bytes between all ranks of a job: any of them sends, to any, itself too, at any time, and one receives
/// what has come, from whomever. Made by [`Net::post_box`].
///
/// What a rank sends to another one arrives in its order. Nothing bounds how much is on its way: that is for those who
/// use it, as by answers.
pub struct PostBox {
    engine: Arc<Engine>,
    to: Vec<Mutex<RemoteSender<Vec<u8>>>>,
    from: Mutex<BoxReceivers>,
    bell: Arc<EndBell>,
}

/// The ends that receive.
struct BoxReceivers {
    /// By rank; none of one that has closed its own.
    ends: Vec<Option<RemoteReceiver<Vec<u8>>>>,
    /// Where the next look begins: nobody is to be overlooked because others send much.
    next: usize,
    /// Nothing was ready when the bell had been rung so often.
    seen: u32,
}

impl Net {
    /// Messages between all ranks. A collective call: it waits until all have made their box of that name.
    ///
    /// # Errors
    /// As [`sender`](Self::sender) and [`bind_channels`](Self::bind_channels), of this box.
    pub fn post_box(&self, name: &str) -> Result<PostBox, NetError> {
        let bell = Arc::<EndBell>::default();
        let (mut to, mut ends) = (Vec::new(), Vec::new());
        for rank in 0..self.size() {
            let own = Arc::default();
            let end = ChannelEnd::at_bell::<Vec<u8>>(self, name, (rank, EndRole::Sends), u32::MAX, own)?;
            to.push(Mutex::new(RemoteSender::new(end)));
            let role = (rank, EndRole::Receives);
            let end = ChannelEnd::at_bell::<Vec<u8>>(self, name, role, u32::MAX, bell.clone())?;
            ends.push(Some(RemoteReceiver::new(end)));
        }
        to.iter().try_for_each(|end| lock(end).wait_until_bound())?;
        let from = Mutex::new(BoxReceivers { ends, next: 0, seen: 0 });
        Ok(PostBox { engine: self.engine.clone(), to, from, bell })
    }
}

impl PostBox {
    /// Sends a message, and does not wait until it is received.
    ///
    /// # Errors
    /// [`NetError::Over`] if that rank has dropped its box, or this one its net; others.
    ///
    /// # Panics
    /// If there is no such rank.
    pub fn send(&self, rank: usize, message: Vec<u8>) -> Result<(), NetError> {
        lock(&self.to[rank]).send(message).map_err(|error| match error {
            RemoteSendError::Disconnected(_) => NetError::Over,
            RemoteSendError::Failed(_, error) => error,
        })
    }

    /// Waits for a message, as long as that takes, and gives it with the rank that has sent it; none if all others
    /// have dropped their boxes, and all that they had sent is received. Parks the caller.
    ///
    /// # Errors
    /// [`NetError::Over`] and others.
    pub fn receive(&self) -> Result<Option<(usize, Vec<u8>)>, NetError> {
        match self.receive_timeout(Duration::MAX) {
            Ok(message) => Ok(Some(message)),
            Err(RemoteRecvError::Disconnected) => Ok(None),
            Err(RemoteRecvError::Empty) => Err(NetError::Over),
            Err(RemoteRecvError::Failed(error)) => Err(error),
        }
    }

    /// As [`receive`](Self::receive), and gives up after so long, which is no fault.
    ///
    /// # Errors
    /// [`RemoteRecvError::Empty`] if nothing has come by then, [`RemoteRecvError::Disconnected`] if nothing can come
    /// any more; else as `receive`.
    pub fn receive_timeout(&self, timeout: Duration) -> Result<(usize, Vec<u8>), RemoteRecvError> {
        let mut from = lock(&self.from);
        while from.has_others() {
            // The bytes of one that was taken ring no bell when they have come.
            let ready = match from.taken_rank() {
                Some(rank) => Some(rank),
                None => self.ready_rank(&from, timeout).map_err(RemoteRecvError::Failed)?,
            };
            let rank = ready.ok_or(RemoteRecvError::Empty)?;
            from.next = rank + 1;
            let Some(end) = &mut from.ends[rank] else { continue };
            match end.recv() {
                Ok(message) => return Ok((rank, message)),
                Err(RemoteRecvError::Disconnected | RemoteRecvError::Empty) => from.ends[rank] = None,
                Err(error) => return Err(error),
            }
        }
        Err(RemoteRecvError::Disconnected)
    }

    /// A message that is here, by one who must not wait, as a [poller](raddle_core::door::poller) must not: it looks at
    /// MPI once. A large one is here when all its bytes are, which begin to come by this; the order of what a rank has
    /// sent stays.
    ///
    /// # Errors
    /// As [`receive_timeout`](Self::receive_timeout); [`RemoteRecvError::Empty`], too, while somebody else receives.
    pub fn try_receive(&self) -> Result<(usize, Vec<u8>), RemoteRecvError> {
        self.engine.poll();
        if let Some(error) = self.engine.given_up() {
            return Err(RemoteRecvError::Failed(error));
        }
        let mut from = match self.from.try_lock() {
            Ok(from) => from,
            Err(TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
            Err(TryLockError::WouldBlock) => return Err(RemoteRecvError::Empty),
        };
        // Before the look: what comes after that changes it. Acquire pairs with the release in `DueRing::ring`.
        let rung = self.bell.word.load(Ordering::Acquire);
        if rung == from.seen && from.taken_rank().is_none() {
            return Err(RemoteRecvError::Empty);
        }
        let ends = from.in_turn();
        let has_taken = |rank: usize| from.ends[rank].as_ref().is_some_and(RemoteReceiver::has_taken);
        let ready = self.engine.with_channels(|channels, _, _| {
            let ready = ends.iter().filter(|(rank, end)| has_taken(*rank) || is_ready(channels, *end));
            ready.map(|(rank, _)| *rank).collect()
        });
        let ready: Vec<usize> = ready.map_err(RemoteRecvError::Failed)?;
        let is_any = !ready.is_empty();
        for rank in ready {
            let Some(end) = &mut from.ends[rank] else { continue };
            match end.recv_if_here() {
                Ok(message) => {
                    from.next = rank + 1;
                    return Ok((rank, message));
                }
                Err(RemoteRecvError::Empty) => {}
                Err(RemoteRecvError::Disconnected) => from.ends[rank] = None,
                Err(error) => return Err(error),
            }
        }
        if !from.has_others() {
            return Err(RemoteRecvError::Disconnected);
        }
        if !is_any {
            from.seen = rung;
        }
        Err(RemoteRecvError::Empty)
    }

    /// How long who looks by [`try_receive`](Self::try_receive) may pause until the next look: an eighth of the time in
    /// which nothing has moved between the ranks, at most 32 ms. While bytes move, which in some modes they do only
    /// when somebody looks, that is next to nothing.
    pub fn lull(&self) -> Duration {
        self.engine.lull()
    }

    /// A rank whose end has an answer.
    fn ready_rank(&self, from: &BoxReceivers, timeout: Duration) -> Result<Option<usize>, NetError> {
        let numbers = from.in_turn();
        let late = |_: &ChannelTable, waited| Late {
            what: "a box".to_owned(),
            waited,
            pending: Vec::new(),
            strays: Vec::new(),
        };
        self.engine.wait_at(
            &self.bell,
            (timeout, AtDeadline::GoesOn),
            |channels, _| {
                numbers.iter().find(|(_, number)| is_ready(channels, *number)).map(|(rank, _)| *rank)
            },
            WaitsLong { asks_first: true, asks: &|_, _, _| (), late: &late },
        )
    }
}

fn is_ready(channels: &ChannelTable, number: u32) -> bool {
    channels.end(number).is_none_or(|record| record.is_ready())
}

impl BoxReceivers {
    /// The ranks with open ends, from the next one on, and the numbers of these.
    fn in_turn(&self) -> Vec<(usize, u32)> {
        let ranks = self.ends.len();
        let order = (0..ranks).map(|step| (self.next + step) % ranks);
        order.filter_map(|rank| Some((rank, self.ends[rank].as_ref()?.number()))).collect()
    }

    /// A rank of which a message was taken whose bytes may not have come yet.
    fn taken_rank(&self) -> Option<usize> {
        self.ends.iter().position(|end| end.as_ref().is_some_and(RemoteReceiver::has_taken))
    }

    /// Whether any may come but from this rank itself, whose own end stays open as long as the box.
    fn has_others(&self) -> bool {
        let open = self.ends.iter().flatten().count();
        open > usize::from(self.ends.len() > 1)
    }
}

impl fmt::Debug for PostBox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostBox").field("ranks", &self.to.len()).finish_non_exhaustive()
    }
}
