//! Owns: the way from one runnable to the next.
//! May use: `block::control`, `block::current`, `counters`, `describe::wait`, `raddle-context`,
//! `raddle-protocol`.
//! Never: a clock, a system call, a lock; those are for boundaries.
//!
//! A process that leaves its stack picks its successor itself and transfers to it directly. Only what cannot be
//! entered by a transfer (a task), or needs more than a few instructions (a boundary, an empty batch) goes through the
//! worker's home context. There is one out-of-line place that transfers ([`Worker::leave`]), so that all contexts are
//! resumed at the same return address: the return predictor then stays right (`research`: 9 ns a miss).
//!
//! *Publish after switch.* Whatever makes a process visible to others while it still stands on its stack would let
//! them resume it there. So it only notes down what is to be published; the next context does it on arrival
//! ([`Worker::arrive`]), when the stack has been left.

use super::Worker;
use crate::block::Block;
use crate::counters::Counters;
use crate::describe::{CallOn, JOIN, Subject, Wait};
use raddle_context::{Context, Place, Stack, StackError, current, note, tls, transfer_here, transfer_with};
use raddle_protocol::header::{FOREIGN, Header, Kind, MOVABLE, OWN_TLS, PLACED, Runnable, STARTED};
use std::panic::Location;

/// What the next context does for the one that has just left.
#[derive(Clone, Copy)]
pub(super) struct After {
    run: unsafe fn(*mut ()),
    data: *mut (),
}

/// Where to go next, and the thread-local storage to load on the way there; 0 for the OS thread's.
#[derive(Clone, Copy)]
pub(crate) struct Next {
    context: *mut Context,
    storage: usize,
}

/// Runs on the next context: a thread that has yielded is saved, and may be taken by whoever is idle.
///
/// # Safety
/// `block` points to the block that has just left its stack.
unsafe fn queue_again(block: *mut ()) {
    // SAFETY: blocks are never freed.
    let block = unsafe { &*block.cast::<Block>() };
    // SAFETY: it left its stack on this very worker.
    let worker = unsafe { Worker::of(&block.header) };
    // SAFETY: it ran, so the right to queue it was its own, and is ours now.
    worker.requeue(unsafe { block.as_runnable() });
}

/// What is left of a budget when something fresh starts: it counts for four, since nobody knows how long it will run.
///
/// A budget that short slices have let grow would else let 128 long first slices pass before the first look at a clock.
#[inline(always)]
fn after_fresh(budget: u32) -> u32 {
    budget.saturating_sub(3).max(1)
}

/// Goes to a thread, and shows meanwhile what the caller waits for: that switch keeps no note.
///
/// # Safety
/// As for [`Worker::leave_here`], to what has been picked.
#[cold]
#[inline(never)]
unsafe fn leave_to_thread<S: Subject>(
    block: &'static Block,
    to: Next,
    call: &'static CallOn<S>,
    subject: &S,
    site: &'static Location<'static>,
) {
    let wait = Wait::on(call, subject, site);
    let _shown = wait.show_alone(block);
    // SAFETY: `to` is suspended or primed and now ours alone; the caller vouches for `block`.
    unsafe { transfer_with(block.context.get(), to.context, to.storage) };
}

impl Worker {
    /// Leaves the running light process for another; returns when it is resumed.
    ///
    /// # Safety
    /// `block` is what runs on this OS thread, on its own stack; it is queued already, or what was noted down for
    /// the next context will see to it. It has no storage of its own.
    #[inline(never)]
    unsafe fn leave(&self, block: &Block) {
        let to = self.pick();
        // SAFETY: `to` is suspended or primed and now ours alone; the caller vouches for `block`.
        unsafe { transfer_with(block.context.get(), to.context, to.storage) };
        // SAFETY: a light process is resumed by the worker that it left.
        unsafe { Worker::of(&block.header) }.arrive();
    }

