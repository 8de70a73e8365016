//! Owns: what becomes of the heap of a thread that has rested for a while.
//! May use: `heap`, `registry`, `system`.
//! Never: a heap whose thread is at work.

use std::sync::atomic::Ordering;

use crate::heap::Heap;
use crate::{registry, system};

const A_WHILE_MS: u64 = 10;

/// Leaves to all what such a heap has, if one is found: for who is about to look for pages.
#[cold]
pub(crate) fn leave_one() {
    let is_left = |heap: &&Heap| {
        let since = heap.rests_since_ms.load(Ordering::Relaxed);
        heap.rest.is_resting() && system::now_ms().saturating_sub(since) >= A_WHILE_MS && heap.rest.claim()
    };
    let Some(heap) = registry::some_if_resting().find(is_left) else { return };
    registry::wakes();
    // Its thread was not at work there, and nobody else has it.
    let Some(work) = heap.work() else { return };
    work.leave_all();
    drop(work);
    registry::give(heap);
}
