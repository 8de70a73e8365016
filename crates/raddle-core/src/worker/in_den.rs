//! Owns: `InDen`, one that waits for what its runtime's den tells, and what a worker puts by of these for the next.
//! May use: nothing.
//! Never: one put by at a worker that sleeps, or that goes by a seed.
//!
//! As long as somebody waits something is [outstanding](super::polling), which is counted in two words that all workers
//! write, and the runtime is held by a third. A server waits and is woken once for each request, so that its workers
//! took these words from each other at each. But whose wait ends at a worker is about to run there, and most often
//! waits again before that worker has nothing to do. So the end of a wait is *put by*: who waits next on that worker
//! takes it, its count and its hold of the runtime, and no word of all is written.
//!
//! Until then it counts though nobody waits, which does no harm while its worker is busy: reports of what is
//! outstanding leave it out; idle workers sleep in the den instead of at their words, and are woken there as well; and
//! neither a deadlock nor the end of a runtime is looked for before all sleep. A worker that has nothing to run ends
//! what it has put by before it announces its sleep, so that whoever sees it asleep sees that; one that is never idle
//! does so once a tick, since who looks for livelocks asks whether anything is outstanding.
//!
//! Not put by is what ends elsewhere than on a worker of the same runtime, on an extra worker, or on one for which an
//! OS thread of the program stands, whose loop may sleep meanwhile.

use super::shared::Shared;
use super::{Here, LocalWorker};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// One that waits for what the den of its runtime tells: outstanding there as long as this lives.
#[must_use = "what is dropped does not wait"]
pub struct InDen {
    /// None only when it is dropped.
    home: Option<Arc<Shared>>,
}

impl Shared {
    /// One more waits for what the den tells, and holds this runtime, which is the caller's or the default one.
    #[inline]
    pub fn wait_in_den(&self) -> InDen {
        // SAFETY: it is given up before this returns, and nothing here leaves the stack.
        let put_by = unsafe { own_worker(self) }.and_then(|here| here.take_put_by());
        let home = put_by.unwrap_or_else(|| {
            self.begin_in_den();
            self.hold()
        });
        InDen { home: Some(home) }
    }

    /// So many waits count at the den though they have ended.
    pub(super) fn put_by(&self) -> usize {
        self.workers().iter().map(|worker| worker.published.put_by.load(Ordering::Relaxed)).sum()
    }
}

impl Drop for InDen {
    #[inline]
    fn drop(&mut self) {
        let Some(home) = self.home.take() else { return };
        // SAFETY: it is given up before this returns, and nothing here leaves the stack.
        match unsafe { own_worker(&home) } {
            Some(here) => here.put_by(home),
            None => home.end_in_den(1),
        }
    }
}

impl fmt::Debug for InDen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InDen").finish_non_exhaustive()
    }
}

/// The worker on which the caller is, if it is one of this runtime that puts by.
///
/// # Safety
/// As for [`Here::current`].
#[inline]
unsafe fn own_worker<'w>(shared: &Shared) -> Option<Here<'w>> {
    // SAFETY: passed on to the caller.
    let here = unsafe { Here::current() }?;
    let is_lent = here.index == 0 && shared.gate.is_some();
    let puts_by = || !is_lent && !here.ways.is_extra && here.seeded().is_none() && shared.is_here();
    (std::ptr::eq(here.shared(), shared) && puts_by()).then_some(here)
}

impl LocalWorker {
    /// Of those that were put by, one, with its hold of this worker's runtime.
    #[inline]
    fn take_put_by(&self) -> Option<Arc<Shared>> {
        let left = self.published.put_by.load(Ordering::Relaxed).checked_sub(1)?;
        // Relaxed: only this OS thread writes it, and who reads it elsewhere tells a number.
        self.published.put_by.store(left, Ordering::Relaxed);
        // SAFETY: the pointer came from an `Arc`, one of whose counts `put_by` has left, for whoever counts it down.
        Some(unsafe { Arc::from_raw(self.runtime.0) })
    }

    /// One more, which holds this worker's runtime.
    #[inline]
    fn put_by(&self, home: Arc<Shared>) {
        let _left_for_the_next = Arc::into_raw(home);
        let before = self.published.put_by.load(Ordering::Relaxed);
        self.published.put_by.store(before + 1, Ordering::Relaxed);
    }

    /// What has been put by has ended, for all.
    #[inline]
    pub(super) fn end_put_by(&self) {
        if self.published.put_by.load(Ordering::Relaxed) > 0 {
            self.end_all_put_by();
        }
    }

    #[cold]
    #[inline(never)]
    fn end_all_put_by(&self) {
        self.shared().end_in_den(self.published.put_by.load(Ordering::Relaxed));
        while self.take_put_by().is_some() {}
    }
}
