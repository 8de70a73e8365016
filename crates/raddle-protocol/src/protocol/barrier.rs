//! Owns: `Barrier`, the word in which the members of a barrier are counted, and the list of those who wait.
//! May use: `order`, `prim::model`, `prim::real`, `loom`.
//! Never: a queue; who completes a phase is given the list, and wakes.
//!
//! The word is `phase << 63 | members << 32 | missing`: which of two lists is used, how many are enrolled, and how many
//! of them have not arrived in this phase. One who arrives enters the list of the phase first and lowers `missing`
//! then. The one who finds that it is the last to be missing *completes* the phase in the same step: the other list is
//! used from then on, and all are missing again. It then takes the list, in which all others are, and wakes them.
//!
//! | step | from | to |
//! |---|---|---|
//! | `enrol` | `p, m, r` | `p, m + 1, r + 1` |
//! | `arrive` | `p, m, r > 1` | `p, m, r - 1` |
//! | `arrive` | `p, m, 1` | `!p, m, m`: completes |
//! | `resign` | `p, m, r > 1`, or `p, 1, 1` | `p, m - 1, r - 1` |
//! | `resign` | `p, m > 1, 1` | `!p, m - 1, m - 1`: completes |
//! | `resign_arrived` in `p` | `p, m, r` | `p, m - 1, r` |
//!
//! Phases do not overlap: whoever is in a list is a member who is missing from the next phase until it has been woken,
//! so the next cannot be complete before the list has been taken, and the list is not used again before that.

#![cfg_attr(not(loom), allow(unreachable_pub, reason = "public for the models only"))]

use crate::order;
use crate::prim::{AtomicPtr, AtomicU64, Link, Ordering};

const MISSING: u64 = (1 << 32) - 1;
const MEMBER: u64 = 1 << 32;
const PHASE: u64 = 1 << 63;

/// One who waits, in its frame. `W` says how it is woken.
#[derive(Debug)]
#[repr(C)]
pub struct WaitNode<W> {
    next: Link<WaitNode<W>>,
    /// How it is woken.
    pub who: W,
}

impl<W> WaitNode<W> {
    /// The place of a member that has not come.
    #[inline]
    pub fn new(who: W) -> Self {
        WaitNode { next: Link::new(), who }
    }

    /// What was linked behind it, in a list that the caller holds.
    #[inline]
    pub(super) fn linked(&self) -> *mut WaitNode<W> {
        self.next.get()
    }

    /// Links it before `next`. Nobody else sees it.
    #[inline]
    pub(super) fn link(&self, next: *mut WaitNode<W>) {
        self.next.set(next);
    }
}

/// All who wait for a phase that is complete. Whoever has it wakes them.
#[derive(Debug)]
#[must_use]
pub struct Released<W>(*mut WaitNode<W>);

impl<W> Iterator for Released<W> {
    type Item = *mut WaitNode<W>;

    /// The next, in the order in which they came. Its frame stays until it is woken.
    #[inline]
    fn next(&mut self) -> Option<*mut WaitNode<W>> {
        let place = self.0;
        // SAFETY: it waits until the holder of this list wakes it.
        self.0 = unsafe { place.as_ref() }?.next.get();
        Some(place)
    }
}

/// One of two that follow each other. The next one does not end before a member of this one has arrived in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase(u64);

/// The word and the lists.
#[derive(Debug)]
pub struct Barrier<W> {
    word: AtomicU64,
    waiting: [AtomicPtr<WaitNode<W>>; 2],
}

#[inline]
fn members(word: u64) -> u64 {
    (word & !PHASE) / MEMBER
}

impl<W> Barrier<W> {
    /// With one member, who has not arrived.
    #[inline]
    pub fn new() -> Self {
        let list = || AtomicPtr::new(std::ptr::null_mut());
        Barrier { word: AtomicU64::new(MEMBER + 1), waiting: [list(), list()] }
    }

