//! Owns: `EndRecord`: what a rank knows of one of its ends.
//! May use: `error`, `post`.
//! Never: MPI.

use super::bell::{DueRing, EndBell};
use super::chase::LongWait;
use super::flight::FrameMemory;
use super::frame::{Binding, EndRole};
use super::protocol::{ReceivingEnd, SendingEnd};
use crate::error::NetError;
use crate::post::Post;
use std::sync::Arc;

/// What a receiver knows of an offer.
pub(crate) enum OfferedMessage {
    /// It lies behind the head of this frame.
    Small(FrameMemory, usize),
    Large(usize),
}

/// What this end knows of its channel.
pub(crate) enum EndState {
    Sending(SendingEnd<Arc<Post>>),
    Receiving(ReceivingEnd<OfferedMessage>),
}

/// An end.
pub(crate) struct EndRecord {
    pub(crate) peer: usize,
    pub(crate) binding: Binding,
    /// How many were bound here before it. Ends of one name meet in that order, on both sides; numbers are used again.
    pub(super) order: u64,
    /// The number of the other end, when its rank has bound it.
    pub(crate) theirs: Option<u32>,
    /// Both do not agree, or the other one says what it may not.
    pub(crate) fault: Option<NetError>,
    pub(super) bell: Arc<EndBell>,
    pub(super) has_said_close: bool,
    /// Who receives here sends something to the same rank soon after, as far as is known.
    pub(super) answers: bool,
    /// Who has used it last, and who has waited at it for long.
    pub(super) user: Option<u64>,
    pub(super) wait: Option<LongWait>,
    /// In words, once its wait was found to be in a circle.
    pub(crate) circle: Option<String>,
    pub(crate) state: EndState,
}

impl EndRecord {
    /// An end of which nothing is known but that it is there.
    pub(super) fn new((peer, order): (usize, u64), binding: Binding, bell: Arc<EndBell>) -> EndRecord {
        let capacity = binding.capacity as usize;
        let state = match binding.role {
            EndRole::Sends => EndState::Sending(SendingEnd::new(capacity)),
            EndRole::Receives => EndState::Receiving(ReceivingEnd::new(capacity)),
        };
        let (theirs, fault, has_said_close, answers) = (None, None, false, false);
        let (user, wait, circle) = (None, None, None);
        EndRecord {
            peer,
            binding,
            order,
            theirs,
            fault,
            bell,
            has_said_close,
            answers,
            user,
            wait,
            circle,
            state,
        }
    }

    /// In words: a message is sent to, or received from, whom.
    pub(crate) fn describe(&self) -> String {
        let way = if self.binding.role == EndRole::Sends { "to" } else { "from" };
        format!("channel `{}` {way} rank {}", self.binding.name, self.peer)
    }

    /// Whether a receive has an answer.
    pub(crate) fn is_ready(&self) -> bool {
        self.fault.is_some() || matches!(&self.state, EndState::Receiving(end) if end.is_ready())
    }

    /// Something has come for it.
    pub(super) fn due(&self) -> DueRing {
        self.bell.due(self.is_ready())
    }

    pub(super) fn is_over(&self) -> bool {
        match &self.state {
            EndState::Sending(end) => end.is_over(),
            EndState::Receiving(end) => end.is_over(),
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        match &self.state {
            EndState::Sending(end) => end.is_closed(),
            EndState::Receiving(end) => end.is_closed(),
        }
    }
}
