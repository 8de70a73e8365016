//! Owns: `RwWord`: the readers and the writer of a lock, and the order in which those who wait come in.
//! May use: `call`, `order`, `prim`, `loom`.
//! Never: the data behind the lock.
//!
//! The word is a count of readers above five flags.
//!
//! | readers | `WRITER` | `QUEUED` | `CALLED` | `CLOSED` | meaning |
//! |---|---|---|---|---|---|
//! | 0 | no | | | no | free |
//! | n | no | | | | n readers |
//! | 0 | yes | | | | a writer |
//! | | | yes | no | no | the list is not empty: who leaves last calls the first up |
//! | | | | yes | no | one who was called up is on the way; who leaves need do nothing |
//! | | | yes | | yes | one who was called came too late: who leaves lets the first in, and nobody else enters |
//!
//! `POISONED` may stand with each. `QUEUED` and `CLOSED` are set and cleared under the lock of the list, and `CALLED`
//! is set there; the one it was set for clears it.
//!
//! *Barging, bounded.* Who leaves a lock that others wait for *calls the first up* (with the readers right behind it,
//! if it is one) and leaves the lock free: whoever runs may enter before it has come round. Until somebody has been
//! called, readers do not join readers while others wait, or a writer would wait for ever; once somebody is on the
//! way, they do. One who was called and finds the lock taken **closes** it: it goes to the front of the list, and
//! from then on nobody enters but those whom a leaver has *let in*, by entering the word for them before waking them.
//! So those who come later pass one who waits for as long as its wake and its looks take.
//!
//! PERF: hand-overs alone, which this had first, cost a wake for each visit once anybody waited. One visit in ten a
//! write, empty sections, 2 cores, ns a visit: 4 OS threads 421 -> 11 (std 27, parking_lot 23 in the same rounds), 4
//! light processes on 2 workers 4346 -> 9.
//!
//! *A reader counts itself in, and then looks.* One addition is all that readers who meet pay, where a compare-and-
//! exchange would fail as often as they meet. One that may not enter **steps back**: it leaves as any reader does, and
//! looks after those who wait, if it is the last. So there may be readers beside `WRITER`, for a moment; whoever finds
//! them does what it would do if they were inside, and relies on them as on those.
//!
//! *No wake is lost.* Whoever enters the list does so by a compare-and-exchange from a word that refuses it. If that
//! word shows somebody inside, that one sees `QUEUED` when it leaves, and looks at the list unless `CALLED` stands;
//! then the one on the way enters, and looks when it leaves, or goes back into the list, from a word that refuses it.
//! If it shows `CLOSED`, somebody is inside, or on the way to the list having left: `CLOSED` is only set from a word
//! that refuses one who was called, and goes with the one it was set for.

use crate::call::WaitCall;
use crate::order;
use crate::prim::{AtomicUsize, Ordering, const_fn};
use crate::protocol::sleeper::TimedSleeper;
use crate::protocol::waitlist::{Locked, WaitEntry, WaitList};
use std::time::Instant;

const WRITER: usize = 1;
const QUEUED: usize = 2;
const POISONED: usize = 4;
const CALLED: usize = 8;
const CLOSED: usize = 16;
const READER: usize = 32;
const READERS: usize = !(READER - 1);
/// As many readers as are refused: half of what fits, so that those who have counted themselves in do not overflow it.
const FULL: usize = 1 << (usize::BITS - 1);

/// What one in the list waits for ...
const TO_READ: usize = 0;
const TO_WRITE: usize = 1;
/// ... and whether it has been called before, and came too late.
const LATE: usize = 2;

/// How a wait ends: it has been entered for ...
const LET_IN: u32 = 0;
/// ... or it is to look for itself, and `CALLED` stands for it ...
const CALLED_UP: u32 = 1;
/// ... or does not.
const CALLED_ALONG: u32 = 2;

/// One who wants to enter.
#[derive(Clone, Copy)]
struct Visit {
    need: usize,
    /// `CALLED` stands for it.
    called_up: bool,
}

impl Visit {
    #[inline]
    fn of(need: usize) -> Visit {
        Visit { need, called_up: false }
    }

    #[inline]
    fn writes(self) -> bool {
        self.need & TO_WRITE != 0
    }

    #[inline]
    fn is_late(self) -> bool {
        self.need & LATE != 0
    }

    /// Who has been called asks only whether the lock is free for it.
    #[inline]
    fn is_admitted(self, seen: usize) -> bool {
        match (self.is_late(), self.writes()) {
            (true, _) => is_open(seen, self.need),
            (false, false) => may_read(seen),
            (false, true) => may_write(seen),
        }
    }

