//! Owns: the nodes of `ClhLock` that nobody uses just now, by OS thread.
//! May use: `protocol::clh`.
//! Never: being borrowed over a wait: it belongs to the OS thread that runs, which a wait may change.
//!
//! A node of that lock changes hands at each lock, so it lives on the heap; a few stay here for the next who needs one.

use crate::protocol::clh::ClhNode;
use std::cell::Cell;
use std::ptr::NonNull;

/// One is enough: who locks takes one, and gets its predecessor's back at the same time.
struct Spare(Cell<Option<NonNull<ClhNode>>>);

thread_local! {
    static SPARE: Spare = const { Spare(Cell::new(None)) };
}

impl Drop for Spare {
    fn drop(&mut self) {
        if let Some(node) = self.0.take() {
            // SAFETY: a spare node belongs to the one who keeps it.
            unsafe { ClhNode::free(node) };
        }
    }
}

/// A node, whose owner the caller is.
#[inline]
pub(super) fn take() -> NonNull<ClhNode> {
    SPARE.try_with(|spare| spare.0.take()).ok().flatten().unwrap_or_else(ClhNode::boxed)
}

/// Takes a node back.
///
/// # Safety
/// The caller is its owner.
#[inline]
pub(super) unsafe fn give(node: NonNull<ClhNode>) {
    let before = SPARE.try_with(|spare| spare.0.replace(Some(node))).unwrap_or(Some(node));
    if let Some(before) = before {
        // SAFETY: it belongs to this thread, or to the caller if this thread is ending.
        unsafe { ClhNode::free(before) };
    }
}
