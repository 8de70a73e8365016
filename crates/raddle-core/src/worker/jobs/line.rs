//! Owns: `Line`: the jobs that one worker has spawned and nobody has begun, and in which order they begin.
//! May use: nothing.
//! Never: running a job.
//!
//! It uses a mutex of the standard library, for a few instructions.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is to be run.
pub(super) type Job = Box<dyn FnOnce() + Send>;

/// What one worker has spawned and nobody has begun.
#[derive(Default)]
pub struct Line(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    /// The youngest last.
    places: Vec<Place>,
    /// The jobs of `spawn_fifo`, the oldest first.
    in_order: VecDeque<Job>,
}

/// What is begun in a turn.
enum Place {
    Of(Job),
    OldestInOrder,
}

impl Line {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job.
    pub fn push(&self, order: Order, job: Job) {
        let mut waiting = self.waiting();
        match order {
            Order::YoungestFirst => waiting.places.push(Place::Of(job)),
            Order::OldestFirst => {
                waiting.places.push(Place::OldestInOrder);
                waiting.in_order.push_back(job);
            }
        }
    }

    /// Takes the job whose turn it is.
    pub fn take(&self) -> Option<Job> {
        let mut waiting = self.waiting();
        match waiting.places.pop()? {
            Place::Of(job) => Some(job),
            Place::OldestInOrder => waiting.in_order.pop_front(),
        }
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").finish_non_exhaustive()
    }
}

/// Which of a worker's jobs is begun first.
#[derive(Clone, Copy)]
pub enum Order {
    /// As `spawn` asks for it.
    YoungestFirst,
    /// As `spawn_fifo` asks for it.
    OldestFirst,
}
