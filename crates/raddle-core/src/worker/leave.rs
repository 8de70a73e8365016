//! Owns: how the running process gives way to another: it yields, waits, or goes over to a child that it joins.
//! May use: `block::control`, `describe::wait`, `raddle-context`, `raddle-protocol`.
//! Never: a clock, a system call, a lock; those are for boundaries.
//!
//! A process that leaves its stack transfers to its successor directly. There is one out-of-line place that transfers
//! ([`Here::leave`]), so that all contexts are resumed at the same return address: the return predictor then stays
//! right (`research`: 9 ns a miss).

use super::enter::{After, Next};
use super::pick::after_fresh;
use super::{Here, LocalWorker};
use crate::block::Block;
use crate::describe::{CallOn, JOIN, Subject, Wait};
use raddle_context::{note, transfer_here, transfer_with};
use raddle_protocol::header::{FOREIGN, Header, OWN_TLS, STARTED};
use std::panic::Location;

/// Runs on the next context: a thread that has yielded is saved, and may be taken by whoever is idle.
///
/// # Safety
/// `block` points to the block that has just left its stack.
unsafe fn queue_again(block: *mut ()) {
    // SAFETY: blocks are never freed.
    let block = unsafe { &*block.cast::<Block>() };
    // SAFETY: it left its stack on this very worker.
    let worker = unsafe { Here::of(&block.header) };
    // SAFETY: it ran, so the right to queue it was its own, and is ours now.
    worker.requeue(unsafe { block.as_runnable() });
}

