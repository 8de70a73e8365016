//! Owns: `Core`, all that a channel is, as one state that changes in steps.
//! May use: `chunks`, `host::waiter`, `raddle-core`, `raddle-protocol`.
//! Never: waiting, the user's code: it lies inside a `Short` lock. All but watchers are handed out to be woken.
//!
//! One structure serves every capacity. What holds between two steps:
//!
//! - `buffer.len() + reserved <= capacity`; a rendezvous has capacity 0, an unbounded channel `usize::MAX`. Messages
//!   that were *given back*, by a future that had received and was dropped, come on top of that, before all others: a
//!   place that was kept stays promised though there are more messages than places.
//! - Receivers wait only while the buffer is empty, senders only while there is no place.
//! - A message goes straight from frame to frame where one of the two waits already.
//!
//! A *reserved* place is kept for a selection that has agreed on a send and has not completed it. A *watcher* waits for
//! an operation to become possible and takes nothing.

use super::list::{Left, Taken, Ticket, WaitEntry, WaitList};
use super::stash::{Fulfilled, Stash};
use crate::chunks::ChunkedQueue;
use crate::host::{Waiter, WakeRight};
use raddle_protocol::protocol::short::Noted;
use std::mem::ManuallyDrop;

/// In the note: to receive would not wait.
pub(super) const CAN_RECEIVE: u32 = 1;
/// In the note: to send would not wait.
pub(super) const CAN_SEND: u32 = 2;

/// One of the two kinds of ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Send,
    Receive,
}

/// Whom a step wants to be woken, after the unlock.
#[derive(Default)]
#[must_use]
pub(super) struct Wakes {
    pub(super) one: Option<WakeRight>,
    /// All who watch this side.
    pub(super) watchers: Option<Side>,
}

impl Wakes {
    fn one(right: WakeRight) -> Wakes {
        Wakes { one: Some(right), watchers: None }
    }
}

/// What became of a message.
pub(super) enum Sent<T> {
    Taken(Wakes),
    Full(T),
    Disconnected(T),
}

/// What a receiver got.
pub(super) enum Received<T> {
    Message(T, Wakes),
    /// A selection has promised to send it.
    Promised(Ticket, Wakes),
    Empty,
    Disconnected,
}

/// The state of a channel.
pub(super) struct Core<T> {
    pub(super) buffer: ChunkedQueue<T>,
    pub(super) capacity: usize,
    pub(super) reserved: usize,
    pub(super) senders_gone: bool,
    pub(super) receivers_gone: bool,
    pub(super) stash: Stash<T>,
    senders: WaitList,
    receivers: WaitList,
    send_watchers: WaitList,
    receive_watchers: WaitList,
}

impl<T> Noted for Core<T> {
    #[inline(always)]
    fn note(&self) -> u32 {
        let meets = |others: &WaitList| self.capacity == 0 && !others.is_empty();
        let receive = !self.buffer.is_empty() || self.senders_gone || meets(&self.senders);
        let send = self.has_place() || self.receivers_gone || meets(&self.receivers);
        u32::from(receive) * CAN_RECEIVE + u32::from(send) * CAN_SEND
    }
}

impl<T> Core<T> {
    pub(super) fn new(capacity: usize) -> Self {
        Core {
            buffer: ChunkedQueue::new(),
            capacity,
            reserved: 0,
            senders_gone: false,
            receivers_gone: false,
            stash: Stash::new(),
            senders: WaitList::new(),
            receivers: WaitList::new(),
            send_watchers: WaitList::new(),
            receive_watchers: WaitList::new(),
        }
    }

    #[inline(always)]
    pub(super) fn has_place(&self) -> bool {
        self.buffer.len() + self.reserved < self.capacity
    }

    /// Whether `side` could do its operation now, with somebody who is not `me`.
    pub(super) fn can(&self, side: Side, me: *const Waiter) -> bool {
        match side {
            Side::Send => {
                let meets = self.capacity == 0 && self.receivers.has_other(me);
                self.receivers_gone || self.has_place() || meets
            }
            Side::Receive => {
                let meets = self.capacity == 0 && self.senders.has_other(me);
                self.senders_gone || !self.buffer.is_empty() || meets
            }
        }
    }

    /// Gives a message to one who waits, or to the buffer.
    #[inline]
    pub(super) fn send(&mut self, message: T) -> Sent<T> {
        self.send_if(message, Core::has_place)
    }

    /// As [`send`](Self::send); to the buffer only if it `may_take` it.
    #[inline]
    fn send_if(&mut self, message: T, may_take: impl FnOnce(&Self) -> bool) -> Sent<T> {
        if self.receivers_gone {
            return Sent::Disconnected(message);
        }
        let message = match self.hand_over(message) {
            Ok(right) => return Sent::Taken(Wakes::one(right)),
            Err(message) => message,
        };
        if !may_take(self) {
            return Sent::Full(message);
        }
        self.buffer.push_back(message);
        Sent::Taken(self.became_possible(Side::Receive))
    }

