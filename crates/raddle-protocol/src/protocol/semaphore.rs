//! Owns: `SemaphoreWord`: how many permits there are, and the order in which those who wait get them.
//! May use: `order`, `prim`, `loom`.
//! Never: what a permit is for.
//!
//! The word is the number of permits above two flags.
//!
//! | permits | `QUEUED` | `CLOSED` | meaning |
//! |---|---|---|---|
//! | n | no | no | n to take |
//! | n | yes | no | the list is not empty, and n are too few for its first: only the list gives any out |
//! | n | no | yes | nobody waits, and nobody gets any |
//!
//! `QUEUED` and `CLOSED` are written under the lock of the list. First come, first served, whatever the number asked
//! for: one who wants many is not passed by those who want few. Who gives permits to another takes them out of the word
//! before it wakes it.

use crate::order;
use crate::prim::{AtomicUsize, Ordering, const_fn};
use crate::protocol::sleeper::TimedSleeper;
use crate::protocol::waitlist::{Locked, WaitEntry, WaitList};

const QUEUED: usize = 1;
const CLOSED: usize = 2;
const ONE_SHIFT: u32 = 2;

/// At most so many permits.
pub const PERMITS_MAX: usize = usize::MAX >> ONE_SHIFT;

/// The outcomes of a wait.
const GIVEN: u32 = 0;
const SHUT: u32 = 1;

/// Why there are no permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Too few now.
    TooFew,
    /// Closed, for ever.
    Closed,
}

/// The word and its list.
pub struct SemaphoreWord<S> {
    word: AtomicUsize,
    list: WaitList<S>,
}

impl<S: TimedSleeper> SemaphoreWord<S> {
    const_fn! {
        /// With so many permits, at most [`PERMITS_MAX`].
        #[inline]
        pub fn new(permits: usize) -> Self {
            SemaphoreWord { word: AtomicUsize::new(permits << ONE_SHIFT), list: WaitList::new() }
        }
    }

    /// How many permits there are now.
    #[inline]
    pub fn permits(&self) -> usize {
        self.word.load(Ordering::Relaxed) >> ONE_SHIFT
    }