    /// The word after it has entered.
    #[inline]
    fn entered(self, seen: usize) -> usize {
        let add = if self.writes() { WRITER } else { READER };
        self.answered(seen).checked_add(add).expect("too many readers of a lock")
    }

    /// The word after it has joined the list.
    #[inline]
    fn queued(self, seen: usize) -> usize {
        self.answered(seen) | QUEUED | if self.is_late() { CLOSED } else { 0 }
    }

    #[inline]
    fn answered(self, seen: usize) -> usize {
        if self.called_up { seen & !CALLED } else { seen }
    }
}

/// Whether those inside leave room for one more.
#[inline]
fn is_open(seen: usize, need: usize) -> bool {
    seen & if need & TO_WRITE == 0 { WRITER } else { WRITER | READERS } == 0
}

/// Whether a reader who comes may enter.
#[inline(always)]
fn may_read(seen: usize) -> bool {
    seen & (WRITER | QUEUED | CLOSED) == 0 || may_read_before_others(seen)
}

/// If the lock is free it may; if there are readers, only while somebody who was called is on the way.
#[inline]
fn may_read_before_others(seen: usize) -> bool {
    seen & (WRITER | CLOSED) == 0 && (seen & READERS == 0 || seen & CALLED != 0)
}

#[inline(always)]
fn may_write(seen: usize) -> bool {
    seen & (WRITER | CLOSED | READERS) == 0
}

/// Whether the last to leave a word is to look at the list.
#[inline]
fn others_wait(before: usize) -> bool {
    before & QUEUED != 0 && before & (CALLED | CLOSED) != CALLED
}

/// As [`others_wait`], of a word that a reader has left, and in which somebody is queued.
#[cold]
fn others_wait_for_last(before: usize) -> bool {
    before & READERS == READER && others_wait(before)
}

/// The word and its list.
pub struct RwWord<S> {
    word: AtomicUsize,
    list: WaitList<S>,
}

impl<S: TimedSleeper> RwWord<S> {
    const_fn! {
        /// A free one.
        #[inline]
        pub fn new() -> Self {
            RwWord { word: AtomicUsize::new(0), list: WaitList::new() }
        }
    }

    /// Locks for reading if that needs no wait; says whether it is poisoned.
    ///
    /// # Panics
    /// If there are more readers than fit into the word.
    #[inline]
    pub fn try_read(&self) -> Option<bool> {
        self.try_enter(may_read, READER)
    }

    /// As [`try_read`](Self::try_read), for a caller that waits if it is refused: it has counted itself in before it
    /// looks, and until it has stepped back others find a reader there.
    ///
    /// PERF: bench `rwlock`, 64 processes, 6 400 000 visits, AMD, ns by compare-and-exchange, by addition, Go: on 2
    /// workers 9.4 (worst 18.2), 6.8 (7.4), 5.5; placed 10.3, 6.3, 5.1; on one 5.0, 5.0, 4.4.
    ///
    /// # Panics
    /// If there are more readers than fit into the word.
    #[inline(always)]
    pub fn read_or_step_back(&self) -> Option<bool> {
        let before = self.word.fetch_add(READER, order::RWLOCK_ENTER());
        if before & (WRITER | QUEUED | CLOSED | FULL) == 0 {
            return Some(before & POISONED != 0);
        }
        self.stay_or_step_back(before)
    }

    /// The caller has counted itself in, and found `before`.
    #[cold]
    fn stay_or_step_back(&self, before: usize) -> Option<bool> {
        let is_full = before & FULL != 0;
        if !is_full && may_read(before) {
            return Some(before & POISONED != 0);
        }
        self.end_read();
        assert!(!is_full, "too many readers of a lock");
        None
    }

    /// Locks for writing if that needs no wait; says whether it is poisoned.
    #[inline]
    pub fn try_write(&self) -> Option<bool> {
        self.try_enter(may_write, WRITER)
    }

    /// PERF: bench `rwlock`. The word is not loaded before, nor after for the poison: each would wait for the locked
    /// instruction before it. One worker: 23.7 -> 17.8 ns alone, 27.9 -> 21.3 by 64.
    #[inline(always)]
    fn try_enter(&self, may_enter: impl Fn(usize) -> bool, add: usize) -> Option<bool> {
        let mut seen = 0;
        while may_enter(seen) {
            let to = seen.checked_add(add).expect("too many readers of a lock");
            match self.word.compare_exchange_weak(seen, to, order::RWLOCK_ENTER(), Ordering::Relaxed) {
                Ok(_) => return Some(seen & POISONED != 0),
                Err(now) => seen = now,
            }
        }
        None
    }

