//! Owns: `Runs`: one run of a closure by a plan after the other, in one runtime as long as nothing is left in it.
//! May use: `asked`, `attach`, `board`, `failure`, `plan`, `raddle-core`.
//! Never: a run in a runtime in which an earlier one has left something.

use crate::asked::Asked;
use crate::attach::ByOrder;
use crate::board::{Board, RunEnd};
use crate::failure::Cause;
use crate::plan::Plan;
use raddle_core::Runtime;
use raddle_core::process::make::spawn_first;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// After so long without a step something is outside of the seed's reach.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is explored.
pub(crate) type Subject = Arc<dyn Fn() + Send + Sync>;

/// Runs of one closure.
pub(crate) struct Runs {
    subject: Subject,
    /// Where the program asks for the runs.
    site: &'static Location<'static>,
    idle: Option<(Runtime, Arc<Board>)>,
}

impl Runs {
    #[track_caller]
    pub(crate) fn of(subject: Subject) -> Runs {
        Runs { subject, site: Location::caller(), idle: None }
    }

    /// Runs the closure as the first process, until nothing can run any more or something has failed.
    ///
    /// # Panics
    /// If no runtime can be built.
    pub(crate) fn run(&mut self, plan: &Plan, asked: Asked) -> RunEnd {
        let (runtime, board) = self.idle.take().unwrap_or_else(new_runtime);
        board.order(plan.chooser(), asked);
        let f = self.subject.clone();
        spawn_first(runtime.shared(), self.site, move || {
            let ended = catch_unwind(AssertUnwindSafe(|| f()));
            raddle_core::worker::choice::first_has_ended(ended.is_err());
        });
        let Some(outcome) = board.wait(PATIENCE) else {
            // Its worker does not come back from there: to wait for its end would be to wait for ever.
            std::mem::forget(runtime);
            return RunEnd { cause: Some(Cause::Held(PATIENCE.as_secs())), ..RunEnd::default() };
        };
        if outcome.is_clean {
            self.idle = Some((runtime, board));
        }
        outcome
    }
}

/// A runtime that waits for orders.
fn new_runtime() -> (Runtime, Arc<Board>) {
    let board = Arc::new(Board::default());
    let runtime = Runtime::builder().explored(Arc::new(ByOrder(board.clone()))).build();
    (runtime.unwrap_or_else(|error| panic!("no runtime to explore in: {error}")), board)
}
