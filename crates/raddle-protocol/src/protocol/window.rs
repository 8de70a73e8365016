//! Owns: `Window`, the few slots in which a busy worker lays out surplus for whoever is idle.
//! May use: `order`, `prim`, `loom`.
//! Never: more than one owner that lays out.
//!
//! Each slot is empty or the first element of a chain of movable runnables. Only the owner fills a slot, and only
//! an empty one, so filling is a plain store with release; anybody, the owner too, empties one by a swap, so a chain
//! has exactly one taker and a taker never waits. A shared queue of single runnables was considered: it costs an
//! atomic operation for each runnable, a slot costs one for a whole chain.
//!
//! The owner writes slots at quantum boundaries only (50 us and more apart), so an idle worker that looks at them
//! disturbs nobody. Who has stopped the owner, and sees what it did before, may lay out in its place.

use crate::order;
use crate::prim::{AtomicPtr, Ordering, overwrite};
use crate::protocol::fifo::Chain;
use crate::protocol::header::Header;

const SLOTS: usize = 4;

/// One owner lays out, anybody takes.
#[derive(Debug)]
pub struct Window {
    slots: [AtomicPtr<Header>; SLOTS],
}

impl Window {
    /// A window with nothing in it.
    #[inline]
    pub fn new() -> Self {
        Window { slots: std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut())) }
    }

    /// How many slots are filled at a glance.
    #[inline]
    pub fn filled(&self) -> usize {
        self.slots.iter().filter(|slot| !slot.load(Ordering::Relaxed).is_null()).count()
    }

    /// Whether a slot is empty: from then on one is until the owner lays something out.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.filled() < SLOTS
    }

    /// Lays out a chain in an empty slot. Gives it back if there is none. Only the owner calls it.
    #[inline]
    pub fn publish(&self, chain: Chain) -> Result<(), Chain> {
        let empty = self.slots.iter().find(|slot| slot.load(Ordering::Relaxed).is_null());
        let Some(slot) = empty else { return Err(chain) };
        if !chain.is_empty() {
            overwrite!(slot, chain.into_ends().0, order::WINDOW_PUBLISH());
        }
        Ok(())
    }

    /// Shows all that are laid out.
    ///
    /// # Safety
    /// The owner, and all who take, stand still, anywhere, and what they did before is seen.
    #[cfg(not(loom))]
    pub unsafe fn for_each(&self, mut each: impl FnMut(&Header)) {
        for slot in &self.slots {
            let mut at = slot.load(Ordering::Relaxed);
            // SAFETY: null, or what was laid out, and nobody takes it.
            while let Some(header) = unsafe { at.as_ref() } {
                each(header);
                at = header.link.get();
            }
        }
    }

    /// Takes a chain out of some filled slot. Empty if there was none, or somebody was faster at each.
    #[inline]
    pub fn take(&self) -> Chain {
        for slot in &self.slots {
            if slot.load(Ordering::Relaxed).is_null() {
                continue;
            }
            let first = slot.swap(std::ptr::null_mut(), order::WINDOW_TAKE());
            if !first.is_null() {
                // SAFETY: the owner published this chain and the swap made us its only holder.
                return unsafe { Chain::from_first(first) };
            }
        }
        Chain::EMPTY
    }
}
