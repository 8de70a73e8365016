//! Owns: `WaitEntry`, by which one who waits stands at a channel, and `WaitList`, the queue of them.
//! May use: `host::waiter`, `raddle-core`, `raddle-protocol`.
//! Never: a message; an entry only says where it goes.
//!
//! An entry lies in the frame of the one who waits, and is linked, unlinked and written to under the channel's lock
//! only. Two kinds of sleepers have entries:
//!
//! | sleeper | who may end its wait | so an entry that was taken out |
//! |---|---|---|
//! | `Parked`: waits for this channel alone, without a deadline | this channel | is the right to wake it |
//! | `Waiter`: has a deadline, or waits for several channels | the first to select | is to be selected; may be lost |
//!
//! **First write, then select.** One that is selected may be running, and reads what was left in its entry without the
//! lock. So whoever takes an entry out writes the message and [`Left`] first and selects then; if somebody else was
//! faster, what was written is ignored: the message in the place is a copy of bits that nobody will use.

use crate::host::{Waiter, WakeRight};
use raddle_protocol::header::Header;
use std::cell::Cell;
use std::ptr::null;

/// Names a message that is on its way between two who have agreed on it, see [`super::stash`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(pub(super) u64);

/// What whoever ended a wait left for the one who waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Nothing,
    /// The message has been moved, from or to the entry's place.
    Done,
    /// The other side is gone.
    Disconnected,
    /// A place in the buffer is kept for the message of this sender.
    Reserved,
    /// The message is in the channel's stash, or will be, under this name.
    Ticket(Ticket),
}

#[derive(Clone, Copy)]
pub(super) enum Sleeper {
    Nobody,
    Parked(*mut Header),
    Waiter(*const Waiter),
}

/// One who waits, at one channel.
pub(super) struct WaitEntry {
    next: Cell<*const WaitEntry>,
    previous: Cell<*const WaitEntry>,
    linked: Cell<bool>,
    sleeper: Cell<Sleeper>,
    outcome: Cell<u32>,
    /// Where the message is, or where it is to go; null if the sleeper has none yet, or no place of its own.
    place: Cell<*mut ()>,
    left: Cell<Left>,
}

// SAFETY: an entry is shared while it is linked, and then touched under the channel's lock.
unsafe impl Send for WaitEntry {}
// SAFETY: as above.
unsafe impl Sync for WaitEntry {}

impl WaitEntry {
    pub(super) fn new() -> WaitEntry {
        WaitEntry {
            next: Cell::new(null()),
            previous: Cell::new(null()),
            linked: Cell::new(false),
            sleeper: Cell::new(Sleeper::Nobody),
            outcome: Cell::new(0),
            place: Cell::new(std::ptr::null_mut()),
            left: Cell::new(Left::Nothing),
        }
    }

    /// Says who waits, where its message is or goes, and which outcome this channel selects.
    #[inline]
    pub(super) fn prepare(&self, sleeper: Sleeper, place: *mut (), outcome: u32) {
        self.sleeper.set(sleeper);
        self.place.set(place);
        self.outcome.set(outcome);
        self.left.set(Left::Nothing);
    }

    #[inline]
    pub(super) fn place(&self) -> *mut () {
        self.place.get()
    }

    #[inline]
    pub(super) fn left(&self) -> Left {
        self.left.get()
    }

    #[inline]
    pub(super) fn leave(&self, left: Left) {
        self.left.set(left);
    }

    /// Whether its wait goes on: a selection that another channel has ended stands in the list until it wakes.
    fn is_open(&self) -> bool {
        match self.sleeper.get() {
            Sleeper::Nobody => false,
            Sleeper::Parked(_) => true,
            // SAFETY: the owner takes its entries out of all lists, under their locks, before its waiter goes.
            Sleeper::Waiter(waiter) => unsafe { &*waiter }.is_open(),
        }
    }

    fn waits_by(&self, waiter: *const Waiter) -> bool {
        matches!(self.sleeper.get(), Sleeper::Waiter(own) if std::ptr::eq(own, waiter))
    }