    /// How many are enrolled.
    #[inline]
    pub fn members(&self) -> u64 {
        members(self.word.load(Ordering::Relaxed))
    }

    /// How many of them have not arrived.
    #[inline]
    pub fn missing(&self) -> u64 {
        self.word.load(Ordering::Relaxed) & MISSING
    }

    /// The phase that has not ended, for a member that has not arrived in it.
    #[inline]
    pub fn phase(&self) -> Phase {
        Phase(self.word.load(Ordering::Relaxed) & PHASE)
    }

    /// A member that has arrived in `phase`, and does not wait, leaves for good. If that phase has ended, it was
    /// missing from the next, and may have been the last.
    #[inline]
    pub fn resign_arrived(&self, phase: Phase) -> Option<Released<W>> {
        let mut now = self.word.load(Ordering::Relaxed);
        while now & PHASE == phase.0 {
            match self.word.compare_exchange_weak(
                now,
                now - MEMBER,
                order::BARRIER_ARRIVE(),
                Ordering::Relaxed,
            ) {
                Ok(_) => return None,
                Err(other) => now = other,
            }
        }
        self.resign()
    }

    /// One more member, missing from this phase. By anybody.
    #[inline]
    pub fn enrol(&self) {
        // Relaxed: the new member sees the barrier because it is given it.
        self.word.fetch_add(MEMBER + 1, Ordering::Relaxed);
    }

    /// The member at `place`, whose context is saved, arrives. It will be among the released, perhaps of this very
    /// call.
    ///
    /// # Safety
    /// `place` is the caller's own, in no list, and stays where it is until it is released.
    #[inline]
    pub unsafe fn arrive(&self, place: *mut WaitNode<W>) -> Option<Released<W>> {
        // Relaxed: the phase does not end before this member has arrived, and it has seen the last one end.
        let list = self.list(self.word.load(Ordering::Relaxed));
        let mut first = list.load(Ordering::Relaxed);
        loop {
            // SAFETY: the caller's own place, as it vouches, which nobody sees yet.
            unsafe { &*place }.next.set(first);
            // Relaxed: who takes the list comes after this member's next step.
            match list.compare_exchange_weak(first, place, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break,
                Err(other) => first = other,
            }
        }
        self.lower(0)
    }

    /// A member that does not wait leaves for good. If it was the last that was missing, the others are released.
    #[inline]
    pub fn resign(&self) -> Option<Released<W>> {
        self.lower(MEMBER)
    }

    #[inline]
    fn list(&self, word: u64) -> &AtomicPtr<WaitNode<W>> {
        &self.waiting[usize::from(word & PHASE != 0)]
    }

    /// One less is missing, and by `member` one less a member.
    #[inline]
    fn lower(&self, member: u64) -> Option<Released<W>> {
        let mut now = self.word.load(Ordering::Relaxed);
        loop {
            let lowered = now - member - 1;
            let completes = lowered & MISSING == 0 && members(lowered) > 0;
            let to = if completes { (lowered ^ PHASE) + members(lowered) } else { lowered };
            match self.word.compare_exchange_weak(now, to, order::BARRIER_ARRIVE(), Ordering::Relaxed) {
                Ok(_) if !completes => return None,
                Ok(_) => break,
                Err(other) => now = other,
            }
        }
        // Relaxed: all who are in it had entered it before they lowered the word.
        let all = self.list(now).swap(std::ptr::null_mut(), Ordering::Relaxed);
        Some(Released(reversed(all)))
    }
}

/// The list in the order in which they came.
#[inline]
pub(super) fn reversed<W>(mut from: *mut WaitNode<W>) -> *mut WaitNode<W> {
    let mut to = std::ptr::null_mut();
    // SAFETY: each waits until the holder of the list wakes it.
    while let Some(place) = unsafe { from.as_ref() } {
        let next = place.next.get();
        place.next.set(to);
        to = from;
        from = next;
    }
    to
}
