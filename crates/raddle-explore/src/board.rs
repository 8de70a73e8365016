//! Owns: `Board`, by which the explorer's OS thread and the worker that runs tell each other what to do.
//! May use: `asked`, `chance`, `failure`, `schedule`.
//! Never: anything about how choices are made.

use crate::asked::Asked;
use crate::chance::Chooser;
use crate::failure::Cause;
use crate::schedule::Schedule;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How a run ended.
#[derive(Debug, Default)]
pub(crate) struct RunEnd {
    pub(crate) cause: Option<Cause>,
    pub(crate) hash: u64,
    pub(crate) steps: u64,
    /// The choices that were not the obvious ones.
    pub(crate) schedule: Schedule,
    /// What happened, line by line, if it was asked for.
    pub(crate) log: Vec<String>,
    /// Nothing is left: the runtime can have another run.
    pub(crate) is_clean: bool,
}

/// Where an order for a run lies, and then its outcome.
#[derive(Debug, Default)]
pub(crate) struct Board {
    places: Mutex<Places>,
    ended: Condvar,
    turns: AtomicU64,
}

#[derive(Debug, Default)]
struct Places {
    order: Option<(Chooser, Asked)>,
    outcome: Option<RunEnd>,
}

impl Board {
    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a run. Its first process is handed over next.
    pub(crate) fn order(&self, chooser: Chooser, asked: Asked) {
        self.places().order = Some((chooser, asked));
    }

    /// The run that is asked for, if one is.
    pub(crate) fn take_order(&self) -> Option<(Chooser, Asked)> {
        self.places().order.take()
    }

    /// The run moves.
    pub(crate) fn note_turns(&self, turns: u64) {
        self.turns.store(turns, Ordering::Relaxed);
    }

    pub(crate) fn post(&self, outcome: RunEnd) {
        self.places().outcome = Some(outcome);
        self.ended.notify_all();
    }

    /// Waits for the outcome; `None` if nothing has moved for so long.
    pub(crate) fn wait(&self, patience: Duration) -> Option<RunEnd> {
        let mut places = self.places();
        loop {
            if let Some(outcome) = places.outcome.take() {
                return Some(outcome);
            }
            let before = self.turns.load(Ordering::Relaxed);
            let waited = self.ended.wait_timeout(places, patience);
            let (held, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            places = held;
            let moved = self.turns.load(Ordering::Relaxed) != before;
            if waited.timed_out() && places.outcome.is_none() && !moved {
                return None;
            }
        }
    }
}
