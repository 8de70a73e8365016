//! Owns: `RwWord`: the readers and the writer of a lock, and the order in which those who wait come in.
//! May use: `prim`, `order`, `protocol::{sleeper, waitlist}`.
//! Never: the data behind the lock.
//!
//! The word is a count of readers above three flags.
//!
//! | readers | `WRITER` | `QUEUED` | meaning |
//! |---|---|---|---|
//! | 0 | no | no | free |
//! | n | no | no | n readers |
//! | 0 | yes | no | a writer |
//! | n, or 0 and `WRITER` | | yes | the same, and the list is not empty: who leaves looks at it |
//! | 0 | no | yes | free, but for those in the list; the one who left last is on the way to let them in |
//!
//! `POISONED` may stand with each. `QUEUED` is set and cleared under the lock of the list, and while it stands nobody
//! enters but through the list, first in, first out, a row of readers together: so nobody starves, and a reader that
//! reads again while a writer waits between waits for itself (as std's may; its documentation warns of it). Who lets
//! another in has entered the word for it before it wakes it: it need not look again.
//!
//! No barging here: a lock that is worth having readers for is held for long, and then a hand-over costs little.

use crate::order;
use crate::prim::{AtomicUsize, Ordering, const_fn};
use crate::protocol::sleeper::TimedSleeper;
use crate::protocol::waitlist::{Locked, Place, WaitList};
use std::time::Instant;

const WRITER: usize = 1;
const QUEUED: usize = 2;
const POISONED: usize = 4;
const READER: usize = 8;
const READERS: usize = !(READER - 1);

/// What one in the list waits for.
const TO_READ: usize = 0;
const TO_WRITE: usize = 1;

/// The word and its list.
pub(crate) struct RwWord<S> {
    word: AtomicUsize,
    list: WaitList<S>,
}

impl<S: TimedSleeper> RwWord<S> {
    const_fn! {
        /// A free one.
        pub(crate) fn new() -> Self {
            RwWord { word: AtomicUsize::new(0), list: WaitList::new() }
        }
    }

    /// Enters as a reader if that needs no wait.
    ///
    /// # Panics
    /// If there are more readers than fit into the word.
    #[inline]
    pub(crate) fn try_read(&self) -> bool {
        self.try_enter(WRITER | QUEUED, READER)
    }

    /// Enters as the writer if that needs no wait.
    #[inline]
    pub(crate) fn try_write(&self) -> bool {
        self.try_enter(WRITER | QUEUED | READERS, WRITER)
    }

