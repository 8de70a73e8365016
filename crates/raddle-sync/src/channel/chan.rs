//! Owns: `Chan`, a channel that its ends share: every operation, with its waiting and waking.
//! May use: `chunks`, `host`, `raddle-core`, `raddle-protocol`.
//! Never: the lock over a switch, or the user's code (a message's drop) inside it.
//!
//! Each operation first tries inside the lock, if the note says that this may succeed. To wait without a deadline it
//! tries once more, puts its entry into the queue, and leaves its stack: so a rendezvous costs one locked instruction
//! on either side, and whoever takes the entry out may wake at once. With a deadline, or at several channels, a
//! [`Waiter`] says who ended the wait.

use super::core::{CAN_RECEIVE, CAN_SEND, Core, Received, Sent, Side, Wakes};
use super::error::{RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError};
use super::list::{Left, Sleeper, Ticket, WaitEntry};
use super::place::MessageSlot;
use super::stash::Found;
use crate::chunks::ChunkedQueue;
use crate::host::park::{caller, may_wait, plain_caller, wait_shown};
use crate::host::region;
use crate::host::{CallOn, Outcome, Subject, Thing, Wait, WaitCall, WaitReason, Waiter, WakeRight};
use raddle_protocol::protocol::short::Short;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// What the ends of a channel share.
pub(super) struct Chan<T> {
    pub(super) core: Short<Core<T>>,
    ends: Ends,
}

/// How many ends there are; and what a report names a channel by.
pub(super) struct Ends {
    senders: AtomicUsize,
    receivers: AtomicUsize,
    /// Where this lies in the channel, how large that is, and its alignment.
    whole: (usize, usize, usize),
}

const SEND: CallOn<Ends> = CallOn::new("channel::Sender::send", WaitReason::Send);
const SEND_DEADLINE: CallOn<Ends> = CallOn::with_deadline("channel::Sender::send_deadline", WaitReason::Send);
const RECV: CallOn<Ends> = CallOn::new("channel::Receiver::recv", WaitReason::Receive);
const RECV_DEADLINE: CallOn<Ends> =
    CallOn::with_deadline("channel::Receiver::recv_deadline", WaitReason::Receive);

impl Subject for Ends {
    const KIND: &'static str = "channel";

    fn things(&self, each: &mut dyn FnMut(Thing)) {
        let is_one = |ends: &AtomicUsize| ends.load(Ordering::Relaxed) == 1;
        let thing = Thing::within(Ends::KIND, std::ptr::from_ref(self).addr(), self.whole);
        each(thing.between_two(is_one(&self.senders) && is_one(&self.receivers)));
    }

    fn state(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let count = |ends: &AtomicUsize| ends.load(Ordering::Relaxed);
        write!(out, "senders: {}, receivers: {}", count(&self.senders), count(&self.receivers))
    }
}

impl<T> Chan<T> {
    /// A channel with one end of each kind.
    pub(super) fn new(capacity: usize) -> Self {
        let one = || AtomicUsize::new(1);
        let whole = (std::mem::offset_of!(Chan<T>, ends), size_of::<Chan<T>>(), align_of::<Chan<T>>());
        let ends = Ends { senders: one(), receivers: one(), whole };
        Chan { core: Short::new(Core::new(capacity)), ends }
    }

    /// What one waits for at it.
    pub(super) fn thing(&self) -> Option<Thing> {
        let mut thing = None;
        self.ends.things(&mut |it| thing = Some(it));
        thing
    }

    #[inline]
    pub(super) fn wake(&self, wakes: Wakes) {
        if let Some(right) = wakes.one {
            right.wake();
        }
        if let Some(side) = wakes.watchers {
            self.wake_watchers(side);
        }
    }

    #[cold]
    fn wake_watchers(&self, side: Side) {
        let next = |core: &mut Core<T>| loop {
            match core.watchers(side).take_first()?.end(Left::Done) {
                None => {}
                ended => return ended,
            }
        };
        while let Some(right) = self.core.enter(next) {
            right.wake();
        }
    }

