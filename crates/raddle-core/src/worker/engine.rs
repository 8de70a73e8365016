//! Owns: what the engines of other crates may do on a worker.
//! May use: the batch, the fresh list.
//! Never: a budget overdrawn: boundaries come as with everything else.

use super::Worker;
use crate::counters::Counters;
use crate::engine;
use crate::header::{Header, Kind, Runnable};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

impl Worker {
    pub(super) fn run_engine(&self, next: Runnable) {
        Counters::add(&self.counters.polls, 1);
        next.header().worker.set(self.as_word());
        self.trace_turn(next.header(), || engine::run(self, next));
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
        let next = self.batch.pop()?;
        self.budget.set(budget);
        if next.header().kind == Kind::Engine {
            next.header().worker.set(self.as_word());
            if self.traces() {
                self.trace_switch_to(next.header());
            }
            return Some(next);
        }
        self.handoff.set(Some(next));
        None
    }

    /// It was taken out in vain: it is next.
    pub(crate) fn put_back(&self, next: NonNull<Header>) {
        // SAFETY: it has just been taken out of the batch, and the right to it is passed on.
        self.handoff.set(unsafe { Runnable::from_raw(next.as_ptr()) });
    }

    /// Hands over one that has just been made; engines count their own.
    pub(crate) fn submit_engine(&self, fresh: Runnable) {
        if self.spawns_stay.load(Ordering::Relaxed) {
            self.push_fresh(fresh);
        } else {
            self.submit_elsewhere(fresh, None);
        }
    }
}