/// Whoever gives way gives its proof away: see [`here`](super::here).
impl Here<'_> {
    /// Leaves the running light process for another; returns when it is resumed.
    ///
    /// # Safety
    /// `block` is what runs on this OS thread, on its own stack; it is queued already, or what was noted down for
    /// the next context will see to it. It has no storage of its own.
    #[inline(never)]
    unsafe fn leave(self, block: &Block) {
        // SAFETY: it goes there next, from what runs here.
        let to = unsafe { self.pick() };
        // SAFETY: `to` is suspended or primed and now ours alone; the caller vouches for `block`.
        unsafe { transfer_with(block.context.get(), to.context, to.storage) };
        // SAFETY: a light process is resumed by the worker that it left.
        unsafe { Here::of(&block.header) }.arrive();
    }

    /// As [`leave`](Self::leave), for a thread: most often it is another thread's turn. Returns perhaps on another
    /// worker. A place of its own, so that threads, too, are all resumed at one return address.
    ///
    /// # Safety
    /// As there, but it has storage of its own.
    #[inline(never)]
    unsafe fn leave_thread(self, block: &Block) {
        // SAFETY: it goes there next, from the thread that runs here.
        let to = unsafe { self.pick_for_thread(!self.traces()) };
        if block.header.is(FOREIGN) {
            // SAFETY: as below.
            unsafe { self.leave_foreign(block, to.context, to.storage) };
            // SAFETY: as below.
            return unsafe { Here::of(&block.header) }.arrive();
        }
        // SAFETY: `to` is suspended or primed and now ours alone; the caller vouches for `block`.
        unsafe { transfer_with(block.context.get(), to.context, to.storage) };
        // SAFETY: whoever resumed it said on which worker it runs now.
        unsafe { Here::of(&block.header) }.arrive();
    }

    /// Goes from the running process to `to`. Returns when it is resumed: a thread perhaps by another worker.
    ///
    /// # Safety
    /// `block` is what runs on this OS thread, and is queued or will be; `to` is suspended or primed and ours alone.
    #[inline(always)]
    unsafe fn switch(self, block: &Block, to: Next) {
        // SAFETY: passed on to the caller.
        unsafe { self.switch_only(block, to) };
        // SAFETY: whoever resumed it said on which worker it runs now.
        unsafe { Here::of(&block.header) }.arrive();
    }

    /// As [`switch`](Self::switch), but whoever resumes the running process may be no worker.
    ///
    /// # Safety
    /// As there; and if a worker does resume it, [`arrive`](Self::arrive) is called next.
    #[inline(always)]
    unsafe fn switch_only(self, block: &Block, to: Next) {
        // A light process that follows a thread needs the OS thread's storage again.
        let leaves_own = block.header.is(OWN_TLS) && to.storage == 0;
        let storage = if leaves_own { self.own().home.storage.get() } else { to.storage };
        if block.header.is(FOREIGN) {
            // SAFETY: passed on to the caller.
            return unsafe { self.leave_foreign(block, to.context, storage) };
        }
        // SAFETY: passed on to the caller.
        unsafe { transfer_with(block.context.get(), to.context, storage) };
    }

    /// As [`leave`](Self::leave) or [`leave_thread`](Self::leave_thread), compiled into the caller: for places where
    /// many processes wait, each in its own code.
    ///
    /// PERF: the returns from `leave` into different callers are mispredicted: benches `pingpong` 35 -> 22 ns,
    /// `commstime` 18 -> 12 ns.
    ///
    /// What waits here may be visible to its peers before it has left its stack. Who wakes it on this worker does so
    /// when it has. Who wakes it elsewhere, or means to take it along from here, asks [`has_left`](super::has_left),
    /// and else hands it to this very worker, which looks when the stack has been left: [`wake`](LocalWorker::wake).
    ///
    /// # Safety
    /// `block` is what runs on this OS thread, on its own stack, and [waits plainly](Header::waits_plainly) but for
    /// regions. It is queued nowhere; whoever is to wake it holds, or will get, the one right to.
    #[inline(always)]
    pub unsafe fn leave_here(self, block: &Block) {
        self.let_go(&block.header);
        // SAFETY: it goes there next, from what runs here.
        let to = unsafe { self.pick_next(block) };
        // SAFETY: passed on to the caller.
        unsafe { self.leave_here_to(block, to) };
    }

    /// As [`leave_here`](Self::leave_here), for a caller who has just seen that nothing is recorded here, and who waits
    /// in the call of this number.
    ///
    /// PERF: who waits has most often tested already what watches its worker; bench `line`. What it waits for is noted
    /// in the switch: half the stores of a [`Wait`] that is shown, and nothing to clear; bench `commstime`.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub unsafe fn leave_here_noting<const NUMBER: u32, S: Subject>(
        self,
        block: &'static Block,
        call: &'static CallOn<S>,
        subject: &S,
        site: &'static Location<'static>,
    ) {
        self.let_go(&block.header);
        // SAFETY: it goes there next, from what runs here.
        let to = unsafe { self.pick_next_unseen(block) };
        if cfg!(raddle_unnoted) || !note::ARE_KEPT {
            let wait = Wait::on(call, subject, site);
            let _shown = wait.show_alone(block);
            // SAFETY: passed on to the caller.
            return unsafe { self.leave_here_to(block, to) };
        }
        let words = Wait::on(call, subject, site).words();
        block.is_in_no_wait();
        // SAFETY: `to` is suspended or primed and now ours alone; the caller vouches for `block`.
        unsafe { note::transfer_here_noting::<NUMBER>(block.context.get(), to.context, to.storage, words) };
        // SAFETY: whoever resumed it said on which worker it runs now.
        unsafe { Here::of(&block.header) }.arrive();
    }

    /// # Safety
    /// As for [`leave_here`](Self::leave_here), to what has been picked.
    #[inline(always)]
    unsafe fn leave_here_to(self, block: &Block, to: Next) {
        // SAFETY: `to` is suspended or primed and now ours alone; the caller vouches for `block`.
        unsafe { transfer_here(block.context.get(), to.context, to.storage) };
        // SAFETY: whoever resumed it said on which worker it runs now.
        unsafe { Here::of(&block.header) }.arrive();
    }

    /// Leaves the running process and has the next context run `run(data)`.
    ///
    /// # Safety
    /// `block` is what runs on this OS thread. `data` stays valid until `run` lets the process be queued.
    #[inline(always)]
    pub(crate) unsafe fn leave_after(self, block: &Block, run: unsafe fn(*mut ()), data: *mut ()) {
        if !block.header.is(OWN_TLS) {
            // SAFETY: passed on to the caller.
            return unsafe { self.leave_light_after(block, run, data) };
        }
        self.let_go(&block.header);
        self.own().after.set(Some(After { run, data }));
        // SAFETY: passed on to the caller.
        unsafe { self.leave_thread(block) };
    }

    /// As [`leave_after`](Self::leave_after), for a process that the caller knows to be light.
    ///
    /// # Safety
    /// As there; and it has no storage of its own.
    #[inline(always)]
    pub(crate) unsafe fn leave_light_after(self, block: &Block, run: unsafe fn(*mut ()), data: *mut ()) {
        self.let_go(&block.header);
        self.own().after.set(Some(After { run, data }));
        // SAFETY: passed on to the caller.
        unsafe { self.leave(block) };
    }

    /// As [`leave_after`](Self::leave_after), for a thread that goes on on an OS thread that is no worker.
    ///
    /// # Safety
    /// As there; and if a worker does resume it, [`arrive`](Self::arrive) is called next.
    #[inline(never)]
    pub(crate) unsafe fn leave_workers(self, block: &Block, run: unsafe fn(*mut ()), data: *mut ()) {
        self.let_go(&block.header);
        self.own().after.set(Some(After { run, data }));
        // SAFETY: it goes there next, from what runs here.
        let to = unsafe { self.pick() };
        // SAFETY: `to` is suspended or primed and now ours alone; the caller vouches for `block`.
        unsafe { self.switch_only(block, to) };
    }

    /// Puts the running process at the end of the batch and goes to the next, if there is one.
    ///
    /// # Safety
    /// `block` is what runs on this OS thread.
    #[inline(always)]
    pub unsafe fn yield_process(self, block: &Block) {
        if !block.header.forks.get().is_null() {
            self.let_go_and_start_one(&block.header);
        }
        if block.header.is(OWN_TLS) {
            // SAFETY: passed on to the caller.
            return unsafe { self.yield_thread(block) };
        }
        let stays = if self.turns().batch.is_empty() {
            // SAFETY: passed on to the caller.
            unsafe { self.yield_to_others(block) }
        } else {
            Some(self)
        };
        let Some(stays) = stays else { return };
        // SAFETY: it runs, so the right to queue it is its own. Nobody else sees the batch before it has left.
        stays.turns().batch.push_bound(unsafe { block.as_runnable() });
        // SAFETY: it is queued.
        unsafe { stays.leave(block) };
    }

    /// As [`yield_process`](Self::yield_process), compiled into the caller, who has seen that others are ready: see
    /// [`leave_here`](Self::leave_here).
    ///
    /// # Safety
    /// As there, and it has no open list of forks.
    #[inline(always)]
    pub(crate) unsafe fn yield_here(self, block: &'static Block) {
        if block.header.is(OWN_TLS) {
            self.own()
                .after
                .set(Some(After { run: queue_again, data: std::ptr::from_ref(block).cast_mut().cast() }));
        } else if self.turns().batch.is_empty() {
            // SAFETY: passed on to the caller.
            return unsafe { self.yield_process(block) };
        } else {
            // SAFETY: it runs, so the right to queue it is its own. Nobody else sees the batch before it has left.
            self.turns().batch.push_bound(unsafe { block.as_runnable() });
        }
        // SAFETY: passed on to the caller; it is queued, or will be by the next context.
        unsafe { self.leave_here(block) };
    }

    /// With an empty batch: yields to the oldest fresh one, or returns at once if there is nothing at all. If something
    /// else is to be looked at, at home, gives back what it got. Counts as a dispatch, so that boundaries still come.
    ///
    /// # Safety
    /// As for [`yield_process`](Self::yield_process).
    #[inline(always)]
    unsafe fn yield_to_others(self, block: &Block) -> Option<Self> {
        let budget = self.budget.get() - 1;
        if budget == 0 {
            return Some(self);
        }
        if self.inbox.has_mail() {
            // By the time that it picks, a thief may have taken the mail, and it would find only itself in the batch.
            self.cut_budget();
            return Some(self);
        }
        if self.fresh.is_empty_for_owner() && self.later.is_empty_for_owner() {
            self.budget.set(budget);
        } else {
            // SAFETY: passed on to the caller.
            unsafe { self.yield_to_fresh(block, budget) };
        }
        None
    }

    /// # Safety
    /// As for [`yield_process`](Self::yield_process).
    #[inline(never)]
    unsafe fn yield_to_fresh(self, block: &Block, budget: u32) {
        // SAFETY: it goes there next, from what runs here.
        let to = unsafe { self.pick_fresh(budget) };
        self.trace_next(to.context);
        // SAFETY: it runs, so the right to queue it is its own. Nobody else sees the batch before it has left.
        self.turns().batch.push(unsafe { block.as_runnable() });
        // SAFETY: `to` is suspended or primed and now ours alone; `block` is what runs, and is queued.
        unsafe { self.switch(block, to) };
    }

    /// A thread yields. It is queued by the next context: where it is queued others may take it at once.
    ///
    /// # Safety
    /// As for [`yield_process`](Self::yield_process), and it has storage of its own.
    unsafe fn yield_thread(self, block: &Block) {
        if !self.ways.scatters && self.is_alone() {
            let budget = self.budget.get() - 1;
            if budget != 0 {
                return self.budget.set(budget);
            }
        }
        let data = std::ptr::from_ref(block).cast_mut().cast();
        self.own().after.set(Some(After { run: queue_again, data }));
        // SAFETY: it is what runs; blocks are never freed.
        unsafe { self.leave_thread(block) };
    }

    /// The running process waits for `child`, which is among those that would start next here: goes there directly.
    /// False if the caller is to wait as for anybody; the child may go earlier than it would have all the same.
    ///
    /// If it is not the very first, it may go before children of others who wait for children: so trees are walked
    /// depth first, and as many wait at a time as a tree is deep, not as it is wide. Those that are passed by have
    /// their turn after a while all the same ([`boundary`](super::boundary)), and thieves take them from the other
    /// end.
    ///
    /// Nobody else can see the child's join word then, so the joiner is registered by a plain store before the switch.
    /// Half of what a create and join costs otherwise is the two locked instructions of a general registration.
    ///
    /// # Safety
    /// `block` is what runs on this OS thread.
    #[inline(always)]
    pub(crate) unsafe fn join_next(self, block: &Block, child: &Block) -> bool {
        let is_oldest = self.fresh.oldest_is(child.as_header());
        if !self.turns().batch.is_empty() || (!is_oldest && !self.ready.is_empty_for_owner()) {
            if !is_oldest {
                self.put_after_others(block, child);
            }
            return false;
        }
        if !is_oldest && !self.may_start_out_of_turn(child) {
            return false;
        }
        let budget = self.budget.get() - 1;
        if budget == 0 || self.inbox.has_mail() {
            if !is_oldest {
                let _or_in_turn = self.put_first(block.as_header(), Some(child.as_header()));
            }
            return false;
        }
        // SAFETY: passed on to the caller.
        unsafe { self.start_joined(block, child, (is_oldest, budget)) }
    }

    /// # Safety
    /// As for [`join_next`](Self::join_next).
    #[inline(never)]
    unsafe fn start_joined(self, block: &Block, child: &Block, (is_oldest, budget): (bool, u32)) -> bool {
        self.let_go(&block.header);
        let fresh = self.my_fresh();
        let wanted = child.as_header();
        let fresh = if is_oldest { fresh.pop() } else { fresh.take_child(block.as_header(), Some(wanted)) };
        let Some(fresh) = fresh else { return false };
        if fresh.as_ptr() != child.as_header() || self.start(fresh).is_err() {
            // A thief was faster, or there is no stack: the general way sees to it.
            self.turns().batch.push(fresh);
            return false;
        }
        self.budget.set(after_fresh(budget));
        self.own().ran_dry.set(true);
        self.own().out_of_turn.set(self.own().out_of_turn.get() || !is_oldest);
        child.join.register_before_start(block.as_header());
        let to = self.enter(fresh);
        if self.traces() {
            self.record_joined(to);
        }
        // SAFETY: `to` is primed and ours alone; the running process waits, registered with its child.
        unsafe { self.switch(block, to) };
        true
    }
}

