//! Owns: the loop on the worker's own stack: take one, run it, again, until the runtime stops.
//! May use: `block::control`, `block::name`, `counters`, `orphan`, `raddle-context`, `raddle-protocol`.
//! Never: a process's code; that runs on the process's stack.

use super::{Here, LocalWorker, Worker};
use crate::block::Block;
use crate::counters::Counters;
use crate::orphan;
use raddle_context::StackError;
use raddle_protocol::header::{Kind, Runnable, STARTED};
use std::cell::Cell;

thread_local! {
    /// On a worker's own stack, where a process is being ended that could not be started.
    static REFUSED: Cell<bool> = const { Cell::new(false) };
}

/// Whether the caller is a job for which there was no stack, so that it runs on its worker's own: it must not wait.
pub(crate) fn has_no_stack() -> bool {
    REFUSED.get()
}

impl Worker {
    /// Runs this worker on the calling OS thread until its runtime stops. True if the OS thread must not end, since
    /// something that has begun on it has been abandoned.
    ///
    /// # Safety
    /// Called once, on the OS thread that is to be this worker's. What else of a runtime's runs there calls this, and
    /// stays there: it is away from its worker, or holds it.
    pub(crate) unsafe fn run(&self) -> bool {
        // SAFETY: this OS thread is the worker's, from here to the end of this function. What it runs leaves this stack
        // and comes back to it here.
        unsafe { Here::begin(self) }.run()
    }
}

impl LocalWorker {
    fn run(&self) -> bool {
        let lender = self.begin_home();
        self.tracer.begin_on_this_thread();
        let gate = self.shared().gate.as_ref().filter(|_| self.index == 0);
        loop {
            match gate {
                None => self.run_until_stop(),
                Some(gate) => self.run_behind(gate),
            }
            let Some(retiree) = self.retire_storage() else { break };
            self.dispatch(retiree);
        }
        self.end_home(lender);
        self.has_abandoned()
    }

    fn run_until_stop(&self) {
        while let Some(next) = self.next_or_wait() {
            self.dispatch(next);
        }
    }

    /// The next to run, for which it looks and sleeps. `None` when the runtime stops, or whoever the loop runs for goes
    /// on.
    #[inline(always)]
    pub(super) fn next_or_wait(&self) -> Option<Runnable> {
        self.next().or_else(|| self.choose_again(self.wait_for_work()?))
    }

    /// The next to run, from the places that are this worker's own or its group's.
    pub(super) fn next(&self) -> Option<Runnable> {
        if let Some(next) = self.own().handoff.take() {
            return Some(next);
        }
        let budget = self.budget.get() - 1;
        self.budget.set(budget);
        if budget == 0 {
            if let Some(seeded) = &self.own().seeded {
                return self.next_by_seed(seeded);
            }
            self.boundary();
        }
        if self.inbox.has_mail() {
            self.take_mail();
        }
        if let Some(next) = self.turns().batch.pop() {
            return Some(next);
        }
        self.own().ran_dry.set(true);
        self.refill()
    }

    /// The batch is dry: what else waits here?
    pub(super) fn refill(&self) -> Option<Runnable> {
        if let Some(job) = self.take_own_job() {
            return Some(job);
        }
        if let Some(thread) = self.my_ready().pop() {
            return Some(thread);
        }
        if let Some(fresh) = self.my_fresh().pop() {
            return Some(fresh);
        }
        let surplus = self.window.take();
        if !surplus.is_empty() {
            self.turns().batch.append(surplus);
            return self.turns().batch.pop();
        }
        if let Some(later) = self.my_later().pop() {
            return Some(later);
        }
        self.take_shared(1);
        self.turns().batch.pop()
    }

    pub(super) fn dispatch(&self, next: Runnable) {
        match next.header().kind {
            Kind::Task => {
                Counters::add(&self.counters.polls, 1);
                if next.header().worker.get() != self.as_word() {
                    self.receive(next.header());
                }
                // SAFETY: its kind says how it was made.
                let poll = unsafe { next.header().act() };
                // SAFETY: it has just been taken from a queue.
                self.trace_turn(next.header(), || unsafe { poll(next.as_ptr()) });
                if orphan::is_orphan() {
                    // Had it panicked, its poll would not have returned.
                    orphan::end_of_orphan(false);
                }
            }
            Kind::Engine => self.run_engine(next),
            Kind::Process if next.header().is(STARTED) => self.run_process(next),
            Kind::Process => match self.start(next) {
                Ok(()) => self.run_process(next),
                Err(refused) => self.cannot_start(next, refused),
            },
            Kind::Worker | Kind::OsThread | Kind::Bell => {
                unreachable!("a {:?} is never queued", next.header().kind)
            }
        }
    }

    /// No stack for a fresh process: it ends at once, and its joiner gets the reason.
    #[cold]
    fn cannot_start(&self, fresh: Runnable, refused: StackError) {
        // SAFETY: the caller has seen that its kind is a process.
        let block = unsafe { Block::of_header(fresh.as_ptr()) };
        Counters::add(&self.counters.stacks_refused, 1);
        let seeded = self.own().seeded.as_ref();
        let told = seeded.is_some_and(|seeded| seeded.refused(&crate::block::no_start(block, &refused)));
        if !told {
            crate::block::cannot_start(block, &refused);
        }
        block.header.worker.set(self.as_word());
        REFUSED.set(true);
        // SAFETY: the closure was put and never run; the block is ours, and of this worker.
        unsafe { (block.body.get().refuse)(block, Box::new(refused)) };
        REFUSED.set(false);
    }
}
