//! Owns: `Runs`: one run of a closure by a plan after the other, in one runtime as long as nothing is left in it.
//! May use: `runtime`.
//! Never: a run in a runtime in which an earlier one has left something.

use super::Strategy;
use super::board::{Asked, Board, Outcome};
use super::chance::Chooser;
use super::failure::Cause;
use super::schedule::Schedule;
use super::seeded::Seeded;
use crate::process::make::spawn_first;
use crate::runtime::Runtime;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// After so long without a step something is outside of the seed's reach.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the choices of a runtime come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    Seed(u64, Strategy),
    Steps(Schedule),
}

impl Plan {
    fn chooser(&self) -> Chooser {
        match self {
            Plan::Seed(seed, strategy) => Chooser::new(*strategy, *seed),
            Plan::Steps(schedule) => Chooser::Steps(schedule.clone()),
        }
    }

    /// What the worker of a runtime with this plan remembers; or of one that gets its plans from a board.
    pub(crate) fn seeded(&self, board: Option<Arc<Board>>) -> Seeded {
        crate::choice::turn_on();
        board.map_or_else(|| Seeded::new(self.chooser()), Seeded::explored)
    }
}

/// What is explored.
pub(super) type Subject = Arc<dyn Fn() + Send + Sync>;

/// Runs of one closure.
pub(super) struct Runs {
    subject: Subject,
    bed: Option<(Runtime, Arc<Board>)>,
}

impl Runs {
    pub(super) fn of(subject: Subject) -> Runs {
        Runs { subject, bed: None }
    }

    /// Runs the closure as the first process, until nothing can run any more or something has failed.
    ///
    /// # Panics
    /// If no runtime can be built.
    pub(super) fn run(&mut self, plan: &Plan, asked: Asked) -> Outcome {
        let (runtime, board) = self.bed.take().unwrap_or_else(|| bed(plan));
        board.order(plan.chooser(), asked);
        let f = self.subject.clone();
        spawn_first(runtime.shared(), move || {
            let ended = catch_unwind(AssertUnwindSafe(|| f()));
            crate::choice::first_has_ended(ended.is_err());
        });
        let Some(outcome) = board.wait(PATIENCE) else {
            // Its worker does not come back from there: to wait for its end would be to wait for ever.
            std::mem::forget(runtime);
            return Outcome { cause: Some(Cause::Held(PATIENCE.as_secs())), ..Outcome::default() };
        };
        if outcome.is_clean {
            self.bed = Some((runtime, board));
        }
        outcome
    }
}

/// A runtime that waits for orders.
fn bed(plan: &Plan) -> (Runtime, Arc<Board>) {
    let board = Arc::new(Board::default());
    let runtime = Runtime::builder().explored(plan.clone(), board.clone()).build();
    (runtime.unwrap_or_else(|error| panic!("no runtime to explore in: {error}")), board)
}
