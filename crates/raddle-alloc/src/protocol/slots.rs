//! Owns: words that are kept for whoever can use one: each is put into an empty slot, and taken out by one.
//! May use: `mistake`, `loom`.
//! Never: what a word means, but that 0 is none.
//!
//! A word that is taken, put back and taken again may be the same: that means nothing worse than that it is there.

use crate::mistake::{Mistake, made};
use crate::prim::{AtomicU64, Ordering};

/// Puts a word into an empty slot; which, or `None` if there is none.
pub(crate) fn put(slots: &[AtomicU64], word: u64) -> Option<usize> {
    // pairs with `take`
    let order = if made(Mistake::PutsRelaxed) { Ordering::Relaxed } else { Ordering::Release };
    slots.iter().position(|slot| {
        slot.load(Ordering::Relaxed) == 0 && slot.compare_exchange(0, word, order, Ordering::Relaxed).is_ok()
    })
}

/// Takes a word out that was seen in a slot; false if somebody else has.
pub(crate) fn take(slots: &[AtomicU64], slot: usize, word: u64) -> bool {
    if made(Mistake::TakesWordBlindly) {
        slots[slot].store(0, Ordering::Relaxed);
        return true;
    }
    // pairs with `put`
    slots[slot].compare_exchange(word, 0, Ordering::Acquire, Ordering::Relaxed).is_ok()
}
