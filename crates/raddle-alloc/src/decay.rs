//! Owns: when free memory goes back to the kernel.
//! May use: `arena`, `spare`, `system`.
//! Never: a thread of its own: whoever passes by does it.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{arena, spare, system};

/// Slices that have been free for so long go back to the kernel; never, if it is `u64::MAX`.
static DECAY_MS: AtomicU64 = AtomicU64::new(1000);
static PURGED_MS: AtomicU64 = AtomicU64::new(0);

/// Sets it.
pub(crate) fn set(ms: u64) {
    DECAY_MS.store(ms, Ordering::Relaxed);
}

/// As [`purge_if_due`], by one who has nothing of its own to note when it last looked.
pub(crate) fn pass_by() {
    purge_if_due(&Cell::new(0));
}

/// Gives the kernel what has been free for a while, if nobody has done so lately.
pub(crate) fn purge_if_due(seen: &Cell<u64>) {
    let decay = DECAY_MS.load(Ordering::Relaxed);
    if decay == u64::MAX {
        return;
    }
    let now = system::now_ms();
    if now < seen.get().saturating_add(decay) {
        return;
    }
    let last = PURGED_MS.load(Ordering::Relaxed);
    seen.set(last.max(seen.get()));
    if now < last.saturating_add(decay) {
        return;
    }
    // One does it; nobody waits for it, and if it is stopped the next does it after the same time.
    if PURGED_MS.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        arena::purge(decay == 0);
        spare::purge(decay);
    }
}
