//! Owns: `Operation`, a send or a receive that a selection may agree on, and the two that there are.
//! May use: `channel::chan`, `channel::clock`, `channel::core`, `channel::error`, `channel::list`,
//! `channel::receiver`, `channel::sender`, `host`, `raddle-core`.
//! Never: the choice between several.
//!
//! The message of a receive goes into a [`Room`] beside the operation, if it is small; a larger one stays in the
//! channel's stash until the operation is completed.

use super::super::chan::Chan;
use super::super::clock::Clock;
use super::super::core::{CAN_RECEIVE, CAN_SEND, Core, Received, Sent, Side, Wakes};
use super::super::error::{RecvError, SendError};
use super::super::list::{Left, Sleeper, WaitEntry};
use super::super::receiver::{Receiver, ReceiverFlavor};
use super::super::sender::Sender;
use crate::host::park::may_wait;
use crate::host::{Thing, Waiter, WakeRight};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Instant;

/// Room for a small message. Never drops it.
pub(super) struct Room(UnsafeCell<MaybeUninit<[u64; 4]>>);

impl Room {
    pub(super) const fn new() -> Room {
        Room(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// Where a message lies; null if there is not room enough.
    fn place<T>(&self) -> *mut T {
        let fits = size_of::<T>() <= size_of::<Room>() && align_of::<T>() <= align_of::<Room>();
        if fits { self.0.get().cast() } else { std::ptr::null_mut() }
    }

    /// A copy of the bits.
    pub(super) fn copy(&self) -> Room {
        // SAFETY: nobody writes into it any more: the wait is over.
        Room(UnsafeCell::new(unsafe { self.0.get().read() }))
    }
}

/// One operation on one channel.
pub(super) trait Operation {
    /// The word that says without a lock whether it is possible, and its bit there. None for a clock.
    fn note(&self) -> Option<(&AtomicU32, u32)>;
    /// What one waits for by it; `None` if it is never possible.
    fn thing(&self) -> Option<Thing>;
    /// The clock that it receives from, if it does.
    fn clock(&self) -> Option<&dyn Clock>;
    /// The channel that it is on, by address, while the operation lives: null for one that never has a message.
    fn channel(&self) -> *const ();
    /// Whether it would not wait now, by the channel's state and not by its note.
    fn is_possible(&self) -> bool;
    /// Agrees on it now, if it is possible.
    fn claim(&self, room: &Room) -> Option<Left>;
    /// Puts the entry into the queue, to be selected with `outcome`; false if it is possible now.
    ///
    /// # Safety
    /// Entry, waiter and room stay where they are until the entry has been selected or taken out.
    unsafe fn enqueue(&self, entry: &WaitEntry, waiter: &Waiter, room: &Room, outcome: u32) -> bool;
    /// Takes the entry out of the queue, if it is there.
    fn dequeue(&self, entry: &WaitEntry);
    /// As `enqueue`, to be told that it has become possible.
    ///
    /// # Safety
    /// As `enqueue`.
    unsafe fn watch(&self, entry: &WaitEntry, waiter: &Waiter, outcome: u32) -> bool;
    /// Takes the entry out, if it is there.
    fn unwatch(&self, entry: &WaitEntry);
    /// It was agreed on and will not be completed.
    fn cancel(&self, left: Left);
}

/// A word whose note never says yes.
static NEVER: AtomicU32 = AtomicU32::new(0);

/// # Safety
/// As [`Operation::enqueue`].
unsafe fn watch<T>(chan: &Chan<T>, side: Side, entry: &WaitEntry, waiter: &Waiter, outcome: u32) -> bool {
    entry.prepare(Sleeper::Waiter(waiter), std::ptr::null_mut(), outcome);
    chan.core.enter(|core| {
        let possible = core.can(side, waiter);
        if !possible {
            // SAFETY: passed on to the caller.
            unsafe { core.watchers(side).push(entry) };
        }
        !possible
    })
}

/// # Safety
/// As [`Operation::enqueue`].
unsafe fn enqueue<T>(chan: &Chan<T>, side: Side, entry: &WaitEntry, waiter: &Waiter) -> bool {
    chan.core.enter(|core| {
        let possible = core.can(side, waiter);
        if !possible {
            // SAFETY: passed on to the caller; the place is empty, or there is none.
            unsafe { core.wait(side, entry) };
        }
        !possible
    })
}

impl<T> Operation for Sender<T> {
    fn note(&self) -> Option<(&AtomicU32, u32)> {
        Some((self.chan.core.note_word(), CAN_SEND))
    }

    fn thing(&self) -> Option<Thing> {
        self.chan.thing()
    }

    fn clock(&self) -> Option<&dyn Clock> {
        None
    }

    fn channel(&self) -> *const () {
        Arc::as_ptr(&self.chan).cast()
    }

    fn is_possible(&self) -> bool {
        self.chan.core.enter(|core| core.can(Side::Send, std::ptr::null()))
    }

    fn claim(&self, _room: &Room) -> Option<Left> {
        let (left, wakes) = self.chan.core.enter(Core::reserve)?;
        self.chan.wake(wakes);
        Some(left)
    }

    unsafe fn enqueue(&self, entry: &WaitEntry, waiter: &Waiter, _room: &Room, outcome: u32) -> bool {
        // No place: the message does not exist yet.
        entry.prepare(Sleeper::Waiter(waiter), std::ptr::null_mut(), outcome);
        // SAFETY: passed on to the caller.
        unsafe { enqueue(&self.chan, Side::Send, entry, waiter) }
    }

    fn dequeue(&self, entry: &WaitEntry) {
        self.chan.core.enter(|core| core.leave(Side::Send, entry));
    }

    unsafe fn watch(&self, entry: &WaitEntry, waiter: &Waiter, outcome: u32) -> bool {
        // SAFETY: passed on to the caller.
        unsafe { watch(&self.chan, Side::Send, entry, waiter, outcome) }
    }

    fn unwatch(&self, entry: &WaitEntry) {
        self.chan.core.enter(|core| core.watchers(Side::Send).remove(entry));
    }

    fn cancel(&self, left: Left) {
        let rights = self.chan.core.enter(|core| match left {
            Left::Reserved => core.give_up_reserved(),
            Left::Ticket(ticket) => core.stash.break_promise(ticket).into_iter().collect(),
            Left::Nothing | Left::Done | Left::Disconnected => Vec::new(),
        });
        rights.into_iter().for_each(WakeRight::wake);
    }
}

/// Completes a send that was agreed on.
pub(super) fn complete_send<T>(sender: &Sender<T>, left: Left, message: T) -> Result<(), SendError<T>> {
    let chan = &*sender.chan;
    let (sent, rights) = chan.core.enter(|core| match left {
        Left::Reserved => core.send_reserved(message),
        Left::Ticket(ticket) => (core.keep_promise(ticket, message), Vec::new()),
        Left::Nothing | Left::Done | Left::Disconnected => (Sent::Disconnected(message), Vec::new()),
    });
    rights.into_iter().for_each(WakeRight::wake);
    match sent {
        Sent::Taken(wakes) => {
            chan.wake(wakes);
            Ok(())
        }
        Sent::Full(message) | Sent::Disconnected(message) => Err(SendError(message)),
    }
}

impl<T> Receiver<T> {
    fn chan(&self) -> Option<&Chan<T>> {
        match &self.kind {
            ReceiverFlavor::Chan(chan) => Some(chan),
            _ => None,
        }
    }

    fn claim_clock(&self, room: &Room) -> Option<Left> {
        let (ReceiverFlavor::Alarm(_, message) | ReceiverFlavor::Tick(_, message)) = &self.kind else {
            return None;
        };
        let now: Instant = self.clock().and_then(Clock::try_recv)?;
        // SAFETY: a clock's messages are `Instant`s, for which there is room, and it is empty.
        unsafe { room.place::<T>().write(message(now)) };
        Some(Left::Done)
    }
}

/// Receives into the room, or leaves the message in the stash.
fn claim_message<T>(core: &mut Core<T>, room: &Room) -> Option<(Left, Wakes)> {
    match core.receive(may_wait) {
        Received::Message(message, wakes) if room.place::<T>().is_null() => {
            let ticket = core.stash.ticket();
            core.stash.put(ticket, message);
            Some((Left::Ticket(ticket), wakes))
        }
        Received::Message(message, wakes) => {
            // SAFETY: there is room, and it is empty.
            unsafe { room.place::<T>().write(message) };
            Some((Left::Done, wakes))
        }
        Received::Promised(ticket, wakes) => Some((Left::Ticket(ticket), wakes)),
        Received::Disconnected => Some((Left::Disconnected, Wakes::default())),
        Received::Empty => None,
    }
}

impl<T> Operation for Receiver<T> {
    fn note(&self) -> Option<(&AtomicU32, u32)> {
        match &self.kind {
            ReceiverFlavor::Chan(chan) => Some((chan.core.note_word(), CAN_RECEIVE)),
            ReceiverFlavor::Never => Some((&NEVER, CAN_RECEIVE)),
            ReceiverFlavor::Alarm(..) | ReceiverFlavor::Tick(..) => None,
        }
    }

    fn thing(&self) -> Option<Thing> {
        match &self.kind {
            ReceiverFlavor::Chan(chan) => chan.thing(),
            ReceiverFlavor::Never => None,
            ReceiverFlavor::Alarm(..) | ReceiverFlavor::Tick(..) => Some(Thing::TIME),
        }
    }

    fn clock(&self) -> Option<&dyn Clock> {
        Receiver::clock(self)
    }

    fn channel(&self) -> *const () {
        match &self.kind {
            ReceiverFlavor::Chan(chan) => Arc::as_ptr(chan).cast(),
            ReceiverFlavor::Alarm(alarm, _) => Arc::as_ptr(alarm).cast(),
            ReceiverFlavor::Tick(tick, _) => Arc::as_ptr(tick).cast(),
            ReceiverFlavor::Never => std::ptr::null(),
        }
    }

    fn is_possible(&self) -> bool {
        match self.chan() {
            Some(chan) => chan.core.enter(|core| core.can(Side::Receive, std::ptr::null())),
            None => self.clock().is_some_and(Clock::is_ready),
        }
    }

    fn claim(&self, room: &Room) -> Option<Left> {
        let Some(chan) = self.chan() else { return self.claim_clock(room) };
        let (left, wakes) = chan.core.enter(|core| claim_message(core, room))?;
        chan.wake(wakes);
        Some(left)
    }

    unsafe fn enqueue(&self, entry: &WaitEntry, waiter: &Waiter, room: &Room, outcome: u32) -> bool {
        // The time of a clock is a deadline of the whole selection.
        let Some(chan) = self.chan() else { return true };
        entry.prepare(Sleeper::Waiter(waiter), room.place::<T>().cast(), outcome);
        // SAFETY: passed on to the caller.
        unsafe { enqueue(chan, Side::Receive, entry, waiter) }
    }

    fn dequeue(&self, entry: &WaitEntry) {
        if let Some(chan) = self.chan() {
            chan.core.enter(|core| core.leave(Side::Receive, entry));
        }
    }

    unsafe fn watch(&self, entry: &WaitEntry, waiter: &Waiter, outcome: u32) -> bool {
        // SAFETY: passed on to the caller.
        self.chan().is_none_or(|chan| unsafe { watch(chan, Side::Receive, entry, waiter, outcome) })
    }

    fn unwatch(&self, entry: &WaitEntry) {
        if let Some(chan) = self.chan() {
            chan.core.enter(|core| core.watchers(Side::Receive).remove(entry));
        }
    }

    /// A message that has been received is lost, and its memory with it: it may not be dropped here, perhaps on another
    /// thread than its own.
    fn cancel(&self, left: Left) {
        if let (Left::Ticket(ticket), Some(chan)) = (left, self.chan()) {
            chan.core.enter(|core| core.stash.give_up(ticket));
        }
    }
}

/// Completes a receive that was agreed on.
#[track_caller]
pub(super) fn complete_recv<T>(receiver: &Receiver<T>, left: Left, room: &Room) -> Result<T, RecvError> {
    let site = Location::caller();
    match left {
        // SAFETY: this was left after a message of this channel had been put there.
        Left::Done => Ok(unsafe { room.place::<T>().read() }),
        Left::Ticket(ticket) => receiver.chan().and_then(|chan| chan.fetch(ticket, site)).ok_or(RecvError),
        Left::Nothing | Left::Reserved | Left::Disconnected => Err(RecvError),
    }
}
