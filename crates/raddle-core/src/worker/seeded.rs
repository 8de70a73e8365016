//! Owns: how a worker that follows a seed goes from one runnable to the next.
//! May use: `block::control`, `observe::seed`, `raddle-context`, `raddle-protocol`.
//! Never: a turn that the seed has not given.
//!
//! Such a worker is its runtime's only one. Its budget is always one dispatch, so that whoever leaves its stack comes
//! home, whatever fast path it left by; and home asks here. Everything that can run is first put into one pool, from
//! which the seed chooses. Nothing of this costs a worker without a seed an instruction: an exhausted budget is what it
//! looks for anyway.
//!
//! Time is virtual: when nothing can run, and nobody is away on another OS thread, the clock jumps to the next alarm.

use super::{Here, LocalWorker, SEEDED, Worker};
use crate::block::Block;
use crate::observe::{Run, Seeded};
use crate::worker::choice::{outside, point};
use raddle_context::current::{COUNT_MAX, set_count};
use raddle_protocol::header::Runnable;
use raddle_protocol::protocol::jobs::Forks;
use std::panic::Location;

/// Whoever has done so many operations, one after the other, and has waited in none of them, lets others run: it may be
/// waiting for them in a loop. As many as without a seed are done between two looks at the clock, at most.
const OPERATIONS_MAX: u32 = COUNT_MAX;
/// The budget that has whoever leaves its stack come home.
const COME_HOME: u32 = 1;

impl Worker {
    /// Makes this worker follow a seed, before it runs.
    pub(crate) fn follow(mut self, seeded: Option<Seeded>) -> Self {
        if let Some(seeded) = seeded {
            self.budget.set(COME_HOME);
            self.jobs = raddle_protocol::protocol::jobs::JobQueue::new(true, true);
            self.seed = Some(seeded.facts.clone());
            self.own.get_mut().seeded = Some(seeded);
            self.watched = (*self.watched.get_mut() | SEEDED).into();
        }
        self
    }
}

impl LocalWorker {
    /// Has whoever leaves its stack come home, if there is a seed.
    pub(super) fn keep_budget(&self) {
        if self.own().seeded.is_some() {
            self.budget.set(COME_HOME);
        }
    }

    /// Who is next. `None` if nothing can run.
    pub(super) fn next_by_seed(&self, seeded: &Seeded) -> Option<Runnable> {
        self.budget.set(COME_HOME);
        self.own().operations.set(0);
        match seeded.run() {
            Run::GoesOn => {}
            Run::IsOver => return None,
            Run::Begins => {
                // The same in each run.
                set_count(COUNT_MAX);
                self.shared().clock.jump_to(0);
                self.restart_clock(0);
            }
        }
        self.ask_by_seed();
        loop {
            self.gather(seeded);
            if seeded.has_failed() {
                self.break_up(seeded);
                continue;
            }
            if seeded.is_broken_off() {
                return self.end_by_seed(seeded);
            }
            if self.timers.next_ns().is_some() && seeded.time_flies() && self.pass_time(seeded) {
                continue;
            }
            if let Some(next) = seeded.take() {
                return Some(next);
            }
            if self.shared().may_be_woken_from_elsewhere() || !seeded.has_begun() {
                return None;
            }
            if !self.pass_time(seeded) && !self.break_up(seeded) {
                return self.end_by_seed(seeded);
            }
        }
    }

    /// What is left of the run unwinds. False if nobody can run any more.
    fn break_up(&self, seeded: &Seeded) -> bool {
        // SAFETY: this worker looks for its next runnable, and `choice::ended` tells each end.
        unsafe { seeded.break_up(self.alive()) }
    }

    fn alive(&self) -> u64 {
        self.shared().alive(&self.shared().total())
    }

    /// What was found after a sleep is one of those to choose from.
    pub(super) fn choose_again(&self, found: Runnable) -> Option<Runnable> {
        let Some(seeded) = &self.own().seeded else { return Some(found) };
        self.turns().batch.push(found);
        self.next_by_seed(seeded)
    }

    /// The clock jumps to the next alarm. False if there is none.
    fn pass_time(&self, seeded: &Seeded) -> bool {
        let Some(alarm) = self.timers.next_ns() else { return false };
        self.shared().clock.jump_to(alarm);
        seeded.note_time(alarm);
        self.fire_timers(alarm);
        true
    }

