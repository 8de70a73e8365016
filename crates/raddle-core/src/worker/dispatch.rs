//! Owns: the way from one runnable to the next.
//! May use: `raddle-context`'s transfer.
//! Never: a clock, a system call, a lock; those are for boundaries.
//!
//! A process that leaves its stack picks its successor itself and transfers to it directly. Only what cannot be
//! entered by a transfer (a cell), or needs more than a few instructions (a boundary, an empty batch) goes through the
//! worker's home context. There is one out-of-line place that transfers ([`Worker::leave`]), so that all contexts are
//! resumed at the same return address: the return predictor then stays right (`research`: 9 ns a miss).
//!
//! *Publish after switch.* Whatever makes a process visible to others while it still stands on its stack would let
//! them resume it there. So it only notes down what is to be published; the next context does it on arrival
//! ([`Worker::arrive`]), when the stack has been left.

use super::Worker;
use crate::header::{Kind, PLACED, Runnable, STARTED};
use crate::process::block::Block;
use crate::process::entry::entry;
use raddle_context::{Context, StackError, current, transfer};

/// What the next context does for the one that has just left.
#[derive(Clone, Copy)]
pub(super) struct After {
    run: unsafe fn(*mut ()),
    data: *mut (),
}

impl Worker {
    /// Leaves the running process for another; returns when it is resumed.
    ///
    /// # Safety
    /// `block` is what runs on this OS thread, on its own stack; it is queued already, or what was noted down for
    /// the next context will see to it.
    #[inline(never)]
    unsafe fn leave(&self, block: &Block) {
        let to = self.pick();
        // SAFETY: `to` is suspended or primed and now ours alone; the caller vouches for `block`.
        unsafe { transfer(block.context.get(), to) };
        // SAFETY: a light process is resumed by the worker that it left.
        unsafe { Worker::of(&block.header) }.arrive();
    }

    /// The running process waits for `child`, which is the very next to start here: goes there directly. False if it is
    /// not the next, and nothing has been done.
    ///
    /// Nobody else can see the child's join word then, so the joiner is registered by a plain store before the switch.
    /// Half of what a create and join costs otherwise is the two locked instructions of a general registration.
    #[inline(always)]
    pub(crate) fn join_next(&self, block: &Block, child: &Block) -> bool {
        let budget = self.budget.get() - 1;
        let child_is_next = budget != 0
            && self.batch.is_empty()
            && !self.inbox.has_mail()
            && self.fresh.oldest_is(child.as_header());
        child_is_next && self.start_joined(block, child, budget)
    }

    #[inline(never)]
    fn start_joined(&self, block: &Block, child: &Block, budget: u32) -> bool {
        // SAFETY: this is the owner's OS thread.
        let Some(fresh) = (unsafe { self.fresh.pop() }) else { return false };
        if fresh.as_ptr() != child.as_header() || self.start(fresh).is_err() {
            // A thief was faster, or there is no stack: the general way sees to it.
            self.batch.push(fresh);
            return false;
        }
        self.budget.set(budget);
        self.ran_dry.set(true);
        child.join.register_before_start(block.as_header());
        let to = self.enter(fresh);
        // SAFETY: `to` is primed and ours alone; the running process waits, registered with its child.
        unsafe { transfer(block.context.get(), to) };
        // SAFETY: a light process is resumed by the worker that it left.
        unsafe { Worker::of(&block.header) }.arrive();
        true
    }

    /// Leaves the running process and has the next context run `run(data)`.
    ///
    /// # Safety
    /// `block` is what runs on this OS thread. `data` stays valid until `run` lets the process be queued.
    #[inline(always)]
    pub(crate) unsafe fn leave_after(&self, block: &Block, run: unsafe fn(*mut ()), data: *mut ()) {
        self.after.set(Some(After { run, data }));
        // SAFETY: passed on to the caller.
        unsafe { self.leave(block) };
    }

    /// Puts the running process at the end of the batch and goes to the next, if there is one.
    #[inline(always)]
    pub(crate) fn yield_process(&self, block: &Block) {
        if self.batch.is_empty() && self.yield_to_others(block) {
            return;
        }
        // SAFETY: it runs, so the right to queue it is its own. Nobody else sees the batch before it has left.
        self.batch.push(unsafe { block.as_runnable() });
        // SAFETY: it is queued.
        unsafe { self.leave(block) };
    }

