//! Owns: `Ending`, how a run ends that somebody explores: what is left in it unwinds.
//! May use: `board`, `raddle-core`, `raddle-protocol`.
//! Never: a choice: what happens in an ending is no part of the run, and of no seed.
//!
//! A run that has failed leaves processes behind that wait for ever. They would keep their stacks and what lies on
//! them; a search that shrinks a failure has some hundred such runs. So the run's region is cancelled: each wait
//! unwinds, everything is dropped in order, and the runtime can have the next run. What cannot be ended so keeps its
//! stack, as all did before: who waits for a queue lock or a `Once`, under a `shield`, or a task. And a light process
//! that would wait while it unwinds cannot leave its worker to others, since panics are counted for each OS thread: it
//! stays where it is, and the ending is over, with whatever is left.
//!
//! A drop that panics while its owner unwinds aborts the program, which had only failed in an exploration. So locks are
//! not poisoned meanwhile, and who would join another (which has been cancelled, too) as it unwinds is left where it
//! is. If a drop panics all the same, the failure is told first. (To leave the stack in the panic hook was tried: the
//! standard library's lock of the hook is held then, and libtest wants it when the tests are over.)

use crate::board::RunEnd;
use raddle_core::cancel::Token;
use raddle_protocol::header::Header;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;

/// So many turns what is left may have, all together.
const TURNS_MAX: u32 = 100_000;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    /// What all processes of the run are in.
    region: RefCell<Option<Token>>,
    begun: Cell<bool>,
    turns: Cell<u32>,
    outcome: RefCell<Option<RunEnd>>,
    /// Those that have begun to unwind.
    unwinding: RefCell<HashSet<*mut Header>>,
}

impl Ending {
    /// A run begins.
    pub(crate) fn prepare(&self) {
        *self.region.borrow_mut() = Some(Token::new());
        self.begun.set(false);
        self.turns.set(0);
        self.unwinding.borrow_mut().clear();
    }

    /// This one begins to unwind. False if it has before.
    pub(crate) fn unwinds(&self, who: *mut Header) -> bool {
        self.unwinding.borrow_mut().insert(who)
    }

    /// What a process is born into, unless its scope says that.
    pub(crate) fn region(&self) -> Option<Token> {
        self.region.borrow().clone()
    }

    /// Whether the run is over, and what is left in it unwinds.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.get()
    }

    /// The run is over, with this outcome.
    pub(crate) fn begin(&self, outcome: RunEnd, cancels: bool) {
        *self.outcome.borrow_mut() = Some(outcome);
        self.begun.set(true);
        if cancels && let Some(region) = self.region() {
            region.strike();
        }
    }

    /// One of those that are left gets a turn. False if there have been too many.
    pub(crate) fn takes_turn(&self) -> bool {
        self.turns.set(self.turns.get().saturating_add(1));
        self.turns.get() <= TURNS_MAX
    }

    /// One that is left cannot go on, nor let anybody else: nobody gets a turn any more.
    pub(crate) fn break_off(&self) {
        self.turns.set(TURNS_MAX);
    }

    /// Whether nobody gets a turn any more.
    pub(crate) fn is_broken_off(&self) -> bool {
        self.turns.get() >= TURNS_MAX
    }

    /// What is said when one that unwinds panics: the program is about to abort, and nobody will tell of the failure.
    pub(crate) fn last_words(&self) -> String {
        let outcome = self.outcome.borrow();
        let cause = outcome.as_ref().and_then(|outcome| outcome.cause.as_ref()).map(ToString::to_string);
        let schedule = outcome.as_ref().map(|outcome| outcome.schedule.to_string()).unwrap_or_default();
        let cause = cause.unwrap_or_else(|| "no failure".to_owned());
        format!(
            "raddle: a drop panics while what a run has left is taken down, which ends the program; the run was, by \
             the schedule {schedule}: {cause}\n"
        )
    }

    /// What whoever explores is told. `alive` are left.
    pub(crate) fn outcome(&self, alive: u64) -> RunEnd {
        let outcome = self.outcome.borrow_mut().take().unwrap_or_default();
        RunEnd { is_clean: alive == 0 && !self.is_broken_off(), ..outcome }
    }
}