    #[inline]
    fn try_enter(&self, unless: usize, add: usize) -> bool {
        let mut seen = self.word.load(Ordering::Relaxed);
        while seen & unless == 0 {
            let to = seen.checked_add(add).expect("too many readers of a lock");
            match self.word.compare_exchange_weak(seen, to, order::RWLOCK_ENTER(), Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Enters as a reader, waiting for it. False if the sleeper gives up, at the latest at `deadline`.
    #[cold]
    pub(crate) fn read_slow(&self, what: &'static str, deadline: Option<Instant>) -> bool {
        self.enter_slow(what, TO_READ, deadline)
    }

    /// Enters as the writer, waiting for it. False if the sleeper gives up, at the latest at `deadline`.
    #[cold]
    pub(crate) fn write_slow(&self, what: &'static str, deadline: Option<Instant>) -> bool {
        self.enter_slow(what, TO_WRITE, deadline)
    }

    /// How many readers are inside; `None` if a writer is. May be out of date at once.
    pub(crate) fn readers(&self) -> Option<usize> {
        let seen = self.word.load(Ordering::Relaxed);
        (seen & WRITER == 0).then_some(seen / READER)
    }

    fn enter_slow(&self, what: &'static str, need: usize, deadline: Option<Instant>) -> bool {
        let place = Place::new(S::new(what), need);
        let mut list = self.list.lock();
        // While the list is locked nobody sets or clears `QUEUED` but we.
        if list.is_empty() && self.enter_or_note(need) {
            return true;
        }
        list.push(&place);
        drop(list);
        let entered = place.sleeper.wait_until(deadline).is_some();
        if !entered {
            let mut list = self.list.lock();
            list.remove(&place);
            self.note_empty(&list);
            drop(list);
            // Those behind it may have waited for it alone.
            self.let_in();
        }
        entered
    }

    /// The list is locked; if nobody is in it any more, the word says so.
    fn note_empty(&self, list: &Locked<'_, S>) {
        if list.is_empty() {
            self.word.fetch_and(!QUEUED, Ordering::Relaxed);
        }
    }

    /// The list is locked and empty: enters, or sets `QUEUED` while there is somebody who will see it when leaving.
    fn enter_or_note(&self, need: usize) -> bool {
        loop {
            if if need == TO_READ { self.try_read() } else { self.try_write() } {
                return true;
            }
            let seen = self.word.load(Ordering::Relaxed);
            let held = seen & WRITER != 0 || need == TO_WRITE && seen & READERS != 0;
            let (to, relaxed) = (seen | QUEUED, Ordering::Relaxed);
            if held && self.word.compare_exchange(seen, to, relaxed, relaxed).is_ok() {
                return false;
            }
        }
    }

    /// Leaves as a reader.
    #[inline]
    pub(crate) fn end_read(&self) {
        let before = self.word.fetch_sub(READER, order::RWLOCK_LEAVE());
        debug_assert!(before & READERS != 0, "a reader left that was not there");
        if before & QUEUED != 0 && before & READERS == READER {
            self.let_in();
        }
    }

    /// Leaves as the writer.
    #[inline]
    pub(crate) fn end_write(&self, poison: bool) {
        if poison {
            self.word.fetch_or(POISONED, Ordering::Relaxed);
        }
        let before = self.word.fetch_sub(WRITER, order::RWLOCK_LEAVE());
        debug_assert!(before & WRITER != 0, "a writer left that was not there");
        if before & QUEUED != 0 {
            self.let_in();
        }
    }

    /// The writer becomes a reader; no writer can come between.
    pub(crate) fn downgrade(&self) {
        let before = self.word.fetch_add(READER - WRITER, order::RWLOCK_LEAVE());
        if before & QUEUED != 0 {
            self.let_in();
        }
    }

    /// Lets those at the head of the list in, as far as the word allows.
    #[cold]
    fn let_in(&self) {
        loop {
            let mut list = self.list.lock();
            let Some(need) = list.first().map(|first| first.need) else { return };
            let entered = self.enter_for(need);
            let right = if entered { admit(&mut list) } else { None };
            if entered && right.is_none() {
                // It has given up, and does not go in. Relaxed: nothing was done inside.
                self.word.fetch_sub(if need == TO_READ { READER } else { WRITER }, Ordering::Relaxed);
            }
            self.note_empty(&list);
            drop(list);
            let went_in = right.map(S::wake).is_some();
            if !entered || went_in && need == TO_WRITE {
                return;
            }
        }
    }

    /// Enters the word for the first of the list, which is locked.
    fn enter_for(&self, need: usize) -> bool {
        let (unless, add) = if need == TO_READ { (WRITER, READER) } else { (WRITER | READERS, WRITER) };
        let mut seen = self.word.load(order::RWLOCK_GRANT());
        while seen & unless == 0 {
            match self.word.compare_exchange(seen, seen + add, order::RWLOCK_GRANT(), Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Whether a panic has left the data in a doubtful state.
    pub(crate) fn is_poisoned(&self) -> bool {
        self.word.load(Ordering::Relaxed) & POISONED != 0
    }

    /// Declares the data sound.
    pub(crate) fn clear_poison(&self) {
        self.word.fetch_and(!POISONED, Ordering::Relaxed);
    }
}

/// Takes the first out and selects it; `None` if it has given up.
fn admit<S: TimedSleeper>(list: &mut Locked<'_, S>) -> Option<S::Right> {
    let first = std::ptr::from_ref(list.first().expect("the caller has seen it"));
    list.remove_first();
    // SAFETY: it goes when it has been selected, which is here, or by way of the lock, which the caller has.
    unsafe { &*first }.sleeper.try_select(0)
}
