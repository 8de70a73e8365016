//! Owns: the wait of a job that holds its OS thread: its worker goes on meanwhile, on the job's own stack.
//! May use: `block::control`, `message`, `raddle-context`, `raddle-protocol`.
//! Never: a return to the job before what was begun meanwhile has ended.
//!
//! A pool whose OS threads the program has prepared (by handlers, by names, by making them itself) runs its jobs with
//! the thread-local storage of these threads, so that they see what was prepared there. What shares storage must be
//! nested, as calls are: a job that goes on while another one stands in the middle of an initialiser, or of a scoped
//! variable, would find half a change. So such a job never leaves its stack to another one's. While it waits for a
//! job, its worker's loop runs on the job's stack, and what that begins ends before the job goes on, as with Rayon.
//! For anything else it blocks the OS thread, as with Rayon.
//!
//! A join with a deadline, or in a region that may be cancelled, is such a wait, too. It comes back late if what was
//! begun meanwhile takes longer: the deadline, or the cancellation, only has the loop begin nothing more.
//!
//! | home of the worker | whose context that is |
//! |---|---|
//! | at first | the worker's own |
//! | while a job waits so | the job's, until what it waits for has come |
//!
//! The job cannot be queued meanwhile, as what waits otherwise is when it is woken: it must not be entered before its
//! turn. So not its own header is registered but that of a [`NestedWait`], whose wake says that the wait is over and
//! has the worker look.

mod patience;
pub(super) mod wait;

use super::choice::now;
use super::timer::Alarm;
use super::{Here, LocalWorker};
use crate::block::Block;
pub(crate) use patience::Patience;
use raddle_context::transfer_with;
use raddle_protocol::call::WaitCall;
use raddle_protocol::header::{Header, Runnable};
use raddle_protocol::prim;
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;
use wait::NestedWait;

impl Here<'_> {
    /// Waits until whoever got the header by `register` wakes it; this worker goes on meanwhile, here. If `register`
    /// returns false nobody will wake it, and this returns at once.
    ///
    /// # Safety
    /// `block` is what runs on this OS thread, and holds it.
    pub(crate) unsafe fn wait_nested(
        self,
        block: &'static Block,
        (call, object): (&'static WaitCall, usize),
        register: impl FnOnce(*mut Header) -> bool,
    ) {
        let wait = NestedWait::at(self.public());
        self.let_go(&block.header);
        if !register(wait.header()) {
            return;
        }
        self.note_stop(call, object);
        // SAFETY: as this function.
        unsafe { self.run_until_over(block, &wait) };
    }

    /// As [`wait_nested`](Self::wait_nested), until `deadline` has passed or `patience` has ended: if `withdraw` says
    /// then that nobody will wake the header any more, this returns false.
    ///
    /// # Safety
    /// As there.
    pub(crate) unsafe fn wait_nested_loosely(
        self,
        block: &'static Block,
        call: &'static WaitCall,
        (patience, deadline): (&Arc<Patience>, Option<Instant>),
        register: impl FnOnce(*mut Header) -> bool,
        withdraw: impl FnOnce(*mut Header) -> bool,
    ) -> bool {
        let wait = NestedWait::patiently(self.public(), patience.has_ended());
        self.let_go(&block.header);
        if !register(wait.header()) {
            return true;
        }
        self.note_stop(call, 0);
        let keeper = self.public();
        let alarm = deadline.map(|deadline| {
            let at_ns = self.deadline(deadline.saturating_duration_since(now()));
            keeper.timers().set(at_ns, Alarm::Waker(Waker::from(patience.clone())))
        });
        // SAFETY: as this function.
        unsafe { self.run_until_over(block, &wait) };
        // If it is about to ring, it holds what it tells.
        alarm.into_iter().for_each(|alarm| _ = keeper.timers().cancel(alarm));
        if !wait.is_over() && withdraw(wait.header()) {
            return false;
        }
        // Between taking the header out of its word and the wake there are a few instructions, and no switch.
        (0..).take_while(|_| !wait.is_over()).for_each(prim::give_way);
        true
    }

    /// This worker goes on, on the caller's stack, until it is over with the wait.
    ///
    /// # Safety
    /// As [`wait_nested`](Self::wait_nested), and the wait is registered.
    unsafe fn run_until_over(self, block: &'static Block, wait: &NestedWait) {
        let outer = self.own().nested.set(wait);
        // SAFETY: passed on to the caller.
        unsafe { self.run_nested(block, || if wait.goes_on() { None } else { self.next_or_wait() }) };
        self.own().nested.set(outer);
        if !wait.goes_on() {
            // The runtime ends, and nobody will: the job is abandoned.
            let home = self.go_home();
            // SAFETY: as this function; who stands there waits for what it has begun, and nobody will enter this one.
            unsafe { transfer_with(block.context.get(), home.context, home.storage) };
            unreachable!("a job that was abandoned has been entered");
        }
    }

    /// A job that holds its OS thread yields: runs one of those that wait here, if there is one.
    ///
    /// # Safety
    /// As [`wait_nested`](Self::wait_nested).
    pub(crate) unsafe fn yield_nested(self, block: &'static Block) {
        self.let_go(&block.header);
        let mut has_looked = false;
        // SAFETY: as this function.
        unsafe {
            self.run_nested(
                block,
                || if std::mem::replace(&mut has_looked, true) { None } else { self.next() },
            )
        };
    }
}

/// A panic of the loop's, of a waker that an alarm calls, say: it must not reach the job's frames.
struct OnlyWhole;

impl Drop for OnlyWhole {
    fn drop(&mut self) {
        crate::message::fatal("a worker panicked outside of any process or task");
    }
}

impl LocalWorker {
    /// Dispatches here, on the stack of `block`, what `next` gives, until it gives nothing.
    ///
    /// # Safety
    /// As [`Here::wait_nested`].
    unsafe fn run_nested(&self, block: &'static Block, mut next: impl FnMut() -> Option<Runnable>) {
        let outer = self.own().home.place.replace(block.context.get());
        let _home = self.go_home();
        self.trace_next(block.context.get());
        let only_whole = OnlyWhole;
        while let Some(next) = next() {
            self.dispatch(next);
        }
        std::mem::forget(only_whole);
        // What was picked, and could not be entered from where that was, waits with the others.
        self.own().handoff.take().into_iter().for_each(|picked| self.turns().batch.push(picked));
        self.own().home.place.set(outer);
        // SAFETY: this is the worker of the OS thread.
        unsafe { self.turns().current.get().set(block.as_header().cast()) };
        self.trace_next(block.context.get());
    }
}