    /// As [`leave`](Self::leave), for a thread: most often it is another thread's turn. Returns perhaps on another
    /// worker. A place of its own, so that threads, too, are all resumed at one return address.
    ///
    /// # Safety
    /// As there, but it has storage of its own.
    #[inline(never)]
    unsafe fn leave_thread(&self, block: &Block) {
        let budget = self.budget.get() - 1;
        let thread_is_next = budget != 0 && self.batch.is_empty() && !self.inbox.has_mail() && !self.traces();
        // SAFETY: this is the owner's OS thread.
        let next = if thread_is_next { unsafe { self.ready.pop_unless_contended() } } else { Ok(None) };
        let to = match next {
            Ok(Some(thread)) => {
                self.budget.set(budget);
                // SAFETY: only threads are in the ready list.
                self.enter_thread(unsafe { Block::of_header(thread.as_ptr()) })
            }
            Ok(None) => self.pick_after_thread(),
            Err(head) => self.pick_contended(head),
        };
        if block.header.is(FOREIGN) {
            // SAFETY: as below.
            unsafe { self.leave_foreign(block, to.context, to.storage) };
            // SAFETY: as below.
            return unsafe { Worker::of(&block.header) }.arrive();
        }
        // SAFETY: `to` is suspended or primed and now ours alone; the caller vouches for `block`.
        unsafe { transfer_with(block.context.get(), to.context, to.storage) };
        // SAFETY: whoever resumed it said on which worker it runs now.
        unsafe { Worker::of(&block.header) }.arrive();
    }

    /// As [`pick`](Self::pick), when a thread runs: a light process that follows needs the OS thread's storage again.
    ///
    /// Out of line, so that the common way through `leave_thread` saves few registers.
    #[inline(never)]
    fn pick_after_thread(&self) -> Next {
        let to = self.pick();
        if to.storage == 0 { Next { storage: self.home_storage.get(), ..to } } else { to }
    }

    /// A thief is at the ready list, of which `head` has been announced.
    #[cold]
    #[inline(never)]
    fn pick_contended(&self, head: usize) -> Next {
        match self.ready.pop_contended(head) {
            Some(thread) => {
                self.budget.set(self.budget.get() - 1);
                // SAFETY: only threads are in the ready list.
                self.enter_thread(unsafe { Block::of_header(thread.as_ptr()) })
            }
            None => self.pick_after_thread(),
        }
    }

    /// Goes from the running process to `to`. Returns when it is resumed: a thread perhaps by another worker.
    ///
    /// # Safety
    /// `block` is what runs on this OS thread, and is queued or will be; `to` is suspended or primed and ours alone.
    #[inline(always)]
    unsafe fn switch(&self, block: &Block, to: Next) {
        // SAFETY: passed on to the caller.
        unsafe { self.switch_only(block, to) };
        // SAFETY: whoever resumed it said on which worker it runs now.
        unsafe { Worker::of(&block.header) }.arrive();
    }

    /// As [`switch`](Self::switch), but whoever resumes the running process may be no worker.
    ///
    /// # Safety
    /// As there; and if a worker does resume it, [`arrive`](Self::arrive) is called next.
    #[inline(always)]
    unsafe fn switch_only(&self, block: &Block, to: Next) {
        // A light process that follows a thread needs the OS thread's storage again.
        let leaves_own = block.header.is(OWN_TLS) && to.storage == 0;
        let storage = if leaves_own { self.home_storage.get() } else { to.storage };
        if block.header.is(FOREIGN) {
            // SAFETY: passed on to the caller.
            return unsafe { self.leave_foreign(block, to.context, storage) };
        }
        // SAFETY: passed on to the caller.
        unsafe { transfer_with(block.context.get(), to.context, storage) };
    }

