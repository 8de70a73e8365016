//! Owns: what the engines of other crates may do on a worker.
//! May use: `counters`, `worker`, `raddle-protocol`.
//! Never: a budget overdrawn: boundaries come as with everything else.
//!
//! It uses the batch, the fresh list.

use crate::counters::Counters;
use crate::worker::LocalWorker;
use raddle_protocol::header::{Header, Kind, Runnable};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

impl LocalWorker {
    pub(in crate::worker) fn run_engine(&self, next: Runnable) {
        Counters::add(&self.counters.polls, 1);
        next.header().worker.set(self.as_word());
        self.trace_turn(next.header(), || super::run(self, next));
    }

    /// Queues an engine's, which waited, or has just been made: as `wake`, knowing what it is. True if
    /// it is in the batch, of which others get what this worker gives away, between two dispatches.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub(crate) unsafe fn wake_engine(&self, header: *mut Header) -> bool {
        // SAFETY: the caller vouches that it is alive and theirs.
        let home = unsafe { &*header }.worker.get();
        if home == self.as_word() && self.wakes_stay.load(Ordering::Relaxed) {
            // SAFETY: the caller holds the right to queue it.
            let runnable = unsafe { Runnable::from_raw(header) };
            self.turns().batch.push_woken_movable(runnable.expect("it is not null"));
            true
        } else {
            // SAFETY: passed on to the caller.
            unsafe { self.wake_engine_elsewhere(header) };
            false
        }
    }

    /// It was at another worker, or is traced, or was never queued: then it is of this one.
    ///
    /// # Safety
    /// As [`wake`](LocalWorker::wake).
    #[cold]
    #[inline(never)]
    unsafe fn wake_engine_elsewhere(&self, header: *mut Header) {
        // SAFETY: the caller vouches that it is alive and theirs.
        self.adopt_new(unsafe { &*header });
        // SAFETY: passed on to the caller.
        unsafe { self.wake(header) };
    }

    /// One that was never queued is of this worker.
    #[inline(always)]
    pub(crate) fn adopt_new(&self, header: &Header) {
        if header.worker.get().is_null() {
            header.worker.set(self.as_word());
        }
    }

    /// The next in the batch, if it is an engine's, the budget lasts and there is no mail.
    #[inline(always)]
    pub(crate) fn next_engine(&self) -> Option<Runnable> {
        let budget = self.budget.get() - 1;
        if budget == 0 || self.inbox.has_mail() {
            return None;
        }
        let next = self.turns().batch.pop()?;
        self.budget.set(budget);
        if next.header().kind == Kind::Engine {
            next.header().worker.set(self.as_word());
            if self.traces() {
                self.trace_switch_to(next.header());
            }
            return Some(next);
        }
        self.own().handoff.set(Some(next));
        None
    }

    /// The engine that runs is to come back when it asks for the next.
    pub(crate) fn end_engine_batch(&self) {
        self.budget.set(1);
    }

    /// Something of the engine's can run again here, without coming to the batch.
    pub(crate) fn count_engine_wake(&self) {
        Counters::add(&self.counters.local_wakes, 1);
    }

    /// How many of its own have never run.
    pub(crate) fn fresh_waiting(&self) -> usize {
        self.fresh.len_hint()
    }

    /// It was taken out in vain: it is next.
    pub(crate) fn put_back(&self, next: NonNull<Header>) {
        // SAFETY: it has just been taken out of the batch, and the right to it is passed on.
        self.own().handoff.set(unsafe { Runnable::from_raw(next.as_ptr()) });
    }

    /// Hands over one that has just been made, or has begun without being queued; engines count their own.
    pub(crate) fn submit_engine(&self, fresh: Runnable, has_begun: bool) {
        if self.spawns_stay.load(Ordering::Relaxed) {
            return self.push_fresh(fresh);
        }
        if !has_begun {
            return self.submit_elsewhere(fresh, None);
        }
        if self.traces() {
            self.count_engine_wake();
            self.trace_wake(fresh.header(), self.index);
        }
        self.queue_elsewhere(fresh);
    }
}