    fn end_by_seed(&self, seeded: &Seeded) -> Option<Runnable> {
        if seeded.end(self.alive()) {
            self.shared().stop_now();
        }
        None
    }

    /// Puts everything that can run into the pool. True if that was anybody.
    fn gather(&self, seeded: &Seeded) -> bool {
        let mut any = false;
        let mut put = |ready| {
            seeded.put(ready);
            any = true;
        };
        self.fire_timers(self.shared().clock.now_ns());
        if self.inbox.has_mail() {
            self.take_mail();
            outside("an OS thread that wakes a process");
        }
        self.take_shared(usize::MAX);
        while let Some(ready) = self.turns().batch.pop() {
            put(ready);
        }
        while let Some(ready) = self.my_ready().pop() {
            put(ready);
        }
        while let Some(ready) = self.my_fresh().pop() {
            put(ready);
        }
        while let Some(ready) = self.my_later().pop() {
            put(ready);
        }
        while let Some(ready) = self.take_own_job() {
            put(ready);
        }
        any
    }

    /// A fork has been made: perhaps the oldest one is taken by another process.
    pub(super) fn answer_by_seed(&self, seeded: &Seeded, forks: &Forks) {
        if !std::thread::panicking() && seeded.choose(2) == 1 && self.promote_one(forks, false) {
            point("a fork");
        }
    }
}

impl Here<'_> {
    /// The running process, which unwinds, would block this worker: if its run is over it does not go on.
    ///
    /// # Safety
    /// `block` is what runs here.
    pub(crate) unsafe fn abandon_by_seed(self, block: &'static Block) {
        let Some(seeded) = self.own().seeded.as_ref().filter(|seeded| seeded.is_ending()) else { return };
        seeded.break_off();
        // SAFETY: `block` is what runs here, and nobody will resume it.
        unsafe { self.leave_after(block, nobody_resumes, std::ptr::null_mut()) };
        unreachable!("nobody resumes it");
    }

    /// The running process is about to do something; perhaps another one goes on first.
    ///
    /// # Safety
    /// `block` is what runs here.
    pub(crate) unsafe fn preempt_by_seed(
        self,
        block: &'static Block,
        operation: &'static str,
        site: &'static Location<'static>,
    ) {
        let Some(seeded) = &self.own().seeded else { return };
        seeded.note_operation(block.as_header(), operation, site, false);
        self.gather(seeded);
        if self.uses_turn_up(seeded, block, site) {
            seeded.note_operation(block.as_header(), operation, site, false);
            // SAFETY: passed on to the caller.
            return unsafe { self.yield_process(block) };
        }
        // SAFETY: passed on to the caller.
        unsafe { self.perhaps_yield(block) };
    }

    /// Counts an operation; true if the one who runs has done so many that it is to let others run. If there is nobody
    /// else, time passes.
    fn uses_turn_up(&self, seeded: &Seeded, block: &Block, site: &'static Location<'static>) -> bool {
        let operations = self.own().operations.get() + 1;
        self.own().operations.set(operations % OPERATIONS_MAX);
        if operations < OPERATIONS_MAX || seeded.is_ending() {
            return false;
        }
        seeded.yields(block.as_header(), site);
        if !seeded.has_others() {
            self.pass_time(seeded);
        }
        true
    }

    /// # Safety
    /// `block` is what runs here.
    unsafe fn perhaps_yield(self, block: &'static Block) {
        let goes_on = self.own().seeded.as_ref().is_none_or(|seeded| seeded.goes_on(block.as_header()));
        if !goes_on {
            // SAFETY: passed on to the caller.
            unsafe { self.yield_process(block) };
        }
    }

    /// The running process has done something; if that has made somebody ready, perhaps another one goes on now.
    ///
    /// # Safety
    /// `block` is what runs here.
    pub(crate) unsafe fn settle_by_seed(
        self,
        block: &'static Block,
        operation: &'static str,
        site: &'static Location<'static>,
    ) {
        let Some(seeded) = &self.own().seeded else { return };
        if self.gather(seeded) {
            seeded.note_operation(block.as_header(), operation, site, true);
            // SAFETY: passed on to the caller.
            unsafe { self.perhaps_yield(block) };
        }
    }
}

/// Runs on the next context: there is nothing to tell anybody.
///
/// # Safety
/// None is needed.
unsafe fn nobody_resumes(_nothing: *mut ()) {}
