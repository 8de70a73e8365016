//! Owns: `InDen`, one that waits for what its runtime's den tells; `PutBy`, those that a worker keeps for the next.
//! May use: `polling`, `shared`.
//! Never: one put by at a worker that sleeps, or that goes by a seed.
//!
//! As long as somebody waits something is [outstanding](super::polling), which is counted in two words that all workers
//! write, and the runtime is held by a third. A server waits and is woken once for each request, so that its workers
//! took these words from each other at each. But whose wait ends at a worker is about to run there, and most often
//! waits again before that worker has nothing to do. So the end of a wait is *put by*: who waits next on that worker
//! takes it, and no word of all is written.
//!
//! Until then it counts though nobody waits, which does no harm while its worker is busy: what is told to be outstanding
//! (in reports) leaves it out; idle workers sleep in the den instead of at their words, where they are woken as well;
//! and neither a deadlock nor the end of a runtime is looked for before all sleep. A worker that has nothing to run ends
//! what it has put by before it announces its sleep, so that whoever sees it asleep sees that; one that is never idle
//! does so once a tick, since who looks for livelocks asks whether anything is outstanding.
//!
//! Not put by is what ends elsewhere than on a worker of the same runtime, on an extra worker, or on one for which an
//! OS thread of the program stands, whose loop may sleep meanwhile.

use super::shared::Shared;
use super::{Here, LocalWorker, Published};
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// No more are put by at one worker.
const MOST: usize = 256;

/// One that waits for what the den of its runtime tells: outstanding there as long as this lives.
#[must_use = "what is dropped does not wait"]
pub struct InDen {
    /// None only when it is dropped.
    home: Option<Arc<Shared>>,
}

/// What has ended at a worker, and counts still.
#[derive(Default)]
pub(super) struct PutBy(Cell<Vec<Arc<Shared>>>);

impl Shared {
    /// One more waits for what the den tells, and holds this runtime, which is the caller's or the default one.
    #[inline]
    pub fn wait_in_den(&self) -> InDen {
        // SAFETY: it is given up before this returns, and nothing here leaves the stack.
        let put_by = unsafe { own_worker(self) }.and_then(|here| here.own().put_by.take(&here.published));
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
        let left = match unsafe { own_worker(&home) } {
            Some(here) => here.own().put_by.put(home, &here.published),
            None => Some(home),
        };
        if let Some(home) = left {
            home.end_in_den(1);
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

impl PutBy {
    /// One of them.
    #[inline]
    fn take(&self, published: &Published) -> Option<Arc<Shared>> {
        let mut all = self.0.take();
        let one = all.pop();
        published.put_by.store(all.len(), Ordering::Relaxed);
        self.0.set(all);
        one
    }

    /// One more; given back if there are enough.
    #[inline]
    fn put(&self, one: Arc<Shared>, published: &Published) -> Option<Arc<Shared>> {
        let mut all = self.0.take();
        let left = if all.len() < MOST {
            all.push(one);
            None
        } else {
            Some(one)
        };
        published.put_by.store(all.len(), Ordering::Relaxed);
        self.0.set(all);
        left
    }
}

impl LocalWorker {
    /// What has been put by has ended, for all.
    #[inline]
    pub(super) fn end_put_by(&self) {
        // Relaxed: only this OS thread writes it.
        if self.published.put_by.load(Ordering::Relaxed) > 0 {
            self.end_all_put_by();
        }
    }

    #[cold]
    #[inline(never)]
    fn end_all_put_by(&self) {
        let all = self.own().put_by.0.take();
        self.published.put_by.store(0, Ordering::Relaxed);
        self.shared().end_in_den(all.len());
    }
}
