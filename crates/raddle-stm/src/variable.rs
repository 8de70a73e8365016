//! Owns: `Head`, a variable without its type; and the locks of all lists.
//! May use: `protocol::reserve`, `protocol::watch`, `value`, `waiting`.
//! Never: a transaction.

use crate::protocol::reserve::Reservation;
use crate::protocol::watch::{Stripe, Watched};
use crate::value::{ValueCell, ValueKind, Words};
use crate::waiting::ChangeWaiter;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};

/// A variable, whatever its type. It is there as long as there is a handle of it, and as long as a transaction runs
/// that may have had one.
pub(crate) struct Head {
    pub(crate) watched: Watched<ChangeWaiter>,
    pub(crate) reservation: Reservation,
    pub(crate) value: ValueCell,
    pub(crate) kind: &'static ValueKind,
    handles: AtomicUsize,
    /// Which transaction has written it last; for reports alone.
    writer: AtomicPtr<Location<'static>>,
    /// Whose that was, see `host::author`.
    author: AtomicU64,
    /// Where it was made.
    pub(crate) site: &'static Location<'static>,
}

/// More handles than this are a leak in a loop, and the count would wrap.
const HANDLES_MAX: usize = isize::MAX.cast_unsigned();

impl Head {
    /// A variable with one handle, whose value is of the time `version`: that of now, for it may be made of what was
    /// committed just before, which the snapshot of a transaction that gets a handle by other means may not have.
    pub(crate) fn new(
        words: Words,
        kind: &'static ValueKind,
        site: &'static Location<'static>,
        version: u64,
    ) -> HeadRef {
        let (watched, reservation) = (Watched::new(version), Reservation::new());
        let (value, handles) = (ValueCell::new(words), AtomicUsize::new(1));
        let (writer, author) = (AtomicPtr::default(), AtomicU64::new(0));
        let head = Box::new(Head { watched, reservation, value, kind, handles, writer, author, site });
        NonNull::from(Box::leak(head))
    }

    /// Its value, as it is at some moment.
    #[inline(always)]
    pub(crate) fn load(&self) -> Words {
        self.value.load(self.kind)
    }

    /// The version that it has, if that is newer than `time`; 0 if somebody has it locked.
    #[cold]
    pub(crate) fn newer_than(&self, time: u64) -> Option<u64> {
        let seen = self.watched.word.look();
        let version = if seen.is_locked() { 0 } else { seen.version() };
        (!seen.is_of(time)).then_some(version)
    }

    /// The transaction at `site`, of `author`, has written it.
    #[inline(always)]
    pub(crate) fn note_writer(&self, author: u64, site: &'static Location<'static>) {
        // Relaxed: of two that come close one after the other either may be told, or one with the other's place.
        //
        // PERF: what stands there already is not written again: the next locked instruction waits for each store.
        let site = std::ptr::from_ref(site).cast_mut();
        if self.writer.load(Ordering::Relaxed) != site {
            self.writer.store(site, Ordering::Relaxed);
        }
        if self.author.load(Ordering::Relaxed) != author {
            self.author.store(author, Ordering::Relaxed);
        }
    }

    /// Whose transaction has written it last, and where that stands, if one has.
    pub(crate) fn writer(&self) -> Option<(u64, &'static Location<'static>)> {
        // SAFETY: null, or a place in the program, and those stay.
        let site = unsafe { self.writer.load(Ordering::Relaxed).as_ref() }?;
        Some((self.author.load(Ordering::Relaxed), site))
    }

    /// There is one more handle.
    #[inline]
    pub(crate) fn retain(&self) {
        let before = self.handles.fetch_add(1, Ordering::Relaxed);
        if before > HANDLES_MAX {
            // As `Arc`: there is no way on.
            std::process::abort();
        }
    }

    /// As [`retain`](Self::retain), unless there was none left: nobody can write it any more then.
    pub(crate) fn try_retain(&self) -> bool {
        let more = |handles| if handles == 0 { None } else { Some(handles + 1) };
        self.handles.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// There is one handle less. Whether that was the last, and the caller must retire the variable.
    #[inline]
    #[must_use = "nobody else will"]
    pub(crate) fn release(&self) -> bool {
        // Release pairs with the acquire fence below, of whoever is the last.
        if self.handles.fetch_sub(1, Ordering::Release) != 1 {
            return false;
        }
        fence(Ordering::Acquire); // pairs with the release of all others above
        true
    }

    /// How many handles there are.
    #[cfg(test)]
    pub(crate) fn handles(&self) -> usize {
        self.handles.load(Ordering::Relaxed)
    }

    /// The lock of its list.
    pub(crate) fn stripe(&self) -> &'static Stripe {
        static STRIPES: [Stripe; 64] = [const { Stripe::new() }; 64];
        let address = std::ptr::from_ref(self).addr();
        &STRIPES[(address >> 6 ^ address >> 12) % STRIPES.len()]
    }
}

/// Some variable: whoever has it knows why it is there.
pub(crate) type HeadRef = NonNull<Head>;
