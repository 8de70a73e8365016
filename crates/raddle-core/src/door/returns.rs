//! Owns: how a call of another language's that has waited goes back to its caller.
//! May use: `block::current`, `worker`.
//! Never: a say in where it goes back to; to be wrong costs time and nothing else.
//!
//! A processor predicts returns by a stack of its own, of the calls that were made. Who waits leaves by a jump, in the
//! middle of a call, and another one comes back there: the stack has the first one's call on top, and the second one
//! returns elsewhere. If both have called from one place, that is right all the same, as among many threads that do the
//! same; else the return is predicted wrongly, 16 ns on an Intel Xeon, twice what the switch itself takes. A jump to
//! the same place is predicted by where jumps went before, and mostly rightly. But a jump where a return would have
//! been right leaves a call too many on the processor's stack, and then the caller's own return is wrong.
//!
//! So each worker keeps from where the last one called that came here. In Rust waits are compiled into their callers,
//! and nothing of this is done.

use crate::block::current_header;
use crate::worker::Worker;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The worker's word; none on an OS thread of the program's.
#[inline(always)]
fn left_at<'w>() -> Option<&'w AtomicUsize> {
    // SAFETY: the word is null or the header of what runs here, which is alive.
    let running = unsafe { current_header().as_ref() }?;
    // SAFETY: null, or the worker of what runs here, which lives until it has been left.
    let worker = unsafe { running.worker.get().cast::<Worker>().as_ref() }?;
    Some(&worker.left_at)
}

/// The caller may wait, in a call that returns to `site`.
#[inline(always)]
pub fn will_leave(site: usize) {
    if let Some(left_at) = left_at() {
        left_at.store(site, Ordering::Relaxed);
    }
}

/// It is about to return there. Whether the processor expects another place, as far as is known.
#[inline(always)]
pub fn is_unexpected(site: usize) -> bool {
    left_at().is_some_and(|left_at| left_at.load(Ordering::Relaxed) != site)
}