    /// With an empty batch: yields to the oldest fresh one, or returns at once if there is nothing at all. False if
    /// something else is to be looked at, at home. Counts as a dispatch, so that boundaries still come.
    #[inline(always)]
    fn yield_to_others(&self, block: &Block) -> bool {
        let budget = self.budget.get() - 1;
        if budget == 0 || self.inbox.has_mail() {
            return false;
        }
        if self.fresh.is_empty_for_owner() {
            self.budget.set(budget);
        } else {
            self.yield_to_fresh(block, budget);
        }
        true
    }

    #[inline(never)]
    fn yield_to_fresh(&self, block: &Block, budget: u32) {
        let to = self.pick_fresh(budget);
        // SAFETY: it runs, so the right to queue it is its own. Nobody else sees the batch before it has left.
        self.batch.push(unsafe { block.as_runnable() });
        // SAFETY: `to` is suspended or primed and now ours alone; `block` is what runs, and is queued.
        unsafe { transfer(block.context.get(), to) };
        // SAFETY: a light process is resumed by the worker that it left.
        unsafe { Worker::of(&block.header) }.arrive();
    }

    /// Runs what the context that has just left noted down.
    #[inline(always)]
    pub(crate) fn arrive(&self) {
        if let Some(after) = self.after.take() {
            // SAFETY: whoever noted it down vouched for it; its context has been saved by the transfer to here.
            unsafe { (after.run)(after.data) };
        }
    }

    /// Chooses who is next and makes it current. The caller transfers to it.
    #[inline(always)]
    pub(crate) fn pick(&self) -> *mut Context {
        let budget = self.budget.get() - 1;
        if budget != 0 && !self.inbox.has_mail() {
            if let Some(next) = self.batch.pop() {
                self.budget.set(budget);
                if next.header().is(STARTED) {
                    return self.enter(next);
                }
                self.handoff.set(Some(next));
            } else {
                return self.pick_fresh(budget);
            }
        }
        self.go_home()
    }

    /// The batch is dry: the oldest fresh process is next, if there is one.
    ///
    /// Out of line, so that the common way through `leave` saves one register and not six.
    #[inline(never)]
    fn pick_fresh(&self, budget: u32) -> *mut Context {
        self.ran_dry.set(true);
        // SAFETY: this is the owner's OS thread.
        if let Some(fresh) = unsafe { self.fresh.pop() } {
            self.budget.set(budget);
            if fresh.header().kind == Kind::Process && self.start(fresh).is_ok() {
                return self.enter(fresh);
            }
            self.handoff.set(Some(fresh));
        }
        self.go_home()
    }

    #[inline(always)]
    fn enter(&self, process: Runnable) -> *mut Context {
        current::set(process.as_ptr().cast());
        // SAFETY: what is started, and queued in a batch, is a block.
        unsafe { Block::of_header(process.as_ptr()) }.context.get()
    }

    #[inline(never)]
    fn go_home(&self) -> *mut Context {
        current::set((&raw const self.home).cast_mut().cast());
        self.home_context.get()
    }

    /// Gives a fresh process a stack and binds it to this worker.
    #[inline(always)]
    pub(super) fn start(&self, fresh: Runnable) -> Result<(), StackError> {
        // SAFETY: the caller has seen that its kind is a process.
        let block = unsafe { Block::of_header(fresh.as_ptr()) };
        // SAFETY: the pool is private to this OS thread, and `take` calls nothing of ours.
        let stack = unsafe { &mut *self.stacks.get() }.take(block.class.get())?;
        // SAFETY: we hold the process, so its context is ours.
        let context = unsafe { &mut *block.context.get() };
        // SAFETY: the stack is the block's until its exit gives it back.
        unsafe { context.prime(&stack, entry) };
        block.stack.set(Some(stack));
        let header = &block.header;
        header.worker.set(self.as_word());
        header.flags.set(header.flags.get() & PLACED | STARTED);
        Ok(())
    }

    /// From the home context: runs a started process until something comes home again.
    pub(super) fn run_process(&self, process: Runnable) {
        let to = self.enter(process);
        // SAFETY: the home context is this OS thread's own; `to` is suspended or primed and now ours alone.
        unsafe { transfer(self.home_context.get(), to) };
        self.arrive();
    }

    /// Marks the home context as what runs, on the worker's OS thread, before its first turn and after its last.
    pub(super) fn set_home_current(&self, running: bool) {
        self.home.worker.set(self.as_word());
        let word = if running { (&raw const self.home).cast_mut().cast() } else { std::ptr::null_mut() };
        current::set(word);
    }
}
