//! Owns: `McsQueue`, the queue lock of Mellor-Crummey and Scott.
//! May use: `prim`, `order`.
//! Never: a decision on how to wait; the caller says what to do between two looks.
//!
//! J. M. Mellor-Crummey, M. L. Scott: *Algorithms for scalable synchronization on shared-memory multiprocessors*, ACM
//! TOCS 9(1), 1991, figure 5. Who comes swaps the address of its own node into the tail and links itself behind the one
//! it found there; each waits on a flag in its own node, which its predecessor sets: first come, first served, and a
//! hand-over touches the cache lines of the two alone.
//!
//! | node's `granted` | meaning | who changes it |
//! |---|---|---|
//! | no | waits for its predecessor | the predecessor: `release` |
//! | yes | holds the lock | - |
//!
//! The numbers of the nodes are a hint, and count from wherever they stood when the queue was last empty: by them one
//! who waits knows how many are before it, and whether it is worth while to go on looking.
//!
//! `release` finds a successor linked and grants it; or it is still the tail and takes itself out; or somebody has
//! swapped and not linked yet, which it waits for.

use crate::order;
use crate::prim::{AtomicBool, AtomicPtr, Hint, Ordering, const_fn};

/// One who waits or holds. Stays where it is until it has been released.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct McsNode {
    next: AtomicPtr<McsNode>,
    granted: AtomicBool,
    /// Written by its owner before it links itself; read by the next before it does.
    number: Hint,
}

impl McsNode {
    #[inline]
    pub(crate) fn new() -> Self {
        McsNode {
            next: AtomicPtr::new(std::ptr::null_mut()),
            granted: AtomicBool::new(false),
            number: Hint::new(0),
        }
    }
}

/// Adds the release by which the next one sees this node made. No row of the table: loom does not notice its absence,
/// since to it the making of an atomic is no write. It pairs with the acquire of the next one's `MCS_SWAP`.
#[inline(always)]
fn publish(acquire: Ordering) -> Ordering {
    if acquire == Ordering::Relaxed { Ordering::Release } else { Ordering::AcqRel } // pairs with `MCS_SWAP`
}

/// The tail, and the number of the one who holds.
#[derive(Debug)]
pub(crate) struct McsQueue {
    tail: AtomicPtr<McsNode>,
    served: Hint,
}

impl McsQueue {
    const_fn! {
        /// A free one.
        pub(crate) fn new() -> Self {
            McsQueue { tail: AtomicPtr::new(std::ptr::null_mut()), served: Hint::new(0) }
        }
    }

    /// Takes the lock with a new node if nobody has it.
    #[inline]
    pub(crate) fn try_acquire(&self, node: &McsNode) -> bool {
        node.number.set(self.served.get());
        let (me, acquire) = (std::ptr::from_ref(node).cast_mut(), publish(order::MCS_SWAP()));
        self.tail.compare_exchange(std::ptr::null_mut(), me, acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes the lock with a new node; calls `between` between two looks at it, with how many are before it.
    #[inline]
    pub(crate) fn acquire(&self, node: &McsNode, between: impl FnMut(u32)) {
        let me = std::ptr::from_ref(node).cast_mut();
        node.number.set(self.served.get());
        let before = self.tail.swap(me, publish(order::MCS_SWAP()));
        if !before.is_null() {
            self.wait_behind(before, node, between);
        }
    }

    #[cold]
    fn wait_behind(&self, before: *mut McsNode, node: &McsNode, mut between: impl FnMut(u32)) {
        let me = std::ptr::from_ref(node).cast_mut();
        // SAFETY: the one before waits for the link before it lets its node go.
        let before = unsafe { &*before };
        let number = before.number.get().wrapping_add(1);
        node.number.set(number);
        before.next.store(me, order::MCS_LINK());
        while !node.granted.load(order::MCS_SEE_GRANT()) {
            between(number.wrapping_sub(self.served.get()));
        }
        self.served.set(number);
    }

    /// Gives the lock to the next in the queue. The node is free after it.
    #[inline]
    pub(crate) fn release(&self, node: &McsNode) {
        let me = std::ptr::from_ref(node).cast_mut();
        let mut next = node.next.load(order::MCS_SEE_LINK());
        if next.is_null() {
            if self
                .tail
                .compare_exchange(me, std::ptr::null_mut(), order::MCS_LEAVE(), Ordering::Relaxed)
                .is_ok()
            {
                return;
            }
            next = Self::wait_for_link(node);
        }
        // SAFETY: the next waits for this grant.
        unsafe { &*next }.granted.store(true, order::MCS_GRANT());
    }

    /// Somebody has swapped and not linked: it is between two instructions.
    #[cold]
    fn wait_for_link(node: &McsNode) -> *mut McsNode {
        let mut round = 0;
        loop {
            let next = node.next.load(order::MCS_SEE_LINK());
            if !next.is_null() {
                return next;
            }
            crate::prim::back_off(round);
            round += 1;
        }
    }

    /// Whether somebody has it, for looks that may be out of date at once.
    pub(crate) fn is_locked(&self) -> bool {
        !self.tail.load(Ordering::Relaxed).is_null()
    }
}
