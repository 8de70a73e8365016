//! Owns: read-modify-writes that cost nothing where one OS thread runs the machine.
//! May use: `prim`, `loom`.
//! Never: an ordering of its own; the protocols say what pairs with what.
//!
//! `SHARED` says whether several OS threads run the machine. If not, a load and a store do, which a microcontroller
//! without compare-and-swap has, too, and which on a large machine cost a tenth.

use crate::prim::{self, AtomicU32, Ordering};

/// Puts `to` where `from` is; or says what is there.
#[cfg_attr(feature = "large", inline(always))]
pub(crate) fn exchange<const SHARED: bool>(word: &AtomicU32, from: u32, to: u32) -> Result<(), u32> {
    #[cfg(target_has_atomic = "32")]
    if SHARED {
        return word.compare_exchange(from, to, prim::exchanged(), prim::refused()).map(drop);
    }
    match word.load(Ordering::Relaxed) {
        there if there == from => {
            word.store(to, Ordering::Relaxed);
            Ok(())
        }
        there => Err(there),
    }
}

/// Puts `to` there; gives what was there.
#[cfg_attr(feature = "large", inline(always))]
pub(crate) fn swap<const SHARED: bool>(word: &AtomicU32, to: u32) -> u32 {
    #[cfg(target_has_atomic = "32")]
    if SHARED {
        return word.swap(to, prim::signalled());
    }
    let before = word.load(Ordering::Relaxed);
    word.store(to, Ordering::Relaxed);
    before
}

/// Adds, wrapping; gives the sum.
#[cfg_attr(feature = "large", inline(always))]
pub(crate) fn add<const SHARED: bool>(word: &AtomicU32, amount: u32) -> u32 {
    #[cfg(target_has_atomic = "32")]
    if SHARED {
        return word.fetch_add(amount, prim::counted()).wrapping_add(amount);
    }
    let sum = word.load(Ordering::Relaxed).wrapping_add(amount);
    word.store(sum, Ordering::Relaxed);
    sum
}

/// Loads a word that a protocol governs.
#[cfg_attr(feature = "large", inline(always))]
pub(crate) fn load<const SHARED: bool>(word: &AtomicU32) -> u32 {
    word.load(if SHARED { prim::looked() } else { Ordering::Relaxed })
}
