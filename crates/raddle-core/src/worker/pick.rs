//! Owns: the choice of who runs next on a worker, and whether anybody could.
//! May use: `block::control`, `block::current`, `raddle-context`, `raddle-protocol`.
//! Never: a clock, a system call, a lock; those are for boundaries.
//!
//! A process that leaves its stack picks its successor itself. Only what cannot be entered by a transfer (a task), or
//! needs more than a few instructions (a boundary, an empty batch) goes through the worker's home context.

use super::enter::Next;
use super::{Here, LocalWorker};
use crate::block::Block;
use raddle_context::{Context, tls};
use raddle_protocol::header::{Kind, OWN_TLS, Runnable, STARTED};
use std::ops::Range;

/// What is left of a budget when something fresh starts: it counts for four, since nobody knows how long it will run.
///
/// A budget that short slices have let grow would else let 128 long first slices pass before the first look at a clock.
#[inline(always)]
pub(super) fn after_fresh(budget: u32) -> u32 {
    budget.saturating_sub(3).max(1)
}

/// Whether something waits for the caller's worker: beside what runs, or among what that has forked. False on an OS
/// thread that is no worker.
pub fn has_work() -> bool {
    // SAFETY: it is gone when this returns, and nothing leaves its stack meanwhile.
    unsafe { Here::current() }.is_some_and(|worker| worker.has_work())
}

/// How many of the caller's worker's have begun that had never run, or were taken by thieves; `None` if something else
/// waits there, too, or nothing. A yield that a boundary falls into may come back without any of them: then this stays.
pub fn fresh_begun() -> Option<usize> {
    // SAFETY: it is gone when this returns, and nothing leaves its stack meanwhile.
    let worker = unsafe { Here::current() }?;
    worker.only_fresh_waits().then(|| worker.fresh.taken().wrapping_add(worker.later.taken()))
}

impl LocalWorker {
    /// Chooses who is next and makes it current. The caller transfers to it.
    ///
    /// # Safety
    /// The caller does so next, from what runs here, with the storage that is said; nothing in between asks who runs.
    #[inline(always)]
    pub(crate) unsafe fn pick(&self) -> Next {
        if self.traces() {
            // SAFETY: passed on to the caller.
            unsafe { self.pick_and_record() }
        } else {
            // SAFETY: passed on to the caller.
            unsafe { self.pick_plainly() }
        }
    }

    /// # Safety
    /// As for [`pick`](Self::pick).
    #[cold]
    #[inline(never)]
    unsafe fn pick_and_record(&self) -> Next {
        // SAFETY: passed on to the caller.
        let next = unsafe { self.pick_plainly() };
        self.trace_next(next.context);
        next
    }

    /// # Safety
    /// As for [`pick`](Self::pick).
    #[inline(always)]
    unsafe fn pick_plainly(&self) -> Next {
        let budget = self.budget.get() - 1;
        if budget != 0 && !self.inbox.has_mail() {
            let Some((next, is_light)) = self.turns().batch.pop_sorted() else {
                // SAFETY: passed on to the caller.
                return unsafe { self.pick_waiting(budget) };
            };
            self.budget.set(budget);
            if is_light {
                return self.enter_light(next);
            }
            // SAFETY: passed on to the caller.
            return unsafe { self.pick_otherwise(next) };
        }
        self.go_home()
    }

    /// As [`pick`](Self::pick), from `block`, which may be light or have storage of its own.
    ///
    /// # Safety
    /// As there; and `block` is what runs here.
    #[inline(never)]
    pub(super) unsafe fn pick_next(&self, block: &Block) -> Next {
        if block.header.is(OWN_TLS) {
            // SAFETY: passed on to the caller.
            return unsafe { self.pick_for_thread(!self.traces()) };
        }
        // SAFETY: passed on to the caller.
        unsafe { self.pick() }
    }

    /// As [`pick_next`](Self::pick_next), when nothing is recorded.
    ///
    /// # Safety
    /// As there.
    #[inline(never)]
    pub(super) unsafe fn pick_next_unseen(&self, block: &Block) -> Next {
        if block.header.is(OWN_TLS) {
            // SAFETY: passed on to the caller.
            return unsafe { self.pick_for_thread(true) };
        }
        // SAFETY: passed on to the caller.
        unsafe { self.pick_plainly() }
    }

