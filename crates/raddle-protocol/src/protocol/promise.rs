//! Owns: `Promise`, the word of a fork that lies in a bag: whether its flow still has it, and who asks for it.
//! May use: `order`, `prim::model`, `prim::real`, `loom`.
//! Never: a locked instruction of the flow that made it, unless it promotes.
//!
//! A fork has one handle. While its maker has that, nobody else touches the word: the maker finds the fork private
//! and takes it by a plain load. When another flow has the handle, that one may ask for the value, or drop the handle;
//! and the maker may promote the fork. These three meet in the word, each by a compare-and-swap.
//!
//! | word | the fork | who changes it |
//! |---|---|---|
//! | 0 | has run, or its place is free | its flow |
//! | act | is private: nobody has asked for it | its flow; who has the handle |
//! | act, `DROPPED` | is private, and its handle is gone | its flow |
//! | asker, `ASKED` | is private, and the asker waits for it; the act is with the asker | its flow |
//! | record, `PROMOTED` | is a job: its taker and the handle meet in the record's join word | - |
//!
//! The marks are the highest bits, which no address of a program has: a function may begin at an odd one.

#![cfg_attr(not(loom), allow(unreachable_pub, reason = "public for the models only"))]

use crate::order;
use crate::prim::{AtomicPtr, Link, Ordering};
use std::ptr::null_mut;

/// Not plainly private.
const MARKED: usize = 1 << (usize::BITS - 1);
const DROPPED: usize = MARKED;
const ASKED: usize = MARKED | MARKED >> 1;
const PROMOTED: usize = MARKED | MARKED >> 2;
const MARKS: usize = DROPPED | ASKED | PROMOTED;

/// The word.
#[derive(Debug)]
#[repr(transparent)]
pub struct Promise(AtomicPtr<()>);

/// Who asks for a fork that another flow has: lies in its frame while it waits.
#[derive(Debug)]
pub struct Asker<W> {
    /// What the word was: the asker has taken its place there.
    act: Link<()>,
    waiter: Link<W>,
}

/// What one learns who asks.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Asked {
    /// It will be woken when the fork, promoted, has run.
    Waits,
    /// The fork is a job: its record.
    Promoted(*mut ()),
}

/// Who else looks at a private fork.
#[derive(Debug, PartialEq, Eq)]
pub enum Interest<W> {
    /// It has its handle, which is somewhere.
    Handle,
    /// Nobody any more.
    Nobody,
    /// This one waits for it.
    Waiter(*mut W),
}

impl<W> Asker<W> {
    /// Not yet asking.
    #[inline]
    pub fn new() -> Self {
        Asker { act: Link::new(), waiter: Link::new() }
    }
}

#[inline]
fn marks(word: *mut ()) -> usize {
    word.addr() & MARKS
}

#[inline]
fn unmarked(word: *mut ()) -> *mut () {
    word.map_addr(|a| a & !MARKS)
}

impl Promise {
    /// Of a fork with this act. (Chunks are not made word by word.)
    #[cfg(loom)]
    #[inline]
    pub fn new(act: *mut ()) -> Self {
        Promise(AtomicPtr::new(act))
    }

    /// A fork is made here, by the flow that has the place.
    #[inline(always)]
    pub fn make(&self, act: *mut ()) {
        // Relaxed: the handle tells others of it, and its way to them publishes.
        self.0.store(act, Ordering::Relaxed);
    }

    /// The act of a fork that is private; `None` if it was promoted. Its flow calls, and has the handle.
    #[inline(always)]
    pub fn private(&self) -> Option<*mut ()> {
        // Relaxed: whatever it is, the caller has written it.
        let word = self.0.load(Ordering::Relaxed);
        (word.addr() & MARKED == 0).then_some(word)
    }

    /// The place is free. Its flow calls.
    #[inline(always)]
    pub fn clear(&self) {
        self.0.store(null_mut(), Ordering::Relaxed);
    }

    /// The act of a fork that can be promoted. Its flow calls.
    #[inline]
    pub fn act<W>(&self) -> Option<*mut ()> {
        let word = self.0.load(order::PROMISE_HEED());
        match marks(word) {
            PROMOTED => None,
            // SAFETY: an asker waits until its fork has been promoted, which only the caller does.
            ASKED => Some(unsafe { &*unmarked(word).cast::<Asker<W>>() }.act.get()),
            _ => Some(unmarked(word)).filter(|act| !act.is_null()),
        }
    }

    /// Promotes a private fork. Whoever is interested sees `record` from now on, made ready for them by `ready`,
    /// which may be called again if somebody comes meanwhile. Its flow calls.
    #[inline]
    pub fn promote<W>(&self, record: *mut (), mut ready: impl FnMut(&Interest<W>)) -> Interest<W> {
        let promoted = record.map_addr(|a| a | PROMOTED);
        let mut now = self.0.load(order::PROMISE_HEED());
        loop {
            let interest = match marks(now) {
                DROPPED => Interest::Nobody,
                // SAFETY: as in `act`.
                ASKED => Interest::Waiter(unsafe { &*unmarked(now).cast::<Asker<W>>() }.waiter.get()),
                _ => Interest::Handle,
            };
            ready(&interest);
            match self.0.compare_exchange(now, promoted, order::PROMISE_PROMOTE(), order::PROMISE_HEED()) {
                Ok(_) => return interest,
                Err(other) => now = other,
            }
        }
    }

    /// The record, if it was promoted. Who has the handle calls.
    #[inline]
    pub fn record(&self) -> Option<*mut ()> {
        let word = self.0.load(order::PROMISE_SEE());
        (marks(word) == PROMOTED).then(|| unmarked(word))
    }

    /// Asks for the value, for `waiter`, whose context is saved. Who has the handle calls, in another flow. As soon as
    /// it waits, `asker` may be gone.
    #[inline]
    pub fn ask<W>(&self, asker: &Asker<W>, waiter: *mut W) -> Asked {
        let word = std::ptr::from_ref(asker).cast_mut().cast::<()>().map_addr(|a| a | ASKED);
        asker.waiter.set(waiter);
        let mut now = self.0.load(order::PROMISE_SEE());
        while marks(now) != PROMOTED {
            asker.act.set(now);
            match self.0.compare_exchange(now, word, order::PROMISE_ASK(), order::PROMISE_SEE()) {
                Ok(_) => return Asked::Waits,
                Err(other) => now = other,
            }
        }
        Asked::Promoted(unmarked(now))
    }

    /// The handle goes. The record, if it was promoted: the caller lets go of that, too.
    #[must_use]
    #[inline]
    pub fn drop_handle(&self) -> Option<*mut ()> {
        let mut now = self.0.load(order::PROMISE_SEE());
        while marks(now) != PROMOTED {
            let dropped = now.map_addr(|a| a | DROPPED);
            match self.0.compare_exchange(now, dropped, order::PROMISE_ASK(), order::PROMISE_SEE()) {
                Ok(_) => return None,
                Err(other) => now = other,
            }
        }
        Some(unmarked(now))
    }
}