    /// Enters as a reader, waiting for it. False if the sleeper gives up, at the latest at `deadline`. `spin` says
    /// whether to look again before going to sleep, and is told whether nobody is in the list.
    #[cold]
    pub fn read_slow(
        &self,
        call: &'static WaitCall,
        deadline: Option<Instant>,
        spin: impl FnMut(bool) -> bool,
    ) -> bool {
        self.enter_slow(call, TO_READ, deadline, spin)
    }

    /// Enters as the writer, waiting for it. As [`read_slow`](Self::read_slow).
    #[cold]
    pub fn write_slow(
        &self,
        call: &'static WaitCall,
        deadline: Option<Instant>,
        spin: impl FnMut(bool) -> bool,
    ) -> bool {
        self.enter_slow(call, TO_WRITE, deadline, spin)
    }

    /// How many readers are inside; `None` if a writer is. May be out of date at once.
    #[inline]
    pub fn readers(&self) -> Option<usize> {
        let seen = self.word.load(Ordering::Relaxed);
        (seen & WRITER == 0).then_some(seen / READER)
    }

    #[inline]
    fn enter_slow(
        &self,
        call: &'static WaitCall,
        need: usize,
        deadline: Option<Instant>,
        mut spin: impl FnMut(bool) -> bool,
    ) -> bool {
        let mut visit = Visit::of(need);
        loop {
            if self.enter_soon(visit, &mut spin) {
                return true;
            }
            let place = WaitEntry::new(S::new(call), visit.need);
            if self.enter_or_queue(visit, &place) {
                return true;
            }
            match place.sleeper.wait_until(deadline) {
                Some(LET_IN) => return true,
                Some(called) => visit = Visit { need: need | LATE, called_up: called == CALLED_UP },
                None => {
                    self.give_up(&place);
                    return false;
                }
            }
        }
    }

    /// Looks as long as `spin` says so.
    #[inline]
    fn enter_soon(&self, visit: Visit, spin: &mut impl FnMut(bool) -> bool) -> bool {
        loop {
            let seen = self.word.load(Ordering::Relaxed);
            if !visit.is_admitted(seen) {
                if !spin(seen & QUEUED == 0) {
                    return false;
                }
            } else if self.enter_from(seen, visit) {
                return true;
            }
        }
    }

    #[inline]
    fn enter_from(&self, seen: usize, visit: Visit) -> bool {
        let to = visit.entered(seen);
        self.word.compare_exchange(seen, to, order::RWLOCK_ENTER(), Ordering::Relaxed).is_ok()
    }

    /// Enters, or puts `place` into the list while there is somebody who will see it when leaving.
    #[inline]
    fn enter_or_queue(&self, visit: Visit, place: &WaitEntry<S>) -> bool {
        let mut list = self.list.lock();
        loop {
            let (seen, relaxed) = (self.word.load(Ordering::Relaxed), Ordering::Relaxed);
            if visit.is_admitted(seen) {
                if self.enter_from(seen, visit) {
                    return true;
                }
            } else if self.word.compare_exchange(seen, visit.queued(seen), relaxed, relaxed).is_ok() {
                break;
            }
        }
        match visit.is_late() {
            true => list.push_front(place),
            false => list.push(place),
        }
        false
    }

    /// The owner of `place` waits no longer.
    #[inline]
    fn give_up(&self, place: &WaitEntry<S>) {
        let mut list = self.list.lock();
        list.remove(place);
        self.note(&list);
        drop(list);
        // Those behind it may have waited for it alone.
        self.look_after_others();
    }

    /// The list is locked; if it is empty, or its first has not come late, the word says so.
    #[inline]
    fn note(&self, list: &Locked<'_, S>) {
        let gone = match list.first() {
            None => QUEUED | CLOSED,
            Some(first) if first.need & LATE == 0 => CLOSED,
            Some(_) => return,
        };
        self.word.fetch_and(!gone, Ordering::Relaxed);
    }

    /// Leaves as a reader.
    #[inline]
    pub fn end_read(&self) {
        let before = self.word.fetch_sub(READER, order::RWLOCK_LEAVE());
        debug_assert!(before & READERS != 0, "a reader left that was not there");
        // PERF: one test where nobody waits: what stands between two locked instructions adds to them. Bench `rwlock`,
        // one worker, 64 processes, of Go: 1.07 with all tests here, 0.94 with one.
        if before & QUEUED != 0 && others_wait_for_last(before) {
            self.look_after_others();
        }
    }