    #[inline]
    pub(super) fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        match self.core.enter(|core| core.send(message)) {
            Sent::Taken(wakes) => {
                self.wake(wakes);
                Ok(())
            }
            Sent::Full(message) => Err(TrySendError::Full(message)),
            Sent::Disconnected(message) => Err(TrySendError::Disconnected(message)),
        }
    }

    /// PERF: compiled into the program's own code, the wait included, so that no return after the switch is
    /// mispredicted; bench `rendezvous`.
    #[inline(always)]
    #[track_caller]
    pub(super) fn send(&self, message: T) -> Result<(), SendError<T>> {
        if self.core.look() & CAN_SEND == 0 {
            return self.send_waiting(message);
        }
        match self.try_send(message) {
            Ok(()) => Ok(()),
            Err(TrySendError::Disconnected(message)) => Err(SendError(message)),
            Err(TrySendError::Full(message)) => self.send_waiting(message),
        }
    }

    #[inline(always)]
    #[track_caller]
    fn send_waiting(&self, message: T) -> Result<(), SendError<T>> {
        if plain_caller().is_none() {
            // Panics in a task, and has to before the message is where nobody drops it.
            caller(SEND.name());
            if region::is_in_one() {
                return self.send_in_region(message, Location::caller());
            }
        }
        let wait = Wait::on(const { &SEND }, &self.ends, Location::caller());
        let (place, entry) = (MessageSlot::with(message), WaitEntry::new());
        wait_shown(&wait, |header| {
            entry.prepare(Sleeper::Parked(header), place.address(), 0);
            self.send_or_wait(&place, &entry)
        });
        match entry.left() {
            Left::Done => Ok(()),
            // SAFETY: nobody has taken it.
            _ => Err(SendError(unsafe { place.take() })),
        }
    }

    /// Tries once more, or puts the entry into the queue; true if it waits there.
    #[inline(never)]
    fn send_or_wait(&self, place: &MessageSlot<T>, entry: &WaitEntry) -> bool {
        let (waits, wakes) = self.core.enter(|core| {
            // SAFETY: it has not been sent, so it is in its place.
            match core.send(unsafe { place.take() }) {
                Sent::Taken(wakes) => {
                    entry.leave(Left::Done);
                    (false, wakes)
                }
                Sent::Disconnected(message) => {
                    place.put(message);
                    entry.leave(Left::Disconnected);
                    (false, Wakes::default())
                }
                Sent::Full(message) => {
                    place.put(message);
                    // SAFETY: the sender's frame stays until it is woken, or has taken the entry out; its message
                    // is in the place.
                    unsafe { core.wait(Side::Send, entry) };
                    (true, Wakes::default())
                }
            }
        });
        // Not to be touched if it waits: it may have been resumed elsewhere, and the channel may be gone.
        if !waits {
            self.wake(wakes);
        }
        waits
    }

    #[track_caller]
    pub(super) fn send_until(&self, message: T, deadline: Instant) -> Result<(), SendTimeoutError<T>> {
        let message = match self.try_send(message) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Disconnected(message)) => return Err(SendTimeoutError::Disconnected(message)),
            Err(TrySendError::Full(message)) => message,
        };
        // As in `send_waiting`.
        caller(SEND_DEADLINE.name());
        let wait = Wait::on(const { &SEND_DEADLINE }, &self.ends, Location::caller());
        self.send_or_give_up(message, Some(deadline), &wait)
    }

    /// As [`send`](Self::send), for a caller that may be cancelled.
    #[cold]
    fn send_in_region(&self, mut message: T, site: &'static Location<'static>) -> Result<(), SendError<T>> {
        let wait = Wait::on(const { &SEND }, &self.ends, site);
        loop {
            message = match self.send_or_give_up(message, None, &wait) {
                Ok(()) => return Ok(()),
                Err(SendTimeoutError::Disconnected(message)) => return Err(SendError(message)),
                Err(SendTimeoutError::Timeout(message)) => message,
            };
        }
    }

    /// Waits for a place until `deadline`, or unwinds if the caller is cancelled.
    #[track_caller]
    fn send_or_give_up(
        &self,
        message: T,
        deadline: Option<Instant>,
        wait: &Wait<'_>,
    ) -> Result<(), SendTimeoutError<T>> {
        let _shown = wait.show();
        let (place, entry) = (MessageSlot::with(message), WaitEntry::new());
        let expired = self.wait_timed(wait.call(), Side::Send, deadline, |waiter| {
            entry.prepare(Sleeper::Waiter(waiter), place.address(), 0);
            self.send_or_wait(&place, &entry).then_some(&entry)
        });
        match entry.left() {
            _ if expired => {
                // SAFETY: after an expired wait what was left is void, and nobody has taken the message.
                let message = unsafe { place.take() };
                region::check();
                Err(SendTimeoutError::Timeout(message))
            }
            Left::Done => Ok(()),
            // SAFETY: nobody has taken it.
            _ => Err(SendTimeoutError::Disconnected(unsafe { place.take() })),
        }
    }

    /// Waits with a deadline, if `enqueue` has put an entry into the queue of `side`. True if the deadline came first.
    #[track_caller]
    fn wait_timed<'a>(
        &self,
        call: &'static WaitCall,
        side: Side,
        deadline: Option<Instant>,
        enqueue: impl FnOnce(&Waiter) -> Option<&'a WaitEntry>,
    ) -> bool {
        let waiter = Waiter::new(call);
        let Some(entry) = enqueue(&waiter) else { return false };
        let expired = waiter.wait(deadline) == Outcome::Expired;
        if expired {
            self.core.enter(|core| core.leave(side, entry));
        }
        expired
    }

    #[inline]
    #[track_caller]
    pub(super) fn try_recv(&self) -> Result<T, TryRecvError> {
        if self.core.look() & CAN_RECEIVE == 0 && self.core.look_surely() & CAN_RECEIVE == 0 {
            return Err(TryRecvError::Empty);
        }
        self.recv_now(Location::caller())
    }

    #[inline]
    #[track_caller]
    fn recv_now(&self, site: &'static Location<'static>) -> Result<T, TryRecvError> {
        match self.core.enter(|core| core.receive(may_wait)) {
            Received::Message(message, wakes) => {
                self.wake(wakes);
                Ok(message)
            }
            Received::Promised(ticket, wakes) => {
                self.wake(wakes);
                self.fetch(ticket, site).ok_or(TryRecvError::Empty)
            }
            Received::Empty => Err(TryRecvError::Empty),
            Received::Disconnected => Err(TryRecvError::Disconnected),
        }
    }

    /// PERF: as [`send`](Self::send).
    #[inline(always)]
    #[track_caller]
    pub(super) fn recv(&self, site: &'static Location<'static>) -> Result<T, RecvError> {
        loop {
            if self.core.look() & CAN_RECEIVE != 0 {
                match self.recv_now(site) {
                    Ok(message) => return Ok(message),
                    Err(TryRecvError::Disconnected) => return Err(RecvError),
                    Err(TryRecvError::Empty) => {}
                }
            }
            if let Some(received) = self.recv_waiting(const { &RECV }, site) {
                return received;
            }
        }
    }

    /// Whether who receives may be cancelled. Panics in a task.
    #[cold]
    #[track_caller]
    fn recv_is_cancellable(&self, call: &'static CallOn<Ends>) -> bool {
        caller(call.name());
        region::is_in_one()
    }

    /// Waits for a message, in a call that reports name so. `None` if a selection had promised one and broke its
    /// promise.
    #[inline(always)]
    #[track_caller]
    pub(super) fn recv_waiting(
        &self,
        call: &'static CallOn<Ends>,
        site: &'static Location<'static>,
    ) -> Option<Result<T, RecvError>> {
        if plain_caller().is_none() && self.recv_is_cancellable(call) {
            return self.recv_in_region(call, site);
        }
        let wait = Wait::on(call, &self.ends, site);
        let (place, entry) = (MessageSlot::empty(), WaitEntry::new());
        wait_shown(&wait, |header| {
            entry.prepare(Sleeper::Parked(header), place.address(), 0);
            self.recv_or_wait(&place, &entry)
        });
        self.received(&place, entry.left(), site)
    }

    /// As [`recv_waiting`](Self::recv_waiting), for a caller that may be cancelled.
    #[cold]
    #[track_caller]
    fn recv_in_region(
        &self,
        call: &'static CallOn<Ends>,
        site: &'static Location<'static>,
    ) -> Option<Result<T, RecvError>> {
        self.recv_or_give_up(call, None, site)?.map(|received| received.map_err(|_| RecvError))
    }

    /// Waits for a message until `deadline`, or unwinds if the caller is cancelled. The outer is `None` if the deadline
    /// came first, the inner if a promise was broken.
    #[expect(
        clippy::option_option,
        reason = "two reasons for nothing, of which the second means another look"
    )]
    #[track_caller]
    pub(super) fn recv_or_give_up(
        &self,
        call: &'static CallOn<Ends>,
        deadline: Option<Instant>,
        site: &'static Location<'static>,
    ) -> Option<Option<Result<T, RecvError>>> {
        let wait = Wait::on(call, &self.ends, site);
        let (place, entry) = (MessageSlot::empty(), WaitEntry::new());
        let expired = {
            let _shown = wait.show();
            self.wait_timed(wait.call(), Side::Receive, deadline, |waiter| {
                entry.prepare(Sleeper::Waiter(waiter), place.address(), 0);
                self.recv_or_wait(&place, &entry).then_some(&entry)
            })
        };
        if expired {
            region::check();
            return None;
        }
        // The message may still be on its way: that is a wait of its own.
        Some(self.received(&place, entry.left(), site))
    }

    #[track_caller]
    fn received(
        &self,
        place: &MessageSlot<T>,
        left: Left,
        site: &'static Location<'static>,
    ) -> Option<Result<T, RecvError>> {
        match left {
            // SAFETY: whoever left this has put a message there.
            Left::Done => Some(Ok(unsafe { place.take() })),
            Left::Ticket(ticket) => self.fetch(ticket, site).map(Ok),
            _ => Some(Err(RecvError)),
        }
    }

    /// Tries once more, or puts the entry into the queue; true if it waits there.
    #[inline(never)]
    fn recv_or_wait(&self, place: &MessageSlot<T>, entry: &WaitEntry) -> bool {
        // It may wait, or it would not be here; who runs here now is perhaps the next context.
        let (waits, wakes) = self.core.enter(|core| match core.receive(|| true) {
            Received::Message(message, wakes) => {
                place.put(message);
                entry.leave(Left::Done);
                (false, wakes)
            }
            Received::Promised(ticket, wakes) => {
                entry.leave(Left::Ticket(ticket));
                (false, wakes)
            }
            Received::Disconnected => {
                entry.leave(Left::Disconnected);
                (false, Wakes::default())
            }
            Received::Empty => {
                // SAFETY: the receiver's frame stays until it is woken, or has taken the entry out; the place is empty.
                unsafe { core.wait(Side::Receive, entry) };
                (true, Wakes::default())
            }
        });
        // Not to be touched if it waits: it may have been resumed elsewhere, and the channel may be gone.
        if !waits {
            self.wake(wakes);
        }
        waits
    }

    #[track_caller]
    pub(super) fn recv_until(&self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        let site = Location::caller();
        loop {
            match self.recv_now(site) {
                Ok(message) => return Ok(message),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                Err(TryRecvError::Empty) => {}
            }
            caller(RECV_DEADLINE.name());
            match self.recv_or_give_up(const { &RECV_DEADLINE }, Some(deadline), site) {
                None => return Err(RecvTimeoutError::Timeout),
                Some(Some(received)) => return received.map_err(RecvTimeoutError::from),
                Some(None) => {}
            }
        }
    }

    /// Fetches the message with this ticket, waiting for it if it was only promised. `None` if it will not come.
    #[track_caller]
    pub(super) fn fetch(&self, ticket: Ticket, site: &'static Location<'static>) -> Option<T> {
        let wait = Wait::on(const { &RECV }, &self.ends, site);
        loop {
            match self.core.enter(|core| core.stash.take(ticket)) {
                Found::Here(message) => return Some(message),
                Found::Broken => return None,
                Found::NotYet => wait_shown(&wait, |header| {
                    // SAFETY: the caller waits, and whoever takes the right from the stash has the only one.
                    self.core.enter(|core| core.stash.wait_for(ticket, || unsafe { WakeRight::of(header) }))
                }),
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.core.enter(|core| core.buffer.len())
    }

    pub(super) fn is_full(&self) -> bool {
        self.core.enter(|core| !core.has_place())
    }

    pub(super) fn capacity(&self) -> Option<usize> {
        let capacity = self.core.enter(|core| core.capacity);
        (capacity != usize::MAX).then_some(capacity)
    }

    pub(super) fn add(&self, side: Side) {
        self.count(side).fetch_add(1, Ordering::Relaxed);
    }

    fn count(&self, side: Side) -> &AtomicUsize {
        match side {
            Side::Send => &self.ends.senders,
            Side::Receive => &self.ends.receivers,
        }
    }

    /// One end is dropped; the last of its side disconnects the channel.
    pub(super) fn drop_end(&self, side: Side) {
        // Not inside the lock: a message's drop may use this very channel.
        drop(self.take_end(side));
    }

    /// As [`drop_end`](Self::drop_end); what nobody will receive any more is the caller's, to be dropped.
    pub(super) fn take_end(&self, side: Side) -> Option<ChunkedQueue<T>> {
        // Release pairs with acquire of the last: what an end did comes before the disconnection that follows.
        let is_last = self.count(side).fetch_sub(1, Ordering::AcqRel) == 1;
        if is_last { self.disconnect(side) } else { None }
    }

    fn disconnect(&self, gone: Side) -> Option<ChunkedQueue<T>> {
        let (unwanted, other) = self.core.enter(|core| match gone {
            Side::Send => {
                core.senders_gone = true;
                (None, Side::Receive)
            }
            Side::Receive => {
                core.receivers_gone = true;
                (Some(std::mem::take(&mut core.buffer)), Side::Send)
            }
        });
        while let Some(right) = self.core.enter(|core| core.next_to_disconnect(other)) {
            right.wake();
        }
        unwanted
    }
}
