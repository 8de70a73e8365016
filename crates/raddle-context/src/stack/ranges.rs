//! Owns: the list of all slabs of the process, for the fault handler.
//! May use: nothing.
//! Never: a lock, freed memory, or anything else that is unsafe in a signal handler.
//!
//! A singly linked list that only grows at its head; its nodes are leaked, and reused when a slab is
//! unmapped. The word `base` of a node says what the node is:
//!
//! | `base` | meaning | goes to |
//! |---|---|---|
//! | 0 | free | 1, by the compare-exchange of one [`add`] |
//! | 1 | being filled by that `add` | an address, by its release store |
//! | an address | a live slab; the other fields are valid | 0, by [`Range::retire`] |
//!
//! A reader that is interrupted between its loads by a retirement and a reuse may see the new slab's size
//! with the old one's base. It reads only after a fault in the old slab, which its user must not unmap
//! before the stack is given back; so this takes a use after free, and then only the text of a message is wrong.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

static HEAD: AtomicPtr<Range> = AtomicPtr::new(null_mut());
const BUSY: usize = 1;

/// One slab, as the fault handler sees it.
#[derive(Debug)]
pub(crate) struct Range {
    base: AtomicUsize,
    bytes: AtomicUsize,
    stride: AtomicUsize,
    next: AtomicPtr<Range>,
}

/// The slot that an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackSlot {
    /// Its lowest address, where the guard page is.
    pub(crate) base: usize,
    /// Its bytes, guard included.
    pub(crate) bytes: usize,
}

/// Adds a slab to the list.
pub(crate) fn add(base: usize, bytes: usize, stride: usize) -> &'static Range {
    let range = iter().find(|range| range.claim()).unwrap_or_else(grow);
    range.bytes.store(bytes, Ordering::Relaxed);
    range.stride.store(stride, Ordering::Relaxed);
    // Release: pairs with the acquire in `find`.
    range.base.store(base, Ordering::Release);
    range
}

/// The slot that holds `address`. Async-signal-safe.
pub(crate) fn find(address: usize) -> Option<StackSlot> {
    iter().find_map(|range| {
        // Pairs with the release in `add`: the other words are those of this base.
        let base = range.base.load(Ordering::Acquire);
        let offset = address.checked_sub(base).filter(|_| base > BUSY)?;
        let (bytes, stride) = (range.bytes.load(Ordering::Relaxed), range.stride.load(Ordering::Relaxed));
        (offset < bytes).then(|| StackSlot { base: address - offset % stride, bytes: stride })
    })
}

impl Range {
    /// Takes the slab off the list; the node is free for the next one.
    pub(crate) fn retire(&self) {
        // Release: pairs with the acquire in `claim`, so that the next user's stores come after ours.
        self.base.store(0, Ordering::Release);
    }

    fn claim(&self) -> bool {
        // Pairs with the release in `retire`.
        self.base.compare_exchange(0, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}

/// Puts a new node, busy, at the head.
fn grow() -> &'static Range {
    let node: &'static Range = Box::leak(Box::new(Range {
        base: AtomicUsize::new(BUSY),
        bytes: AtomicUsize::new(0),
        stride: AtomicUsize::new(1),
        next: AtomicPtr::new(null_mut()),
    }));
    let mut head = HEAD.load(Ordering::Relaxed);
    loop {
        node.next.store(head, Ordering::Relaxed);
        let new = core::ptr::from_ref(node).cast_mut();
        // Release: pairs with the acquire in `iter`.
        match HEAD.compare_exchange_weak(head, new, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return node,
            Err(now) => head = now,
        }
    }
}

fn iter() -> impl Iterator<Item = &'static Range> {
    // SAFETY: every node is leaked, so that a pointer to one stays valid and shared for ever.
    let deref = |at: *mut Range| unsafe { at.as_ref() };
    // Each of the two pairs with the release in `grow`: a node is seen whole.
    core::iter::successors(deref(HEAD.load(Ordering::Acquire)), move |range| {
        deref(range.next.load(Ordering::Acquire))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_finds_its_slot_until_the_slab_is_retired() {
        let range = add(0x10_0000, 0x3000 * 4, 0x3000);
        assert_eq!(find(0x10_0000), Some(StackSlot { base: 0x10_0000, bytes: 0x3000 }));
        assert_eq!(find(0x10_5fff), Some(StackSlot { base: 0x10_3000, bytes: 0x3000 }));
        assert_eq!(find(0x10_c000), None);
        assert_eq!(find(0x0f_ffff), None);
        range.retire();
        assert_eq!(find(0x10_0000), None);
        let again = add(0x20_0000, 0x3000, 0x3000);
        assert!(core::ptr::eq(range, again), "a retired node is used again");
        again.retire();
    }
}
