//! Owns: the protocol of a channel between ranks: what each end knows of the other, and who may go on.
//! May use: nothing.
//! Never: MPI, a lock, a wait. `model` searches all interleavings.
//!
//! A send of MPI that is complete says that the bytes may be changed, not that anybody has them. So the ends talk:
//!
//! | who | says | when |
//! |---|---|---|
//! | sender | `Offer` | it has a message, and the receiver room for an offer; few bytes ride along |
//! | receiver | `Take` | it receives the oldest offer: it alone, of all that an alternation might have |
//! | sender | the bytes, if they have not ridden along | it hears `Take` |
//! | either | `Close` | it is dropped, or its net is: the last that it says |
//!
//! What an end says arrives in its order. A rendezvous has room for one offer, and its sender goes on when that was
//! taken. A buffer has room for as many offers as its capacity, and its sender goes on at once: each `Take` gives room
//! back. Since offers are never taken back, nobody waits for an answer to that, and an alternation over ends of many
//! ranks is a look at which have offers.
//!
//! A [boundless](BOUNDLESS) buffer never has no room, so that of its offers only those are answered whose bytes do not
//! ride along.
//!
//! `Take` may be said a little later, with what is said next to that rank: to the other end it is the same as one that
//! is long on its way. It is said before all else that this end says, and at the latest when somebody looks.
//!
//! An end that has said `Close` says nothing more, and hears what still comes; when both have said it, it is over.

use std::collections::VecDeque;

/// The capacity of a buffer that takes whatever comes.
pub(crate) const BOUNDLESS: usize = u32::MAX as usize;

/// The other end is gone, and nothing of it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndIsGone;

/// The other end says what it may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProtocolBroken;

/// What the sending end knows. `K` is what it keeps of a message whose bytes have not gone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SendingEnd<K> {
    /// 0 for a rendezvous.
    capacity: usize,
    offered: u64,
    taken: u64,
    /// Of the offers that are not taken, in their order; those that nobody answers are none.
    kept: VecDeque<Option<K>>,
    is_closed: bool,
    peer_is_gone: bool,
}

impl<K> SendingEnd<K> {
    pub(crate) fn new(capacity: usize) -> SendingEnd<K> {
        let (offered, taken) = (0, 0);
        SendingEnd { capacity, offered, taken, kept: VecDeque::new(), is_closed: false, peer_is_gone: false }
    }

    pub(crate) fn is_rendezvous(&self) -> bool {
        self.capacity == 0
    }

    /// Whether there is room for an offer; nothing, if that is to be waited for.
    pub(crate) fn room(&self) -> Option<Result<(), EndIsGone>> {
        if self.peer_is_gone {
            return Some(Err(EndIsGone));
        }
        (self.kept.len() < self.capacity.max(1)).then_some(Ok(()))
    }

    /// It offers a message, for which there is [room](Self::room): says `Offer`. By the number of the offer it asks
    /// whether that was taken. An end that has gone since is offered nothing: what is kept for it would stay for ever.
    pub(crate) fn offer(&mut self, kept: Option<K>) -> Result<u64, EndIsGone> {
        if self.peer_is_gone {
            return Err(EndIsGone);
        }
        self.offered += 1;
        if self.capacity == BOUNDLESS && kept.is_none() {
            self.taken += 1;
        } else {
            self.kept.push_back(kept);
        }
        Ok(self.offered)
    }

    /// Whether an offer was taken; nothing, if that is to be waited for.
    pub(crate) fn is_taken(&self, offer: u64) -> Option<Result<(), EndIsGone>> {
        if self.taken >= offer {
            return Some(Ok(()));
        }
        self.peer_is_gone.then_some(Err(EndIsGone))
    }

    /// Hears `Take`: what it has kept of the message goes now.
    pub(crate) fn hear_take(&mut self) -> Result<Option<K>, ProtocolBroken> {
        let kept = self.kept.pop_front().ok_or(ProtocolBroken)?;
        self.taken += 1;
        Ok(kept)
    }

    /// Hears `Close`: nothing will be taken any more.
    pub(crate) fn hear_close(&mut self) {
        self.peer_is_gone = true;
        self.kept.clear();
    }

    /// Is closed. What was offered may still be taken.
    pub(crate) fn close(&mut self) {
        self.is_closed = true;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Nothing more is to be heard or said.
    pub(crate) fn is_over(&self) -> bool {
        self.is_closed && self.peer_is_gone
    }

    /// How many messages are offered whose bytes are still here.
    pub(crate) fn kept(&self) -> usize {
        self.kept.iter().flatten().count()
    }

    /// How many messages were offered, and taken.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.offered, self.taken)
    }
}

/// What the receiving end knows. `O` is what it knows of an offer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ReceivingEnd<O> {
    capacity: usize,
    offers: VecDeque<O>,
    heard: u64,
    is_closed: bool,
    peer_is_gone: bool,
}

impl<O> ReceivingEnd<O> {
    pub(crate) fn new(capacity: usize) -> ReceivingEnd<O> {
        ReceivingEnd { capacity, offers: VecDeque::new(), heard: 0, is_closed: false, peer_is_gone: false }
    }

    /// Whether an offer whose bytes ride along is answered.
    pub(crate) fn answers_all(&self) -> bool {
        self.capacity != BOUNDLESS
    }

    /// Hears `Offer`. Once it is closed nobody takes that.
    pub(crate) fn hear_offer(&mut self, offer: O) -> Result<(), ProtocolBroken> {
        if self.peer_is_gone || self.offers.len() >= self.capacity.max(1) {
            return Err(ProtocolBroken);
        }
        self.heard += 1;
        if !self.is_closed {
            self.offers.push_back(offer);
        }
        Ok(())
    }

    /// Hears `Close`: what was offered before stays.
    pub(crate) fn hear_close(&mut self) {
        self.peer_is_gone = true;
    }

    /// How many offers wait to be taken.
    pub(crate) fn waiting(&self) -> usize {
        self.offers.len()
    }

    /// Whether [`take`](Self::take) has an answer.
    pub(crate) fn is_ready(&self) -> bool {
        !self.offers.is_empty() || self.peer_is_gone
    }

    /// Takes the oldest offer, and says `Take`; nothing, if one is to be waited for.
    pub(crate) fn take(&mut self) -> Option<Result<O, EndIsGone>> {
        match self.offers.pop_front() {
            Some(offer) => Some(Ok(offer)),
            None => self.peer_is_gone.then_some(Err(EndIsGone)),
        }
    }

    /// Is closed. What was offered and is not taken comes back to the sender, or is dropped.
    pub(crate) fn close(&mut self) {
        self.is_closed = true;
        self.offers.clear();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Nothing more is to be heard or said.
    pub(crate) fn is_over(&self) -> bool {
        self.is_closed && self.peer_is_gone
    }

    /// How many offers were heard.
    pub(crate) fn heard(&self) -> u64 {
        self.heard
    }
}

#[cfg(test)]
#[path = "model.rs"]
mod model;