    /// Whether it has been closed.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.word.load(Ordering::Relaxed) & CLOSED != 0
    }

    /// Takes `count` permits if that needs no wait.
    #[inline]
    pub fn try_take(&self, count: usize) -> Result<(), Refused> {
        let mut seen = self.word.load(Ordering::Relaxed);
        loop {
            if seen & CLOSED != 0 {
                return Err(Refused::Closed);
            }
            if seen & QUEUED != 0 || seen >> ONE_SHIFT < count {
                return Err(Refused::TooFew);
            }
            let to = seen - (count << ONE_SHIFT);
            match self.word.compare_exchange_weak(seen, to, order::SEMAPHORE_TAKE(), Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => seen = now,
            }
        }
    }

    /// Takes `count` permits, waiting for them until the deadline that the sleeper was made with.
    #[cold]
    pub fn take_slow(&self, count: usize, sleeper: S) -> Result<(), Refused> {
        let place = WaitEntry::new(sleeper, count);
        if let Some(outcome) = self.take_or_enter(&place) {
            return outcome;
        }
        match place.sleeper.wait_timed() {
            Some(outcome) => Self::outcome(outcome),
            None => {
                self.withdraw(&place);
                Err(Refused::TooFew)
            }
        }
    }

    /// Takes the permits that `place` needs. `None` if they are too few: then it is in the list, and its sleeper will
    /// be selected, with an outcome for [`outcome`](Self::outcome).
    #[cold]
    pub fn take_or_enter(&self, place: &WaitEntry<S>) -> Option<Result<(), Refused>> {
        let mut list = self.list.lock();
        // While the list is locked nobody sets or clears a flag but we.
        if list.is_empty()
            && let Some(outcome) = self.take_or_note(place.need)
        {
            return Some(outcome);
        }
        list.push(place);
        None
    }

    /// What it means that a sleeper was selected with this.
    #[inline]
    pub fn outcome(selected: u32) -> Result<(), Refused> {
        if selected == GIVEN { Ok(()) } else { Err(Refused::Closed) }
    }

    /// Has a look at one who is in the list, or has been, while nobody selects.
    #[inline]
    pub fn look<R>(&self, place: &WaitEntry<S>, look: impl FnOnce(&S) -> R) -> R {
        let _list = self.list.lock();
        look(&place.sleeper)
    }

    /// Takes one who gives up out of the list. False if it has been selected before.
    pub fn withdraw(&self, place: &WaitEntry<S>) -> bool {
        let mut list = self.list.lock();
        let was_in = list.remove(place);
        if list.is_empty() {
            // Before the unlock: whoever finds the list empty next relies on it.
            self.word.fetch_and(!QUEUED, Ordering::Relaxed);
            return was_in;
        }
        drop(list);
        // The next may want less.
        self.give(0);
        was_in
    }

    /// The list is locked and empty, and so `QUEUED` does not stand: takes, or sets it.
    #[inline]
    fn take_or_note(&self, count: usize) -> Option<Result<(), Refused>> {
        loop {
            match self.try_take(count) {
                Err(Refused::TooFew) => (),
                done => return Some(done),
            }
            let seen = self.word.load(Ordering::Relaxed);
            let (to, relaxed) = (seen | QUEUED, Ordering::Relaxed);
            let too_few = seen >> ONE_SHIFT < count;
            if too_few && self.word.compare_exchange(seen, to, relaxed, relaxed).is_ok() {
                return None;
            }
        }
    }

    /// Gives `count` permits, to those who wait first.
    ///
    /// # Panics
    /// If there would be more than [`PERMITS_MAX`].
    #[inline]
    pub fn give(&self, count: usize) {
        let add = count << ONE_SHIFT;
        let before = self.word.fetch_add(add, order::SEMAPHORE_GIVE());
        if before.checked_add(add).is_none() {
            self.refuse_to_count(add);
        }
        if before & QUEUED != 0 {
            self.serve();
        }
    }

    /// Takes back what was added, which has left too few for a moment: whoever has come to wait because of that is
    /// served.
    #[cold]
    fn refuse_to_count(&self, added: usize) -> ! {
        if self.word.fetch_sub(added, order::SEMAPHORE_GIVE()) & QUEUED != 0 {
            self.serve();
        }
        panic!("a semaphore has more permits than it can count");
    }

    /// Gives what there is to the head of the list.
    #[cold]
    fn serve(&self) {
        loop {
            let mut list = self.list.lock();
            let right = self.serve_first(&mut list);
            if list.is_empty() {
                self.word.fetch_and(!QUEUED, Ordering::Relaxed);
            }
            drop(list);
            let Some(right) = right else { return };
            S::wake(right);
        }
    }

    /// Selects the first whose deadline has not passed, if there are enough permits for it, and takes them.
    #[inline]
    fn serve_first(&self, list: &mut Locked<'_, S>) -> Option<S::Right> {
        loop {
            let count = list.first()?.need;
            let seen = self.word.load(order::SEMAPHORE_TAKE());
            if seen >> ONE_SHIFT < count {
                return None;
            }
            // Nobody takes while `QUEUED` stands but one who has locked the list; others may add.
            self.word.fetch_sub(count << ONE_SHIFT, order::SEMAPHORE_TAKE());
            match select_first(list, GIVEN) {
                Some(right) => return Some(right),
                None => self.word.fetch_add(count << ONE_SHIFT, Ordering::Relaxed),
            };
        }
    }

    /// Refuses everybody from now on, those who wait included.
    #[inline]
    pub fn close(&self) {
        let mut list = self.list.lock();
        self.word.fetch_or(CLOSED, Ordering::Relaxed);
        while !list.is_empty() {
            if let Some(right) = select_first(&mut list, SHUT) {
                drop(list);
                S::wake(right);
                list = self.list.lock();
            }
        }
        self.word.fetch_and(!QUEUED, Ordering::Relaxed);
    }
}

/// Takes the first out and selects it; `None` if its deadline has passed.
#[inline]
fn select_first<S: TimedSleeper>(list: &mut Locked<'_, S>, outcome: u32) -> Option<S::Right> {
    let first = std::ptr::from_ref(list.first()?);
    list.remove_first();
    // SAFETY: it goes when it has been selected, which is here, or by way of the lock, which we have.
    unsafe { &*first }.sleeper.try_select(outcome)
}
