//! Owns: `Claim`, the word by which several share what one at a time may use, in the order in which they came.
//! May use: `order`, `prim::model`, `prim::real`, `loom`.
//! Never: a queue of the scheduler's; who is told whose turn it is wakes that one.
//!
//! | word | meaning |
//! |---|---|
//! | `FREE` | nobody has it |
//! | `HELD` | somebody has it; nobody has come since the holder looked last |
//! | a place's address | somebody has it; those who came since wait here, the last first |
//!
//! The holder keeps those that it has already taken out of the word in a list of its own, in their order, and passes it
//! on with the claim: so a claim goes to whoever has waited longest, and nobody who comes later can overtake.
//!
//! Alternatives: an MCS queue has the order in the word alone, but its release may have to wait for a link.

#![cfg_attr(not(loom), allow(unreachable_pub, reason = "public for the models only"))]

use super::barrier::WaitNode;
use crate::order;
use crate::prim::{AtomicPtr, Link, Ordering};

/// What one who came must do next.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Claimed {
    /// It is the holder.
    Now,
    /// It waits, and will be woken as the holder.
    Later,
}

/// The word, and the holder's list.
#[derive(Debug)]
pub struct Claim<W> {
    word: AtomicPtr<WaitNode<W>>,
    /// The holder's: those who waited when it last looked.
    next: Link<WaitNode<W>>,
}

// SAFETY: `next` is the holder's alone, and passes with the claim.
unsafe impl<W> Sync for Claim<W> {}
// SAFETY: nothing in it is tied to a thread.
unsafe impl<W> Send for Claim<W> {}

#[inline]
fn held<W>() -> *mut WaitNode<W> {
    std::ptr::without_provenance_mut(1)
}

impl<W> Claim<W> {
    /// A claim that is free.
    #[inline]
    pub fn new() -> Self {
        Claim { word: AtomicPtr::new(std::ptr::null_mut()), next: Link::new() }
    }

    /// Claims it if nobody has it.
    #[must_use]
    #[inline]
    pub fn try_claim(&self) -> bool {
        let (free, acquire) = (std::ptr::null_mut(), order::CLAIM_TAKE());
        self.word.compare_exchange(free, held(), acquire, Ordering::Relaxed).is_ok()
    }

    /// Claims it for the one at `place`, whose context is saved.
    ///
    /// # Safety
    /// `place` is the caller's own, in no list, and stays where it is until its owner is the holder.
    #[inline]
    pub unsafe fn claim(&self, place: *mut WaitNode<W>) -> Claimed {
        let mut now = self.word.load(Ordering::Relaxed);
        loop {
            if now.is_null() {
                match self.word.compare_exchange(now, held(), order::CLAIM_TAKE(), Ordering::Relaxed) {
                    Ok(_) => return Claimed::Now,
                    Err(other) => now = other,
                }
                continue;
            }
            let before = if now == held() { std::ptr::null_mut() } else { now };
            // SAFETY: the caller's own place, as it vouches, which nobody sees yet.
            unsafe { &*place }.link(before);
            let (release, relaxed) = (order::CLAIM_WAIT(), Ordering::Relaxed);
            match self.word.compare_exchange_weak(now, place, release, relaxed) {
                Ok(_) => return Claimed::Later,
                Err(other) => now = other,
            }
        }
    }

    /// The holder goes. If somebody waits, that one is the holder now: the caller wakes it.
    #[inline]
    pub fn release(&self) -> Option<*mut WaitNode<W>> {
        if self.next.get().is_null() {
            let (release, acquire) = (order::CLAIM_RELEASE(), order::CLAIM_TAKE());
            if self.word.compare_exchange(held(), std::ptr::null_mut(), release, Ordering::Relaxed).is_ok() {
                return None;
            }
            let waiting = self.word.swap(held(), acquire);
            self.next.set(super::barrier::reversed(waiting));
        }
        let first = self.next.get();
        // SAFETY: it waits until it is woken, which is the caller's part.
        self.next.set(unsafe { &*first }.linked());
        Some(first)
    }
}