    /// Gives a message to the first receiver that still waits.
    #[inline]
    fn hand_over(&mut self, message: T) -> Result<WakeRight, T> {
        let message = ManuallyDrop::new(message);
        while let Some(receiver) = self.receivers.take_first() {
            let place = receiver.place().cast::<T>();
            let (left, ticket) = if place.is_null() {
                let ticket = self.stash.ticket();
                (Left::Ticket(ticket), Some(ticket))
            } else {
                // SAFETY: the place is for one `T`, and empty; if the selection is lost nobody looks into it.
                unsafe { place.cast::<ManuallyDrop<T>>().copy_from_nonoverlapping(&raw const message, 1) };
                (Left::Done, None)
            };
            let Some(right) = receiver.end(left) else { continue };
            if let Some(ticket) = ticket {
                self.stash.put(ticket, ManuallyDrop::into_inner(message));
            }
            return Ok(right);
        }
        Err(ManuallyDrop::into_inner(message))
    }

    /// Takes the oldest message. `may_wait` says whether one that is only promised will do.
    #[inline]
    pub(super) fn receive(&mut self, may_wait: fn() -> bool) -> Received<T> {
        if let Some(message) = self.buffer.pop_front() {
            return Received::Message(message, self.place_became_free());
        }
        if self.capacity == 0 {
            while let Some(sender) = self.senders.take(|entry| !entry.place().is_null() || may_wait()) {
                if sender.place().is_null() {
                    let ticket = self.stash.ticket();
                    if let Some(right) = sender.end(Left::Ticket(ticket)) {
                        self.stash.promise(ticket);
                        return Received::Promised(ticket, Wakes::one(right));
                    }
                } else if let Ok((message, right)) = take_from(sender) {
                    return Received::Message(message, Wakes::one(right));
                }
            }
        }
        if self.senders_gone { Received::Disconnected } else { Received::Empty }
    }

    /// Takes all messages at once, for the only receiver of an unbounded channel, whose own are none: into its queue,
    /// whose memory is the channel's then. False if there is none.
    #[inline]
    pub(super) fn receive_all(&mut self, own: &mut ChunkedQueue<T>) -> bool {
        debug_assert!(own.is_empty() && self.capacity == usize::MAX, "they would be mixed, or others wait");
        let some = !self.buffer.is_empty();
        if some {
            std::mem::swap(&mut self.buffer, own);
        }
        some
    }

    /// Agrees on a send whose message comes later; `None` if it would have to wait.
    pub(super) fn reserve(&mut self) -> Option<(Left, Wakes)> {
        if self.receivers_gone {
            return Some((Left::Disconnected, Wakes::default()));
        }
        if self.has_place() {
            self.reserved += 1;
            return Some((Left::Reserved, Wakes::default()));
        }
        if self.capacity == 0 {
            while let Some(receiver) = self.receivers.take_first() {
                let ticket = self.stash.ticket();
                if let Some(right) = receiver.end(Left::Ticket(ticket)) {
                    self.stash.promise(ticket);
                    return Some((Left::Ticket(ticket), Wakes::one(right)));
                }
            }
        }
        None
    }

    /// The message that was promised under this ticket.
    pub(super) fn keep_promise(&mut self, ticket: Ticket, message: T) -> Sent<T> {
        match self.stash.fulfil(ticket, message) {
            Fulfilled::Kept(one) => Sent::Taken(Wakes { one, watchers: None }),
            Fulfilled::Abandoned(message) => self.give_back(message),
            Fulfilled::Refused(message) => Sent::Disconnected(message),
        }
    }

    /// Gives a message on whose receiver is a future that was dropped: to the next who waits, or, since it is older
    /// than all that are in the buffer, before them.
    pub(super) fn give_back(&mut self, message: T) -> Sent<T> {
        if self.receivers_gone {
            return Sent::Disconnected(message);
        }
        match self.hand_over(message) {
            Ok(right) => Sent::Taken(Wakes::one(right)),
            Err(message) => {
                self.buffer.push_front(message);
                Sent::Taken(self.became_possible(Side::Receive))
            }
        }
    }

    /// Puts a message into the place that was kept for it.
    pub(super) fn send_reserved(&mut self, message: T) -> (Sent<T>, Vec<WakeRight>) {
        self.reserved -= 1;
        let sent = self.send_if(message, |_| true);
        // If a receiver waited, it has the message now, and the place is free.
        (sent, self.settle())
    }

    /// The place that was kept will not be used.
    pub(super) fn give_up_reserved(&mut self) -> Vec<WakeRight> {
        self.reserved -= 1;
        self.settle()
    }

