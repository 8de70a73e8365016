//! Owns: when the time slice of what runs is over, and how long who waits may spin in it.
//! May use: `block::control`, `raddle-protocol`.
//! Never: a switch: who runs gives way by itself.

use super::{Here, LocalWorker};
use crate::block::Block;
use raddle_protocol::header::OWN_TLS;

/// Nobody spins for longer at one time, ns: alarms, and whoever sends to this worker, wait so long at most.
pub(crate) const SPIN_MAX_NS: u64 = 1_000_000;

/// Runs on the next context: a thread that has given way is saved.
///
/// # Safety
/// `block` points to the block that has just left its stack.
unsafe fn queue_behind(block: *mut ()) {
    // SAFETY: blocks are never freed.
    let block = unsafe { &*block.cast::<Block>() };
    // SAFETY: it left its stack on this very worker.
    let worker = unsafe { Here::of(&block.header) };
    // SAFETY: it ran, so the right to queue it was its own, and is ours now.
    worker.turns().batch.push(unsafe { block.as_runnable() });
}

impl LocalWorker {
    /// Whether what runs here has had a tick to itself, as far as the last boundary tells, and keeps others, or an
    /// alarm, or a poller, from running.
    pub(crate) fn is_slice_over(&self) -> bool {
        let shared = self.shared();
        // What lies in the window goes on here if nobody takes it.
        let here = !self.is_left_alone() || self.jobs.waiting() > 0 || self.window.filled() > 0;
        let others = here || shared.has_shared(self.index);
        if !others && self.timers().next_ns().is_none() && !shared.pollers.outstanding.any() {
            return false;
        }
        let now = shared.clock.now_ns();
        let is_wanted = others || self.timers().is_due(now) || shared.pollers.outstanding.any();
        is_wanted && now.saturating_sub(self.boundary_ns.get()) >= shared.policy.tick_ns()
    }

    /// What runs has nothing to do until `what` is true, which another worker brings about soon: spins until then, for
    /// so long, as long as nothing else is to be done here. False if it has not come.
    pub(crate) fn spin_for(&self, budget_ns: u64, what: impl Fn() -> bool) -> bool {
        if budget_ns == 0 || self.seeded().is_some() || !self.has_time_to_look_out() {
            return false;
        }
        let shared = self.shared();
        let until = shared.clock.now_ns().saturating_add(budget_ns.min(SPIN_MAX_NS));
        loop {
            if self.look_out(&what) {
                return true;
            }
            let now = shared.clock.now_ns();
            if now >= until || !self.is_left_alone() || self.timers().is_due(now) || shared.is_stopping() {
                return false;
            }
        }
    }
}

impl Here<'_> {
    /// What runs goes to the end of the batch, and the worker passes a boundary.
    ///
    /// A thread, too: among the ready ones it would join the batch at that boundary again, before all others.
    ///
    /// # Safety
    /// `block` is what runs on this OS thread.
    pub(crate) unsafe fn yield_slice(self, block: &'static Block) {
        self.cut_budget();
        if block.header.is(OWN_TLS) {
            // SAFETY: passed on to the caller; blocks are never freed.
            unsafe { self.leave_after(block, queue_behind, std::ptr::from_ref(block).cast_mut().cast()) };
        } else {
            // SAFETY: passed on to the caller.
            unsafe { self.yield_process(block) };
        }
    }
}