    /// As [`pick`](Self::pick), when one runs that has storage of its own: most often it is another such one's turn.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub(super) unsafe fn pick_for_thread(&self, is_unseen: bool) -> Next {
        let budget = self.budget.get() - 1;
        let thread_is_next =
            budget != 0 && self.turns().batch.is_empty() && !self.inbox.has_mail() && is_unseen;
        let next = if thread_is_next { self.my_ready().pop_unless_contended() } else { Ok(None) };
        match next {
            Ok(Some(thread)) => {
                self.budget.set(budget);
                let next = self.ready.glance_at_next();
                if !next.is_null() {
                    // SAFETY: only threads are, and ever were, in the ready list, and blocks are never freed.
                    unsafe { Block::of_header(next) }.announce();
                }
                // SAFETY: only threads are in the ready list.
                self.enter_thread(unsafe { Block::of_header(thread.as_ptr()) })
            }
            // SAFETY: passed on to the caller.
            Ok(None) => unsafe { self.pick_after_thread() },
            // SAFETY: as above; the ready list has just said so.
            Err(head) => unsafe { self.pick_contended(head) },
        }
    }

    /// The next is no light process that has started. Out of line, as [`pick_waiting`](Self::pick_waiting) is.
    ///
    /// # Safety
    /// As for [`pick`](Self::pick).
    #[inline(never)]
    unsafe fn pick_otherwise(&self, next: Runnable) -> Next {
        if next.header().is(STARTED) {
            return self.enter(next);
        }
        if next.header().kind == Kind::Process && self.start(next).is_ok() {
            self.budget.set(after_fresh(self.budget.get()));
            return self.enter(next);
        }
        self.own().handoff.set(Some(next));
        self.go_home()
    }

    /// Chooses who is next after the one who runs is over. The caller, which has the OS thread's storage, returns it.
    ///
    /// # Safety
    /// As for [`pick`](Self::pick), from what is over: nothing on the way there touches a thread-local variable.
    pub(crate) unsafe fn pick_last(&self) -> *mut Context {
        // SAFETY: passed on to the caller.
        let next = unsafe { self.pick() };
        if next.storage != 0 {
            // SAFETY: what runs is over, and its callers touch no thread-local variable any more.
            unsafe { tls::make_way_for(next.storage) };
        }
        next.context
    }

    /// As [`pick_last`](Self::pick_last), after one that still runs on `stack` with storage of its own; both have been
    /// given back.
    ///
    /// # Safety
    /// As [`pick_last`](Self::pick_last).
    pub(crate) unsafe fn pick_last_as_is(&self, stack: Range<*mut u8>) -> *mut Context {
        // SAFETY: passed on to the caller.
        let next = unsafe { self.pick() };
        if next.storage == 0 {
            // SAFETY: what runs is over, and its callers touch no thread-local variable any more.
            unsafe { tls::return_to(self.own().home.storage.get(), stack) };
        } else {
            // SAFETY: as above.
            unsafe { tls::go_over(next.storage) };
        }
        next.context
    }

    /// The batch is dry: the thread that has waited longest is next, else the oldest fresh process.
    ///
    /// Out of line, so that the common way through `leave` saves one register and not six.
    ///
    /// # Safety
    /// As for [`pick`](Self::pick).
    #[inline(never)]
    unsafe fn pick_waiting(&self, budget: u32) -> Next {
        match self.my_ready().pop() {
            Some(thread) => {
                self.budget.set(budget);
                self.enter(thread)
            }
            // SAFETY: passed on to the caller.
            None => unsafe { self.pick_fresh(budget) },
        }
    }

    /// Batch and threads are dry: the oldest fresh process is next, if there is one.
    ///
    /// Out of line, so that the common way through `leave` saves one register and not six.
    ///
    /// # Safety
    /// As for [`pick`](Self::pick).
    #[inline(never)]
    pub(super) unsafe fn pick_fresh(&self, budget: u32) -> Next {
        self.own().ran_dry.set(true);
        if self.jobs.waiting() > 0 {
            return self.go_home();
        }
        let fresh = self.my_fresh().pop();
        if let Some(fresh) = fresh.or_else(|| self.my_later().pop()) {
            self.budget.set(after_fresh(budget));
            if fresh.header().kind == Kind::Process && self.start(fresh).is_ok() {
                return self.enter(fresh);
            }
            self.own().handoff.set(Some(fresh));
        }
        self.go_home()
    }

    /// As [`pick`](Self::pick), when a thread runs: a light process that follows needs the OS thread's storage again.
    ///
    /// Out of line, so that the common way through `leave_thread` saves few registers.
    ///
    /// # Safety
    /// As for [`pick`](Self::pick); and a thread runs.
    #[inline(never)]
    pub(super) unsafe fn pick_after_thread(&self) -> Next {
        // SAFETY: passed on to the caller.
        let to = unsafe { self.pick() };
        if to.storage == 0 { Next { storage: self.own().home.storage.get(), ..to } } else { to }
    }

    /// A thief is at the ready list, of which `head` has been announced.
    ///
    /// # Safety
    /// As for [`pick_after_thread`](Self::pick_after_thread); the ready list has just said so of `head`.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn pick_contended(&self, head: usize) -> Next {
        // SAFETY: the caller vouches for `head`; this is the owner's OS thread, as `self` shows.
        match unsafe { self.ready.pop_contended(head) } {
            Some(thread) => {
                self.budget.set(self.budget.get() - 1);
                // SAFETY: only threads are in the ready list.
                self.enter_thread(unsafe { Block::of_header(thread.as_ptr()) })
            }
            // SAFETY: passed on to the caller.
            None => unsafe { self.pick_after_thread() },
        }
    }

    /// Takes `child` back, if it is among those that would start next here and nothing more urgent waits: the running
    /// process, which has nothing else to do than to wait for it, runs it as a call. Costs the budget what a start
    /// costs, so that the others of this worker get their turn.
    #[inline(always)]
    pub(crate) fn take_back(&self, parent: &Block, child: &Block) -> bool {
        let budget = self.budget.get() - 1;
        if budget == 0 || self.inbox.has_mail() || self.traces() {
            return false;
        }
        let is_oldest = self.fresh.oldest_is(child.as_header());
        let may_take = is_oldest || self.may_start_out_of_turn(child);
        may_take && self.take_it_back(parent, child, (is_oldest, budget))
    }

    /// Whether a child may go before others that have not begun, if these are whom it may pass by: it has not, either,
    /// and nobody waits in the ready list.
    #[inline]
    pub(super) fn may_start_out_of_turn(&self, child: &Block) -> bool {
        !child.header.is(STARTED) && self.has_fresh() && self.ready.is_empty_for_owner()
    }

    #[inline(never)]
    fn take_it_back(&self, parent: &Block, child: &Block, (is_oldest, budget): (bool, u32)) -> bool {
        let (fresh, wanted) = (self.my_fresh(), child.as_header());
        let fresh = if is_oldest { fresh.pop() } else { fresh.take_child(parent.as_header(), Some(wanted)) };
        let Some(fresh) = fresh else { return false };
        if fresh.as_ptr() != child.as_header() {
            // A thief was faster.
            self.turns().batch.push(fresh);
            return false;
        }
        self.own().out_of_turn.set(self.own().out_of_turn.get() || !is_oldest);
        self.budget.set(after_fresh(budget));
        true
    }

    /// Whether something waits to run here, beside what runs.
    pub(crate) fn has_others(&self) -> bool {
        let waits = !self.turns().batch.is_empty() || self.inbox.has_mail() || self.has_fresh();
        waits || self.own().seeded.is_some()
    }

    /// See [`has_work`].
    fn has_work(&self) -> bool {
        // SAFETY: the word is null or the header of what runs here, which is alive.
        let running = unsafe { super::current_header().as_ref() };
        // SAFETY: null, or the open list of what runs here.
        let forks = running.and_then(|running| unsafe { running.forks.get().as_ref() });
        let has_forks = forks.is_some_and(|forks| forks.top().is_some() || forks.bag.is_used());
        has_forks || !self.is_alone() || self.jobs.waiting() > 0
    }

    /// Whether something waits here that has run before, or has come from elsewhere.
    fn has_started(&self) -> bool {
        !self.turns().batch.is_empty() || !self.ready.is_empty_for_owner() || self.inbox.has_mail()
    }

    /// Whether something waits here, and all of it has never run.
    fn only_fresh_waits(&self) -> bool {
        self.has_fresh() && !self.has_started() && self.jobs.waiting() == 0
    }

    /// Nothing but what runs is here.
    pub(crate) fn is_alone(&self) -> bool {
        !self.has_started() && !self.has_fresh()
    }

    /// As [`is_alone`](Self::is_alone), and knows at once what thieves have taken, for a few loads more.
    pub(crate) fn is_left_alone(&self) -> bool {
        let waiting = self.ready.len_hint() + self.fresh.len_hint() + self.later.len_hint();
        self.turns().batch.is_empty() && waiting == 0 && !self.inbox.has_mail()
    }
}