    /// As [`leave`](Self::leave), compiled into the caller: for places where many processes wait, each in its own code.
    ///
    /// PERF: the returns from `leave` into different callers are mispredicted: benches `pingpong` 35 -> 22 ns,
    /// `commstime` 18 -> 12 ns.
    ///
    /// What waits here may be visible to its peers before it has left its stack: it is bound to this worker, so that
    /// whoever wakes it can only hand it to this very worker, which looks when the stack has been left.
    ///
    /// # Safety
    /// As for `leave`; and the process is light: neither movable nor a thread.
    #[inline(always)]
    pub unsafe fn leave_here(&self, block: &Block) {
        self.let_go(&block.header);
        let to = self.pick_next();
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
        &self,
        block: &'static Block,
        call: &'static CallOn<S>,
        subject: &S,
        site: &'static Location<'static>,
    ) {
        self.let_go(&block.header);
        let to = self.pick_next_unseen();
        if cfg!(raddle_unnoted) || !note::ARE_KEPT {
            let wait = Wait::on(call, subject, site);
            let _shown = wait.show_alone(block);
            // SAFETY: passed on to the caller.
            return unsafe { self.leave_here_to(block, to) };
        }
        if to.storage == 0 {
            let words = Wait::on(call, subject, site).words();
            block.is_in_no_wait();
            // SAFETY: `to` is suspended or primed and now ours alone; the caller vouches for `block`.
            unsafe { note::transfer_here_noting::<NUMBER>(block.context.get(), to.context, words) };
        } else {
            // SAFETY: passed on to the caller.
            unsafe { leave_to_thread(block, to, call, subject, site) };
        }
        // SAFETY: what is not movable is resumed by the worker that it left.
        unsafe { Worker::of(&block.header) }.arrive();
    }

    /// # Safety
    /// As for [`leave_here`](Self::leave_here), to what has been picked.
    #[inline(always)]
    unsafe fn leave_here_to(&self, block: &Block, to: Next) {
        if to.storage == 0 {
            // SAFETY: `to` is suspended or primed and now ours alone; the caller vouches for `block`.
            unsafe { transfer_here(block.context.get(), to.context) };
        } else {
            // SAFETY: as above.
            unsafe { transfer_with(block.context.get(), to.context, to.storage) };
        }
        // SAFETY: what is not movable is resumed by the worker that it left.
        unsafe { Worker::of(&block.header) }.arrive();
    }

    #[inline(never)]
    fn pick_next(&self) -> Next {
        self.pick()
    }