    /// Serves those who wait on both sides of a place that was kept for somebody else, and is free. Any number of them
    /// may have to be woken, after the unlock: the caller's end keeps the channel.
    ///
    /// While a place is kept the buffer may be empty and yet full: receivers wait, and senders too.
    #[must_use = "they sleep until they are woken"]
    fn settle(&mut self) -> Vec<WakeRight> {
        let mut rights = Vec::new();
        while !self.receivers_gone
            && self.has_place()
            && let Some(sender) = self.senders.take_first()
        {
            if sender.place().is_null() {
                if let Some(right) = sender.end(Left::Reserved) {
                    self.reserved += 1;
                    rights.push(right);
                }
            } else if let Ok((message, right)) = take_from(sender) {
                rights.push(right);
                match self.hand_over(message) {
                    Ok(right) => rights.push(right),
                    Err(message) => self.buffer.push_back(message),
                }
            }
        }
        if self.has_place() {
            wake_all(&mut self.send_watchers);
        }
        if !self.buffer.is_empty() {
            wake_all(&mut self.receive_watchers);
        }
        rights
    }

    /// A place in the buffer has become free: the first sender that waits has it.
    #[inline]
    fn place_became_free(&mut self) -> Wakes {
        // There may be none yet, if messages were given back.
        while self.has_place()
            && let Some(sender) = self.senders.take_first()
        {
            if sender.place().is_null() {
                if let Some(right) = sender.end(Left::Reserved) {
                    self.reserved += 1;
                    return Wakes::one(right);
                }
            } else if let Ok((message, right)) = take_from(sender) {
                self.buffer.push_back(message);
                return Wakes::one(right);
            }
        }
        self.became_possible(Side::Send)
    }

    #[inline]
    fn became_possible(&self, side: Side) -> Wakes {
        let watchers = match side {
            Side::Send => &self.send_watchers,
            Side::Receive => &self.receive_watchers,
        };
        Wakes { one: None, watchers: (!watchers.is_empty()).then_some(side) }
    }

    /// Puts one who must wait into the queue of its side.
    ///
    /// At a rendezvous that makes the other side's operation possible. Who watches for that is woken here, inside: once
    /// the lock is free the one who waits may be resumed, by another worker if it is a thread, and the channel may go.
    ///
    /// # Safety
    /// As [`WaitList::push`]; a place of the entry holds a `T` if `side` sends, and can take one if it receives.
    pub(super) unsafe fn wait(&mut self, side: Side, entry: &WaitEntry) {
        let (list, watchers) = match side {
            Side::Send => (&mut self.senders, &mut self.receive_watchers),
            Side::Receive => (&mut self.receivers, &mut self.send_watchers),
        };
        // SAFETY: passed on to the caller.
        unsafe { list.push(entry) };
        if self.capacity == 0 {
            wake_all(watchers);
        }
    }

    /// Takes an entry out that nobody has taken.
    pub(super) fn leave(&mut self, side: Side, entry: &WaitEntry) {
        match side {
            Side::Send => self.senders.remove(entry),
            Side::Receive => self.receivers.remove(entry),
        }
    }

    pub(super) fn watchers(&mut self, side: Side) -> &mut WaitList {
        match side {
            Side::Send => &mut self.send_watchers,
            Side::Receive => &mut self.receive_watchers,
        }
    }

    /// The next to be told that the other side is gone: those who wait to send if `side` sends, and who watch it.
    pub(super) fn next_to_disconnect(&mut self, side: Side) -> Option<WakeRight> {
        let (waiting, watching) = match side {
            Side::Send => (&mut self.senders, &mut self.send_watchers),
            Side::Receive => (&mut self.receivers, &mut self.receive_watchers),
        };
        for list in [waiting, watching] {
            while let Some(entry) = list.take_first() {
                if let Some(right) = entry.end(Left::Disconnected) {
                    return Some(right);
                }
            }
        }
        None
    }
}

/// Wakes all who watch, inside the lock.
fn wake_all(watchers: &mut WaitList) {
    while let Some(watcher) = watchers.take_first() {
        watcher.end(Left::Done).into_iter().for_each(WakeRight::wake);
    }
}

/// Moves the message out of the frame of a sender that waits, and ends its wait; `Err` if that had ended otherwise.
#[inline]
fn take_from<T>(sender: Taken<'_>) -> Result<(T, WakeRight), ()> {
    // SAFETY: the place of a sender holds its message; a copy of the bits until the wait has been ended by us.
    let message = unsafe { sender.place().cast::<ManuallyDrop<T>>().read() };
    match sender.end(Left::Done) {
        Some(right) => Ok((ManuallyDrop::into_inner(message), right)),
        None => Err(()),
    }
}
