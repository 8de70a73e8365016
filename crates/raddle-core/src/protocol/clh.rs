//! Owns: `ClhQueue`, the queue lock of Craig, and of Landin and Hagersten.
//! May use: `prim`, `order`.
//! Never: a decision on how to wait, or where nodes come from; the caller brings both.
//!
//! T. S. Craig: *Building FIFO and priority-queuing spin locks from atomic swap*, University of Washington TR 93-02-02,
//! 1993; P. Magnusson, A. Landin, E. Hagersten: *Queue locks on cache coherent multiprocessors*, IPPS 1994. Who comes
//! swaps the address of its own node into the tail and waits on the node that it found there. To release is one store
//! into the own node; then that node is the successor's, and one's own is the predecessor's. One locked instruction for
//! a lock and an unlock together, where the lock of Mellor-Crummey and Scott needs two.
//!
//! | node's `held` | meaning | whose it is |
//! |---|---|---|
//! | yes | its maker waits or holds | its maker's, and the successor looks at it |
//! | no | its maker has released | the successor's; if there is none, the lock's |
//!
//! The lock begins without a node (in the papers: with one that is not held), so that it can be a constant.

use crate::order;
use crate::prim::{AtomicBool, AtomicPtr, Hint, Ordering, const_fn};
use std::ptr::NonNull;

/// One who waits or holds. On the heap: it changes hands.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct ClhNode {
    held: AtomicBool,
    /// A hint: one more than that of the node before, as far as its maker knows.
    number: Hint,
}

impl ClhNode {
    /// A new one, whose owner the caller is.
    pub(crate) fn boxed() -> NonNull<ClhNode> {
        NonNull::from(Box::leak(Box::new(ClhNode { held: AtomicBool::new(true), number: Hint::new(0) })))
    }

    /// # Safety
    /// The caller is its owner, and it was made by [`boxed`](Self::boxed).
    pub(crate) unsafe fn free(node: NonNull<ClhNode>) {
        // SAFETY: passed on to the caller.
        drop(unsafe { Box::from_raw(node.as_ptr()) });
    }
}

/// The tail, and the number of the one who holds.
#[derive(Debug)]
pub(crate) struct ClhQueue {
    tail: AtomicPtr<ClhNode>,
    served: Hint,
}

impl ClhQueue {
    const_fn! {
        /// A free one.
        pub(crate) fn new() -> Self {
            ClhQueue { tail: AtomicPtr::new(std::ptr::null_mut()), served: Hint::new(0) }
        }
    }

    /// Takes the lock; calls `between` between two looks, with how many are before. Returns the node that is from now
    /// on the caller's.
    ///
    /// # Safety
    /// The caller is the owner of `node`; from now on the lock is, until the release.
    #[inline]
    pub(crate) unsafe fn acquire(
        &self,
        node: NonNull<ClhNode>,
        between: impl FnMut(u32),
    ) -> Option<NonNull<ClhNode>> {
        // SAFETY: it is the caller's.
        unsafe { node.as_ref() }.held.store(true, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { node.as_ref() }.number.set(self.served.get());
        let before = NonNull::new(self.tail.swap(node.as_ptr(), order::CLH_SWAP()))?;
        // SAFETY: from the swap on nobody but the caller frees it.
        let before_node = unsafe { before.as_ref() };
        if before_node.held.load(order::CLH_SEE_RELEASE()) {
            // SAFETY: it is the caller's.
            self.wait(before_node, unsafe { node.as_ref() }, between);
        }
        Some(before)
    }

    #[cold]
    fn wait(&self, before: &ClhNode, mine: &ClhNode, mut between: impl FnMut(u32)) {
        while before.held.load(order::CLH_SEE_RELEASE()) {
            // The one before may learn its own number later than we ask for it.
            let number = before.number.get().wrapping_add(1);
            mine.number.set(number);
            between(number.wrapping_sub(self.served.get()));
        }
        self.served.set(mine.number.get());
    }

    /// Gives the lock to the next in the queue. The node is its, or the lock's.
    ///
    /// # Safety
    /// The lock was acquired with `node` and has not been released since.
    #[inline]
    pub(crate) unsafe fn release(node: NonNull<ClhNode>) {
        // SAFETY: it is the caller's until this store.
        unsafe { node.as_ref() }.held.store(false, order::CLH_RELEASE());
    }

    /// The node that a free lock owns, for the end of the lock.
    pub(crate) fn take_last(&mut self) -> Option<NonNull<ClhNode>> {
        NonNull::new(self.tail.swap(std::ptr::null_mut(), Ordering::Relaxed))
    }
}
