//! Owns: `Stash`, the messages of a channel that are on their way between two who have agreed on them.
//! May use: `host::waiter`, `raddle-core`.
//! Never: a lock; it lies inside the channel's.
//!
//! A selection is in two steps: it agrees on an operation, and the user completes it. Between the two a message that
//! was received has to be somewhere, and one that is to be sent may not exist yet. Each such message has a ticket:
//!
//! | state | meaning | next |
//! |---|---|---|
//! | `Promised` | the sender was selected and has not sent; perhaps the receiver waits | `Here`, or `Broken` |
//! | `Here` | the message waits for its receiver | taken |
//! | `Broken` | the sender will not send: it panicked between the two steps | taken, by the receiver |
//! | `Abandoned` | the receiver, a future, was dropped; the sender has not sent | given on, to any receiver |
//! | not there | the receiver will not receive: it panicked between the two steps | - |
//!
//! There are hardly ever more than a few: a search is a look at the first.

use super::list::Ticket;
use crate::host::WakeRight;

enum MessageState<T> {
    Promised(Option<WakeRight>),
    Here(T),
    Broken,
    #[cfg_attr(not(feature = "scheduler"), allow(dead_code, reason = "there are no futures then"))]
    Abandoned,
}

/// What has become of a promise that was kept.
pub(super) enum Fulfilled<T> {
    /// The receiver has the message, and is woken.
    Kept(Option<WakeRight>),
    /// The receiver is no more: any other may have it.
    Abandoned(T),
    /// The receiver will not receive, and nobody else is to.
    Refused(T),
}

/// The messages with tickets.
pub(super) struct Stash<T> {
    messages: Vec<(Ticket, MessageState<T>)>,
    given: u64,
}

/// What a receiver finds under its ticket.
pub(super) enum Found<T> {
    Here(T),
    NotYet,
    Broken,
}

impl<T> Stash<T> {
    pub(super) const fn new() -> Self {
        Stash { messages: Vec::new(), given: 0 }
    }

    /// A ticket that no other is or was.
    pub(super) fn ticket(&mut self) -> Ticket {
        self.given += 1;
        Ticket(self.given)
    }

    pub(super) fn promise(&mut self, ticket: Ticket) {
        self.messages.push((ticket, MessageState::Promised(None)));
    }

    pub(super) fn put(&mut self, ticket: Ticket, message: T) {
        self.messages.push((ticket, MessageState::Here(message)));
    }

    fn position(&self, ticket: Ticket) -> Option<usize> {
        self.messages.iter().position(|(other, _)| *other == ticket)
    }

    fn keep(&mut self, ticket: Ticket, state: MessageState<T>) -> Option<WakeRight> {
        let at = self.position(ticket)?;
        match std::mem::replace(&mut self.messages[at].1, state) {
            MessageState::Promised(receiver) => receiver,
            _ => unreachable!("a ticket is for one message"),
        }
    }

    /// Keeps a promise.
    pub(super) fn fulfil(&mut self, ticket: Ticket, message: T) -> Fulfilled<T> {
        match self.position(ticket) {
            Some(at) if self.is_abandoned(at) => {
                self.messages.swap_remove(at);
                Fulfilled::Abandoned(message)
            }
            Some(_) => Fulfilled::Kept(self.keep(ticket, MessageState::Here(message))),
            None => Fulfilled::Refused(message),
        }
    }

    fn is_abandoned(&self, at: usize) -> bool {
        matches!(self.messages[at].1, MessageState::Abandoned)
    }

    /// The sender will not send.
    pub(super) fn break_promise(&mut self, ticket: Ticket) -> Option<WakeRight> {
        let at = self.position(ticket)?;
        if self.is_abandoned(at) {
            self.messages.swap_remove(at);
            return None;
        }
        self.keep(ticket, MessageState::Broken)
    }

    /// Looks for the message, and takes it.
    pub(super) fn take(&mut self, ticket: Ticket) -> Found<T> {
        let Some(at) = self.position(ticket) else { return Found::Broken };
        if matches!(self.messages[at].1, MessageState::Promised(_)) {
            return Found::NotYet;
        }
        match self.messages.swap_remove(at).1 {
            MessageState::Here(message) => Found::Here(message),
            MessageState::Promised(_) | MessageState::Broken | MessageState::Abandoned => Found::Broken,
        }
    }

    /// The receiver waits for the promised message; false if it has come, or will not come.
    pub(super) fn wait_for(&mut self, ticket: Ticket, receiver: impl FnOnce() -> WakeRight) -> bool {
        match self.position(ticket).map(|at| &mut self.messages[at].1) {
            Some(MessageState::Promised(waiting)) => {
                *waiting = Some(receiver());
                true
            }
            _ => false,
        }
    }

    /// The receiver, a future, is dropped before it has looked: the message, if it has come, and its right to be woken,
    /// if that is here still.
    #[cfg(feature = "scheduler")]
    pub(super) fn abandon(&mut self, ticket: Ticket) -> (Option<T>, Option<WakeRight>) {
        let Some(at) = self.position(ticket) else { return (None, None) };
        match std::mem::replace(&mut self.messages[at].1, MessageState::Abandoned) {
            MessageState::Promised(receiver) => (None, receiver),
            MessageState::Here(message) => {
                self.messages.swap_remove(at);
                (Some(message), None)
            }
            MessageState::Broken | MessageState::Abandoned => {
                self.messages.swap_remove(at);
                (None, None)
            }
        }
    }

    /// The receiver will not receive: the sender learns it, if it has not sent. What has been sent stays here.
    pub(super) fn give_up(&mut self, ticket: Ticket) {
        if let Some(at) = self.position(ticket)
            && !matches!(self.messages[at].1, MessageState::Here(_))
        {
            self.messages.swap_remove(at);
        }
    }
}