impl LocalWorker {
    /// A boundary comes first, after which it is this child's turn all the same: else the oldest fresh one would begin
    /// after each, and with it another branch of the tree.
    #[inline(never)]
    fn put_first(&self, parent: *mut Header, wanted: Option<*mut Header>) -> bool {
        let Some(child) = self.my_fresh().take_child(parent, wanted) else { return false };
        self.own().out_of_turn.set(true);
        self.turns().batch.push(child);
        true
    }

    /// As [`put_first`](Self::put_first), where others wait to run. If the child stayed where it is, who is let in
    /// would wait for it behind all those that are passed by, and all of them would have begun before the first ends.
    #[inline(never)]
    fn put_after_others(&self, parent: &Block, child: &Block) {
        if !child.header.is(STARTED) && self.has_fresh() {
            self.put_first(parent.as_header(), Some(child.as_header()));
        }
    }

    /// `parent` waits for all of its children, and is what runs, or one of them runs and ends: the next of them that
    /// has not begun goes before others, as for [`join_next`](Here::join_next). False if none has to, or may: nor will
    /// the others then.
    #[inline]
    pub(crate) fn put_next_child_first(&self, parent: *mut Header) -> bool {
        let somebody_waits = !self.turns().batch.is_empty() || !self.ready.is_empty_for_owner();
        (!self.fresh.is_empty_for_owner() && self.put_first(parent, None)) || somebody_waits
    }

    #[cold]
    #[inline(never)]
    fn record_joined(&self, to: Next) {
        self.note_stop(JOIN.call(), 0);
        self.trace_next(to.context);
    }
}