    /// Ends the wait, after everything else has been written: from here on the entry may be gone. `None` if the wait
    /// had ended otherwise. The right is used after the channel's unlock.
    ///
    /// # Safety
    /// The caller has just taken this entry out of a list, and still is inside the lock of that list.
    #[inline]
    unsafe fn select(&self) -> Option<WakeRight> {
        match self.sleeper.get() {
            Sleeper::Nobody => None,
            // SAFETY: only who takes the entry out of its one list may wake a parked one.
            Sleeper::Parked(header) => Some(unsafe { WakeRight::of(header) }),
            // SAFETY: the owner takes its entries out of all lists, under their locks, before its waiter goes.
            Sleeper::Waiter(waiter) => unsafe { &*waiter }.try_select(self.outcome.get()),
        }
    }
}

/// An entry that has just been taken out of its list, under the lock.
pub(super) struct Taken<'a>(&'a WaitEntry);

impl Taken<'_> {
    #[inline]
    pub(super) fn place(&self) -> *mut () {
        self.0.place.get()
    }

    /// Leaves word and ends the wait; `None` if it had ended otherwise, and then nothing has happened.
    #[inline]
    pub(super) fn end(self, left: Left) -> Option<WakeRight> {
        self.0.left.set(left);
        // SAFETY: it was taken out by `take`, whose borrow of the list says that we are still inside.
        unsafe { self.0.select() }
    }
}

/// Those who wait, first come first served.
pub(super) struct WaitList {
    first: *const WaitEntry,
    last: *const WaitEntry,
}

// SAFETY: the list is touched under the channel's lock only.
unsafe impl Send for WaitList {}

impl WaitList {
    pub(super) const fn new() -> WaitList {
        WaitList { first: null(), last: null() }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    /// # Safety
    /// The entry stays where it is until it is out of the list again, and is in no list now.
    #[inline]
    pub(super) unsafe fn push(&mut self, entry: &WaitEntry) {
        entry.linked.set(true);
        entry.next.set(null());
        entry.previous.set(self.last);
        // SAFETY: what is in the list lives.
        match unsafe { self.last.as_ref() } {
            Some(last) => last.next.set(entry),
            None => self.first = entry,
        }
        self.last = entry;
    }

    /// Takes an entry out, if it is in this list still.
    #[inline]
    pub(super) fn remove(&mut self, entry: &WaitEntry) {
        if !entry.linked.replace(false) {
            return;
        }
        let (previous, next) = (entry.previous.get(), entry.next.get());
        // SAFETY: what is in the list lives.
        match unsafe { previous.as_ref() } {
            Some(previous) => previous.next.set(next),
            None => self.first = next,
        }
        // SAFETY: as above.
        match unsafe { next.as_ref() } {
            Some(next) => next.previous.set(previous),
            None => self.last = previous,
        }
    }

    /// Whether somebody else than `me` waits still: a selection must not agree with itself.
    pub(super) fn has_other(&self, me: *const Waiter) -> bool {
        self.find(|entry| !entry.waits_by(me) && entry.is_open()).is_some()
    }

    #[inline]
    fn find(&self, wanted: impl Fn(&WaitEntry) -> bool) -> Option<&WaitEntry> {
        let mut at = self.first;
        // SAFETY: what is in the list lives.
        while let Some(entry) = unsafe { at.as_ref() } {
            if wanted(entry) {
                return Some(entry);
            }
            at = entry.next.get();
        }
        None
    }

    /// Takes the first out.
    #[inline]
    pub(super) fn take_first(&mut self) -> Option<Taken<'_>> {
        self.take(|_| true)
    }

    /// Takes the first out that is `wanted`.
    #[inline]
    pub(super) fn take(&mut self, wanted: impl Fn(&WaitEntry) -> bool) -> Option<Taken<'_>> {
        let entry: *const WaitEntry = self.find(wanted)?;
        // SAFETY: what was in the list lives until its owner has been inside the lock once more, or is woken.
        let entry = unsafe { &*entry };
        self.remove(entry);
        Some(Taken(entry))
    }
}