    #[inline(never)]
    fn pick_next_unseen(&self) -> Next {
        self.pick_plainly()
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

    /// Takes `child` back, if it is the very next to start here and nothing more urgent waits: the running process,
    /// which has nothing else to do than to wait for it, runs it as a call. Costs the budget what a start costs, so
    /// that the others of this worker get their turn.
    #[inline(always)]
    pub(crate) fn take_back(&self, child: &Block) -> bool {
        let budget = self.budget.get() - 1;
        let may_take = budget != 0
            && !self.inbox.has_mail()
            && !self.traces()
            && self.fresh.oldest_is(child.as_header());
        may_take && self.take_oldest_back(child, budget)
    }

    #[inline(never)]
    fn take_oldest_back(&self, child: &Block, budget: u32) -> bool {
        // SAFETY: this is the owner's OS thread.
        let Some(fresh) = (unsafe { self.fresh.pop() }) else { return false };
        if fresh.as_ptr() != child.as_header() {
            // A thief was faster.
            self.batch.push(fresh);
            return false;
        }
        self.budget.set(after_fresh(budget));
        true
    }

    #[inline(never)]
    fn start_joined(&self, block: &Block, child: &Block, budget: u32) -> bool {
        self.let_go(&block.header);
        // SAFETY: this is the owner's OS thread.
        let Some(fresh) = (unsafe { self.fresh.pop() }) else { return false };
        if fresh.as_ptr() != child.as_header() || self.start(fresh).is_err() {
            // A thief was faster, or there is no stack: the general way sees to it.
            self.batch.push(fresh);
            return false;
        }
        self.budget.set(after_fresh(budget));
        self.ran_dry.set(true);
        child.join.register_before_start(block.as_header());
        let to = self.enter(fresh);
        if self.traces() {
            self.record_joined(to);
        }
        // SAFETY: `to` is primed and ours alone; the running process waits, registered with its child.
        unsafe { self.switch(block, to) };
        true
    }

    #[cold]
    #[inline(never)]
    fn record_joined(&self, to: Next) {
        self.note_stop(JOIN.call(), 0);
        self.trace_next(to.context);
    }

    /// Leaves the running process and has the next context run `run(data)`.
    ///
    /// # Safety
    /// `block` is what runs on this OS thread. `data` stays valid until `run` lets the process be queued.
    #[inline(always)]
    pub(crate) unsafe fn leave_after(&self, block: &Block, run: unsafe fn(*mut ()), data: *mut ()) {
        if !block.header.is(OWN_TLS) {
            // SAFETY: passed on to the caller.
            return unsafe { self.leave_light_after(block, run, data) };
        }
        self.let_go(&block.header);
        self.after.set(Some(After { run, data }));
        // SAFETY: passed on to the caller.
        unsafe { self.leave_thread(block) };
    }

    /// As [`leave_after`](Self::leave_after), for a process that the caller knows to be light.
    ///
    /// # Safety
    /// As there; and it has no storage of its own.
    #[inline(always)]
    pub(crate) unsafe fn leave_light_after(&self, block: &Block, run: unsafe fn(*mut ()), data: *mut ()) {
        self.let_go(&block.header);
        self.after.set(Some(After { run, data }));
        // SAFETY: passed on to the caller.
        unsafe { self.leave(block) };
    }

    /// As [`leave_after`](Self::leave_after), for a thread that goes on on an OS thread that is no worker.
    ///
    /// # Safety
    /// As there; and if a worker does resume it, [`arrive`](Self::arrive) is called next.
    #[inline(never)]
    pub(crate) unsafe fn leave_workers(&self, block: &Block, run: unsafe fn(*mut ()), data: *mut ()) {
        self.let_go(&block.header);
        self.after.set(Some(After { run, data }));
        let to = self.pick();
        // SAFETY: `to` is suspended or primed and now ours alone; the caller vouches for `block`.
        unsafe { self.switch_only(block, to) };
    }

    /// Puts the running process at the end of the batch and goes to the next, if there is one.
    #[inline(always)]
    pub fn yield_process(&self, block: &Block) {
        if !block.header.forks.get().is_null() {
            self.let_go_and_start_one(&block.header);
        }
        if block.header.is(OWN_TLS) {
            return self.yield_thread(block);
        }
        if self.batch.is_empty() && self.yield_to_others(block) {
            return;
        }
        // SAFETY: it runs, so the right to queue it is its own. Nobody else sees the batch before it has left.
        self.batch.push_bound(unsafe { block.as_runnable() });
        // SAFETY: it is queued.
        unsafe { self.leave(block) };
    }

    /// Whether something waits to run here, beside what runs.
    pub(crate) fn has_others(&self) -> bool {
        let fresh = !self.fresh.is_empty_for_owner() || !self.later.is_empty_for_owner();
        !self.batch.is_empty() || self.inbox.has_mail() || fresh || self.seeded.is_some()
    }

    /// Whether something waits for this worker: beside what runs, or among what that has forked.
    pub fn has_work(&self) -> bool {
        // SAFETY: the word is null or the header of what runs here, which is alive.
        let running = unsafe { super::current_header().as_ref() };
        // SAFETY: null, or the open list of what runs here.
        let forks = running.and_then(|running| unsafe { running.forks.get().as_ref() });
        let has_forks = forks.is_some_and(|forks| forks.top().is_some() || forks.bag.is_used());
        has_forks || !self.is_alone() || self.jobs.waiting() > 0
    }

    /// With an empty batch: yields to the oldest fresh one, or returns at once if there is nothing at all. False if
    /// something else is to be looked at, at home. Counts as a dispatch, so that boundaries still come.
    #[inline(always)]
    fn yield_to_others(&self, block: &Block) -> bool {
        let budget = self.budget.get() - 1;
        if budget == 0 || self.inbox.has_mail() {
            return false;
        }
        if self.fresh.is_empty_for_owner() && self.later.is_empty_for_owner() {
            self.budget.set(budget);
        } else {
            self.yield_to_fresh(block, budget);
        }
        true
    }

    #[inline(never)]
    fn yield_to_fresh(&self, block: &Block, budget: u32) {
        let to = self.pick_fresh(budget);
        self.trace_next(to.context);
        // SAFETY: it runs, so the right to queue it is its own. Nobody else sees the batch before it has left.
        self.batch.push(unsafe { block.as_runnable() });
        // SAFETY: `to` is suspended or primed and now ours alone; `block` is what runs, and is queued.
        unsafe { self.switch(block, to) };
    }

    /// A thread yields. It is queued by the next context: where it is queued others may take it at once.
    fn yield_thread(&self, block: &Block) {
        if !self.scatters && self.is_alone() {
            let budget = self.budget.get() - 1;
            if budget != 0 {
                return self.budget.set(budget);
            }
        }
        let data = std::ptr::from_ref(block).cast_mut().cast();
        self.after.set(Some(After { run: queue_again, data }));
        // SAFETY: it is what runs; blocks are never freed.
        unsafe { self.leave_thread(block) };
    }

    /// Nothing but what runs is here.
    pub(crate) fn is_alone(&self) -> bool {
        let queues_are_empty = self.batch.is_empty() && self.ready.is_empty_for_owner();
        queues_are_empty
            && self.fresh.is_empty_for_owner()
            && self.later.is_empty_for_owner()
            && !self.inbox.has_mail()
    }

    /// As [`is_alone`](Self::is_alone), and knows at once what thieves have taken, for a few loads more.
    pub(crate) fn is_left_alone(&self) -> bool {
        let waiting = self.ready.len_hint() + self.fresh.len_hint() + self.later.len_hint();
        self.batch.is_empty() && waiting == 0 && !self.inbox.has_mail()
    }

    /// Runs what the context that has just left noted down.
    #[inline(always)]
    pub(crate) fn arrive(&self) {
        if let Some(after) = self.after.get() {
            self.after.set(None);
            // SAFETY: whoever noted it down vouched for it; its context has been saved by the transfer to here.
            unsafe { (after.run)(after.data) };
        }
    }

    /// Chooses who is next and makes it current. The caller transfers to it.
    #[inline(always)]
    pub(crate) fn pick(&self) -> Next {
        if self.traces() { self.pick_and_record() } else { self.pick_plainly() }
    }

    #[cold]
    #[inline(never)]
    fn pick_and_record(&self) -> Next {
        let next = self.pick_plainly();
        self.trace_next(next.context);
        next
    }

    #[inline(always)]
    fn pick_plainly(&self) -> Next {
        let budget = self.budget.get() - 1;
        if budget != 0 && !self.inbox.has_mail() {
            let Some((next, is_light)) = self.batch.pop_sorted() else { return self.pick_waiting(budget) };
            self.budget.set(budget);
            return if is_light { self.enter_light(next) } else { self.pick_otherwise(next) };
        }
        self.go_home()
    }

    /// The next is no light process that has started. Out of line, as [`pick_waiting`](Self::pick_waiting) is.
    #[inline(never)]
    fn pick_otherwise(&self, next: Runnable) -> Next {
        if next.header().is(STARTED) {
            return self.enter(next);
        }
        self.handoff.set(Some(next));
        self.go_home()
    }

    /// Chooses who is next after the one who runs is over. The caller, which has the OS thread's storage, returns it.
    pub(crate) fn pick_last(&self) -> *mut Context {
        let next = self.pick();
        if next.storage != 0 {
            // SAFETY: what runs is over, and its callers touch no thread-local variable any more.
            unsafe { tls::make_way_for(next.storage) };
        }
        next.context
    }

    /// The batch is dry: the thread that has waited longest is next, else the oldest fresh process.
    ///
    /// Out of line, so that the common way through `leave` saves one register and not six.
    #[inline(never)]
    fn pick_waiting(&self, budget: u32) -> Next {
        // SAFETY: this is the owner's OS thread.
        match unsafe { self.ready.pop() } {
            Some(thread) => {
                self.budget.set(budget);
                self.enter(thread)
            }
            None => self.pick_fresh(budget),
        }
    }

    /// Batch and threads are dry: the oldest fresh process is next, if there is one.
    ///
    /// Out of line, so that the common way through `leave` saves one register and not six.
    #[inline(never)]
    fn pick_fresh(&self, budget: u32) -> Next {
        self.ran_dry.set(true);
        if self.jobs.waiting() > 0 {
            return self.go_home();
        }
        // SAFETY: this is the owner's OS thread.
        let fresh = unsafe { self.fresh.pop() };
        // SAFETY: as above.
        if let Some(fresh) = fresh.or_else(|| unsafe { self.later.pop() }) {
            self.budget.set(after_fresh(budget));
            if fresh.header().kind == Kind::Process && self.start(fresh).is_ok() {
                return self.enter(fresh);
            }
            self.handoff.set(Some(fresh));
        }
        self.go_home()
    }

    #[inline(always)]
    fn enter(&self, process: Runnable) -> Next {
        // SAFETY: what is started, and queued in a batch, is a block.
        let block = unsafe { Block::of_header(process.as_ptr()) };
        if block.header.is(OWN_TLS) { self.enter_thread(block) } else { self.enter_light(process) }
    }

    #[inline(always)]
    fn enter_light(&self, process: Runnable) -> Next {
        // SAFETY: as in `enter`.
        let block = unsafe { Block::of_header(process.as_ptr()) };
        // SAFETY: this is the worker of the OS thread.
        unsafe { self.place.get().set(process.as_ptr().cast()) };
        Next { context: block.context.get(), storage: 0 }
    }

    /// A thread says itself that it runs: the word is in its own storage. What others read is where it runs.
    #[inline(always)]
    fn enter_thread(&self, block: &Block) -> Next {
        if block.header.worker.get() != self.as_word() {
            return self.receive_thread(block);
        }
        self.enter_thread_here(block)
    }

    #[inline(always)]
    fn enter_thread_here(&self, block: &Block) -> Next {
        // SAFETY: this is the worker of the OS thread.
        unsafe { self.place.get().leave(block.as_header().cast()) };
        Next { context: block.context.get(), storage: block.storage_base() }
    }

    /// As [`enter_thread`](Self::enter_thread), for one that has come from another worker. Out of line as a whole, so
    /// that the common way has nothing to keep over a call.
    #[cold]
    #[inline(never)]
    fn receive_thread(&self, block: &Block) -> Next {
        self.receive(&block.header);
        self.enter_thread_here(block)
    }

    /// Something started, or a task that was polled before, has come from another worker.
    #[cold]
    pub(super) fn receive(&self, header: &Header) {
        // SAFETY: the one that it came from, or null if it is a task that was never polled.
        if let Some(from) = unsafe { header.worker.get().cast::<Worker>().as_ref() } {
            self.trace_migration(header, from.index);
            Counters::add(&self.counters.migrations, 1);
            Counters::add(&self.came_from[from.index], 1);
        }
        header.worker.set(self.as_word());
    }

    #[inline(never)]
    fn go_home(&self) -> Next {
        // SAFETY: this is the worker of the OS thread.
        unsafe { self.place.get().set((&raw const self.home).cast_mut().cast()) };
        Next { context: self.home_context.get(), storage: 0 }
    }

    /// Gives a fresh process a stack and binds it to this worker.
    #[inline(always)]
    pub(super) fn start(&self, fresh: Runnable) -> Result<(), StackError> {
        // SAFETY: the caller has seen that its kind is a process.
        let block = unsafe { Block::of_header(fresh.as_ptr()) };
        // SAFETY: the pool is private to this OS thread, and `take` calls nothing of ours.
        let stack = unsafe { &mut *self.stacks.get() }.take(block.class.get())?;
        let stack = if block.header.is(OWN_TLS) { self.start_storage(block, stack)? } else { stack };
        // SAFETY: we hold the process, so its context is ours.
        let context = unsafe { &mut *block.context.get() };
        // SAFETY: the stack is the block's until its exit gives it back.
        unsafe { context.prime(&stack, block.body.get().entry) };
        block.stack.set(Some(stack));
        let header = &block.header;
        header.worker.set(self.as_word());
        let flags = header.flags.get();
        let keeps = if flags & OWN_TLS == 0 { PLACED } else { PLACED | OWN_TLS | MOVABLE | FOREIGN };
        header.flags.set(flags & keeps | STARTED);
        Ok(())
    }

    /// Gives a fresh thread, which is to run on `stack`, its storage. If there is none, the stack goes back.
    #[inline(never)]
    fn start_storage(&self, block: &Block, stack: Stack) -> Result<Stack, StackError> {
        // SAFETY: we hold the process.
        if let Some(early) = unsafe { &*block.storage.get() } {
            early.note_stack_if_none(&stack);
            return Ok(stack);
        }
        // SAFETY: the pool is private to this OS thread, and `take` calls nothing of ours.
        match unsafe { &mut *self.storages.get() }.take(&stack) {
            Ok(storage) => {
                // SAFETY: we hold the process.
                unsafe { *block.storage.get() = Some(storage) };
                Ok(stack)
            }
            Err(refused) => {
                self.give_stack(stack);
                Err(refused)
            }
        }
    }

    /// A thread is over and becomes a light process of this worker, for the few steps that are left.
    pub(crate) fn take_storage_back(&self, block: &Block) {
        // SAFETY: this is the worker of the OS thread.
        unsafe { self.place.get().set(block.as_header().cast()) };
        let stack = block.stack.take().expect("a process that runs has a stack");
        // SAFETY: the caller is at the end of a thread, on its stack; neither it nor this has used its variables.
        unsafe { tls::return_to(self.home_storage.get(), &stack) };
        block.stack.set(Some(stack));
        if block.header.is(FOREIGN) {
            return; // it stays until nobody can know the thread any more
        }
        // SAFETY: the one who runs holds the block.
        let storage = unsafe { &mut *block.storage.get() }.take();
        // SAFETY: the pool is private to this OS thread, and `give` calls nothing of ours.
        storage.into_iter().for_each(|storage| unsafe { &mut *self.storages.get() }.give(storage));
    }

    /// From the home context: runs a started process until something comes home again.
    pub(super) fn run_process(&self, process: Runnable) {
        let to = self.enter(process);
        self.trace_next(to.context);
        // SAFETY: the home context is this OS thread's own; `to` is suspended or primed and now ours alone.
        unsafe { transfer_with(self.home_context.get(), to.context, to.storage) };
        self.arrive();
    }

    /// Marks the home context as what runs, on the worker's OS thread, before its first turn and after its last.
    pub(super) fn set_home_current(&self, running: bool) {
        self.home.worker.set(self.as_word());
        self.home_storage.set(tls::base());
        self.place.set(Place::here());
        let home = (&raw const self.home).cast_mut().cast();
        current::set_home(home);
        current::set(if running { home } else { std::ptr::null_mut() });
    }
}
