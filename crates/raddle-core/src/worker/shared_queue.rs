//! Owns: the queues that several workers share: what comes from outside, and all movable work if the policy says so.
//! May use: `raddle-protocol`.
//! Never: the fast path of a worker that has work of its own.

use raddle_protocol::fifo::{Chain, Fifo};
use raddle_protocol::header::{Header, Runnable};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One first-in-first-out queue under a lock, with its length to be read without.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct SharedQueue {
    len: AtomicUsize,
    fifo: Mutex<Fifo>,
}

impl SharedQueue {
    pub(crate) fn new() -> Self {
        SharedQueue { len: AtomicUsize::new(0), fifo: Mutex::new(Fifo::new()) }
    }

    fn lock(&self) -> MutexGuard<'_, Fifo> {
        // Nothing under the lock can panic.
        self.fifo.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The length at a glance. A sleeper's last look relies on the idle protocol's fences, not on this load.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    pub(crate) fn push(&self, runnable: Runnable) {
        let fifo = self.lock();
        fifo.push(runnable);
        self.len.store(fifo.len(), Ordering::Relaxed);
    }

    /// Shows all that wait here. False if somebody has the lock.
    ///
    /// # Safety
    /// All who take from here stand still.
    pub(crate) unsafe fn for_each(&self, each: impl FnMut(&Header)) -> bool {
        let Ok(fifo) = self.fifo.try_lock() else { return false };
        // SAFETY: who has the lock owns the queue.
        unsafe { fifo.for_each(each) }
    }

    /// Takes the oldest `most`, or this worker's share of what is there, whichever is less.
    pub(crate) fn take(&self, most: usize, sharers: usize) -> Chain {
        if self.len() == 0 {
            return Chain::EMPTY;
        }
        let fifo = self.lock();
        let taken = Fifo::new();
        let share = fifo.len().div_ceil(sharers).min(most);
        while taken.len() < share
            && let Some(runnable) = fifo.pop()
        {
            taken.push(runnable);
        }
        self.len.store(fifo.len(), Ordering::Relaxed);
        taken.drain()
    }
}