    /// Leaves as the writer.
    #[inline]
    pub fn end_write(&self, poison: bool) {
        if poison {
            self.word.fetch_or(POISONED, Ordering::Relaxed);
        }
        let before = self.word.fetch_sub(WRITER, order::RWLOCK_LEAVE());
        debug_assert!(before & WRITER != 0, "a writer left that was not there");
        if others_wait(before) {
            self.look_after_others();
        }
    }

    /// The writer becomes a reader; no writer can come between.
    #[inline]
    pub fn downgrade(&self) {
        let before = self.word.fetch_add(READER - WRITER, order::RWLOCK_LEAVE());
        if others_wait(before) {
            self.look_after_others();
        }
    }

    /// Lets those at the head of the list in, as far as the word allows, if one of them came too late once; else calls
    /// them.
    #[cold]
    fn look_after_others(&self) {
        let mut let_in = false;
        loop {
            let mut list = self.list.lock();
            let Some(need) = list.first().map(|first| first.need) else { return };
            // Only under the lock of the list is that changed.
            let_in |= self.word.load(Ordering::Relaxed) & CLOSED != 0;
            if !let_in {
                return self.call(list, need);
            }
            let entered = self.enter_for(need);
            let right = if entered { end_wait(&mut list, LET_IN) } else { None };
            if entered && right.is_none() {
                // It has given up, and does not go in. Relaxed: nothing was done inside.
                self.word.fetch_sub(if need & TO_WRITE == 0 { READER } else { WRITER }, Ordering::Relaxed);
                let_in = false;
            }
            self.note(&list);
            drop(list);
            let went_in = right.map(S::wake).is_some();
            if !entered || went_in && need & TO_WRITE != 0 {
                return;
            }
        }
    }

    /// Calls the first of the list up, and the readers behind it along, if it is one. Not if it could not enter, or
    /// somebody is on the way: those inside, or that one, look after it.
    #[inline]
    fn call(&self, mut list: Locked<'_, S>, need: usize) {
        let mut seen = self.word.load(Ordering::Relaxed);
        loop {
            if seen & CALLED != 0 || !is_open(seen, need) {
                return;
            }
            let to = seen | CALLED;
            match self.word.compare_exchange(seen, to, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => seen = now,
            }
        }
        let mut right = None;
        while right.is_none() && !list.is_empty() {
            right = end_wait(&mut list, CALLED_UP);
        }
        self.note(&list);
        if right.is_none() {
            self.word.fetch_and(!CALLED, Ordering::Relaxed);
        }
        drop(list);
        right.into_iter().for_each(S::wake);
        while need & TO_WRITE == 0 && self.call_along() {}
    }

    /// Calls the first of the list if it is a reader and could enter; false if not.
    #[inline]
    fn call_along(&self) -> bool {
        let mut list = self.list.lock();
        let seen = self.word.load(Ordering::Relaxed);
        let reads = |first: &WaitEntry<S>| first.need == TO_READ && seen & (WRITER | CLOSED) == 0;
        if !list.first().is_some_and(reads) {
            return false;
        }
        let right = end_wait(&mut list, CALLED_ALONG);
        self.note(&list);
        drop(list);
        right.into_iter().for_each(S::wake);
        true
    }

    /// Enters the word for the first of the list, which is locked.
    #[inline]
    fn enter_for(&self, need: usize) -> bool {
        let add = if need & TO_WRITE == 0 { READER } else { WRITER };
        let mut seen = self.word.load(order::RWLOCK_GRANT());
        while is_open(seen, need) {
            match self.word.compare_exchange(seen, seen + add, order::RWLOCK_GRANT(), Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Whether a panic has left the data in a doubtful state.
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.word.load(Ordering::Relaxed) & POISONED != 0
    }

    /// Declares the data sound.
    #[inline]
    pub fn clear_poison(&self) {
        self.word.fetch_and(!POISONED, Ordering::Relaxed);
    }
}

/// Takes the first out and ends its wait; `None` if it has given up.
#[inline]
fn end_wait<S: TimedSleeper>(list: &mut Locked<'_, S>, outcome: u32) -> Option<S::Right> {
    let first = std::ptr::from_ref(list.first().expect("the caller has seen it"));
    list.remove_first();
    // SAFETY: it goes when it has been selected, which is here, or by way of the lock, which the caller has.
    unsafe { &*first }.sleeper.try_select(outcome)
}
