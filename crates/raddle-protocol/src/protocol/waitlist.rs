//! Owns: `WaitList`, a first-in-first-out list of those who wait, under a short lock of its own.
//! May use: `order`, `prim`, `loom`.
//! Never: a wait, a wake or foreign code while the list is locked.
//!
//! What condition variables, reader-writer locks and semaphores wait in. A place lies in the frame of the one who
//! waits, who has left the list, or has been taken out of it, before the frame goes; one whose deadline has passed
//! takes itself out of the middle.
//!
//! The word is two bits:
//!
//! | `SOME` | `LOCKED` | meaning |
//! |---|---|---|
//! | no | no | nobody waits |
//! | yes | no | somebody waits |
//! | either | yes | somebody is at work on the list; then `SOME` says what was true before |
//!
//! The lock is held for a dozen instructions without a call. Who finds it taken spins, and gives its core away after a
//! few rounds, since the kernel may have stopped the one who has it. A list that the sleepers push themselves upon, as
//! `mutex` has it, would spare the lock: but that one has a holder, who alone takes out; here those whose deadline has
//! passed take themselves out at any time.

use crate::order;
use crate::prim::{AtomicU32, Guarded, Link, Ordering, back_off, const_fn};
use crate::protocol::sleeper::Sleeper;
use std::marker::PhantomData;

const LOCKED: u32 = 1;
const SOME: u32 = 2;

/// One who waits, or a deadline of it; `S` is the sleeper, `need` what the lock wants to remember of it.
pub struct WaitEntry<S> {
    next: Link<WaitEntry<S>>,
    prev: Link<WaitEntry<S>>,
    /// In the list, and since which push: all of it under the lock.
    queued: Guarded<Option<u64>>,
    /// By whom it is woken.
    pub sleeper: S,
    /// What the lock wants to remember of it.
    pub need: usize,
}

impl<S> WaitEntry<S> {
    /// A place in no list.
    #[inline]
    pub fn new(sleeper: S, need: usize) -> Self {
        WaitEntry { next: Link::new(), prev: Link::new(), queued: Guarded::new(None), sleeper, need }
    }
}

/// The list.
pub struct WaitList<S> {
    word: AtomicU32,
    head: Link<WaitEntry<S>>,
    tail: Link<WaitEntry<S>>,
    pushed: Guarded<u64>,
}

// SAFETY: what lies behind the word is touched by the one who has locked it; places are shown by reference to threads
// that may select their sleepers, which is what sleepers are for.
unsafe impl<S: Sleeper> Sync for WaitList<S> {}
// SAFETY: a list that moves is empty, since its places borrow nothing from it but are in use only while it is shared.
unsafe impl<S: Sleeper> Send for WaitList<S> {}

/// The list, locked until this goes.
pub struct Locked<'l, S> {
    list: &'l WaitList<S>,
    not_send: PhantomData<*mut ()>,
}

impl<S> WaitList<S> {
    const_fn! {
        /// An empty one.
        #[inline]
        pub fn new() -> Self {
            WaitList { word: AtomicU32::new(0), head: Link::new(), tail: Link::new(), pushed: Guarded::new(0) }
        }
    }

    /// Whether nobody waits. Whoever has entered before something that the caller has seen is counted.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.word.load(Ordering::Relaxed) == 0
    }

    /// Locks the list, for a few instructions.
    #[inline]
    pub fn lock(&self) -> Locked<'_, S> {
        let mut round = 0;
        loop {
            let seen = self.word.load(Ordering::Relaxed);
            let free = seen & LOCKED == 0;
            let (to, acquire) = (seen | LOCKED, order::WAITLIST_LOCK());
            if free && self.word.compare_exchange_weak(seen, to, acquire, Ordering::Relaxed).is_ok() {
                return Locked { list: self, not_send: PhantomData };
            }
            back_off(round);
            round += 1;
        }
    }
}

impl<S> Drop for Locked<'_, S> {
    #[inline]
    fn drop(&mut self) {
        let some = if self.list.head.get().is_null() { 0 } else { SOME };
        self.list.word.store(some, order::WAITLIST_UNLOCK());
    }
}

impl<S> Locked<'_, S> {
    /// Whether nobody waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.head.get().is_null()
    }

    /// Puts `place` at the end. It must leave the list, under the lock, before it goes.
    #[inline]
    pub fn push(&mut self, place: &WaitEntry<S>) {
        let me = std::ptr::from_ref(place).cast_mut();
        let last = self.list.tail.get();
        // SAFETY: the list is locked.
        let number = unsafe { self.list.pushed.with_mut(|n| std::mem::replace(n, *n + 1)) };
        // SAFETY: as above.
        unsafe { place.queued.with_mut(|queued| *queued = Some(number)) };
        place.prev.set(last);
        place.next.set(std::ptr::null_mut());
        // SAFETY: what is in the list is there until it leaves it, which takes the lock.
        match unsafe { last.as_ref() } {
            Some(last) => last.next.set(me),
            None => self.list.head.set(me),
        }
        self.list.tail.set(me);
    }

    /// Puts `place` before all others. Else as [`push`](Self::push).
    #[inline]
    pub fn push_front(&mut self, place: &WaitEntry<S>) {
        let me = std::ptr::from_ref(place).cast_mut();
        let first = self.list.head.get();
        // SAFETY: the list is locked. It is older than all that were pushed.
        unsafe { place.queued.with_mut(|queued| *queued = Some(0)) };
        place.prev.set(std::ptr::null_mut());
        place.next.set(first);
        // SAFETY: as in `push`.
        match unsafe { first.as_ref() } {
            Some(first) => first.prev.set(me),
            None => self.list.tail.set(me),
        }
        self.list.head.set(me);
    }

    /// The one who has waited longest.
    #[inline]
    pub fn first(&self) -> Option<&WaitEntry<S>> {
        // SAFETY: as in `push`.
        unsafe { self.list.head.get().as_ref() }
    }

    /// So many have been pushed; [`first_before`](Self::first_before) wants it.
    #[inline]
    pub fn pushed(&self) -> u64 {
        // SAFETY: the list is locked.
        unsafe { self.list.pushed.with(|n| *n) }
    }

    /// The one who has waited longest, if it came before `limit` were pushed.
    #[inline]
    pub fn first_before(&self, limit: u64) -> Option<&WaitEntry<S>> {
        // SAFETY: the list is locked.
        self.first().filter(|place| unsafe { place.queued.with(|q| q.is_some_and(|number| number < limit)) })
    }

    /// Takes the one out who has waited longest. It may go when the lock is given back.
    #[inline]
    pub fn remove_first(&mut self) {
        if let Some(first) = self.first().map(std::ptr::from_ref) {
            // SAFETY: as in `push`.
            self.remove(unsafe { &*first });
        }
    }

    /// Takes `place` out, if it is still in. True if it was.
    #[inline]
    pub fn remove(&mut self, place: &WaitEntry<S>) -> bool {
        // SAFETY: the list is locked.
        if unsafe { place.queued.with_mut(Option::take) }.is_none() {
            return false;
        }
        let (prev, next) = (place.prev.get(), place.next.get());
        // SAFETY: as in `push`.
        match unsafe { prev.as_ref() } {
            Some(prev) => prev.next.set(next),
            None => self.list.head.set(next),
        }
        // SAFETY: as in `push`.
        match unsafe { next.as_ref() } {
            Some(next) => next.prev.set(prev),
            None => self.list.tail.set(prev),
        }
        true
    }
}
