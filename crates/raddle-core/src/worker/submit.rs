//! Owns: where a runnable that has just been made goes, by the policy.
//! May use: `block::control`, `block::current`, `counters`, `raddle-protocol`.
//! Never: a started runnable.
//!
//! It uses the queues of this worker and of others.

use super::{Here, LocalWorker};
use crate::block::Block;
use crate::counters::Counters;
use raddle_protocol::header::{Header, Kind, LATER, MOVABLE, PLACED, Runnable};
use std::sync::atomic::Ordering;

/// Hands a fresh task over to the worker that this OS thread is. Gives it back if it is none.
pub(crate) fn submit_task(task: Runnable) -> Result<(), Runnable> {
    // SAFETY: it is gone when this returns, and nothing leaves its stack meanwhile.
    match unsafe { Here::current() } {
        Some(worker) => worker.submit_task(task),
        None => return Err(task),
    }
    Ok(())
}

impl LocalWorker {
    /// Hands a fresh process over: to the worker that it was placed on, or by the policy.
    #[inline(always)]
    pub(crate) fn submit(&self, block: &'static Block, placed: Option<usize>) {
        Counters::add(&self.counters.spawns, 1);
        // SAFETY: the block was just made, and the right to run it is its maker's.
        let fresh = unsafe { block.as_runnable() };
        if placed.is_none() && self.spawns_stay.load(Ordering::Relaxed) {
            self.push_child(fresh);
        } else {
            self.submit_elsewhere(fresh, placed);
        }
    }

    /// As [`submit`](Self::submit), for what need not start as long as anything else can run here, or at the worker
    /// `at`; it is not placed there: it may be stolen.
    pub(crate) fn submit_later(&self, block: &'static Block, at: Option<usize>) {
        Counters::add(&self.counters.spawns, 1);
        // SAFETY: as in `submit`.
        let fresh = unsafe { block.as_runnable() };
        if !self.shared().policy.spawns_stay() {
            return self.submit_elsewhere(fresh, None);
        }
        if self.traces() {
            self.trace_spawn(block.as_header(), at.unwrap_or(self.index), false);
        }
        if let Some(at) = at.filter(|at| *at != self.index) {
            let flags = &fresh.header().flags;
            flags.set(flags.get() | LATER);
            return self.shared().worker(at).deliver(fresh);
        }
        self.my_later().push(fresh);
        if self.shared().idle.wants_knock() {
            self.knock();
        }
    }

    /// Hands a fresh task over.
    fn submit_task(&self, task: Runnable) {
        Counters::add(&self.counters.spawns, 1);
        if self.spawns_stay.load(Ordering::Relaxed) {
            self.push_fresh(task);
        } else {
            self.submit_elsewhere(task, None);
        }
    }

    /// The plain way: it waits where it was made.
    #[inline(always)]
    pub(super) fn push_fresh(&self, fresh: Runnable) {
        self.push_fresh_of(fresh, std::ptr::null_mut());
    }

    /// As [`push_fresh`](Self::push_fresh), a process that may be waited for by who runs, if that is one, too.
    #[inline(always)]
    fn push_child(&self, fresh: Runnable) {
        let running = super::current_header();
        // SAFETY: null, or what runs here, which is alive.
        let is_process = unsafe { running.as_ref() }.is_some_and(|running| running.kind == Kind::Process);
        self.push_fresh_of(fresh, if is_process { running } else { std::ptr::null_mut() });
    }

    #[inline(always)]
    fn push_fresh_of(&self, fresh: Runnable, parent: *mut Header) {
        self.my_fresh().push_of(fresh, parent);
        if self.shared().idle.wants_knock() {
            self.knock();
        }
    }

    /// Somebody sleeps deeply while we spawn: have it look, or under `share` give it the work.
    #[cold]
    pub(super) fn knock(&self) {
        self.fresh.set_mark();
        self.later.set_mark();
        self.shared().idle.knock();
    }

    #[cold]
    pub(super) fn submit_elsewhere(&self, fresh: Runnable, placed: Option<usize>) {
        if self.traces() {
            self.trace_spawn(fresh.as_ptr(), placed.unwrap_or(self.index), placed.is_some());
        }
        if let Some(index) = placed {
            return self.place(fresh, index);
        }
        self.queue_elsewhere(fresh);
    }

    /// To whom the policy says.
    #[cold]
    pub(super) fn queue_elsewhere(&self, fresh: Runnable) {
        let shared = self.shared();
        if shared.policy.spawns_stay() {
            return self.push_fresh(fresh);
        }
        if shared.policy.queues_shared() {
            return shared.share(self, fresh);
        }
        if !shared.policy.moves_started() && shared.policy.places_round_robin() {
            Counters::add(&self.counters.round_robin, 1);
            return self.place_fresh(fresh, shared.next_round_robin());
        }
        // Work-sharing: an idle worker gets it at once; else it stays.
        if let Some(idle) = shared.some_sleeper(self.index) {
            Counters::add(&self.counters.shared_out, 1);
            return shared.worker(idle).deliver(fresh);
        }
        self.my_fresh().push_of(fresh, std::ptr::null_mut());
    }

    /// By the user's word: it starts there and stays.
    fn place(&self, fresh: Runnable, index: usize) {
        let flags = &fresh.header().flags;
        flags.set(flags.get() & !MOVABLE | PLACED);
        Counters::add(&self.counters.placed, 1);
        self.place_fresh(fresh, index);
    }

    fn place_fresh(&self, fresh: Runnable, index: usize) {
        if index == self.index {
            fresh.header().worker.set(self.as_word());
            self.turns().batch.push(fresh);
        } else {
            self.shared().worker(index).deliver(fresh);
        }
    }
}
