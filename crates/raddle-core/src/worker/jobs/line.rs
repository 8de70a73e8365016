//! Owns: `Line`: the jobs that one worker has spawned and nobody has begun, and in which order they begin.
//! May use: nothing.
//! Never: running a job.
//!
//! Whoever begins jobs of a line does so in a *turn*, which is queued as a process is. While a line holds jobs one of
//! its turns at least is queued: so whoever is idle finds it, however long the job takes that has begun. There are
//! more, a few for few jobs and one for some dozen of many, since thieves judge by the length of a queue whether to
//! come. Not one for each job: a turn runs several jobs, and one for which nothing is left ends at once.
//!
//! It uses a mutex of the standard library, for a few instructions.

use super::body::JobBody;
use std::collections::VecDeque;
use std::fmt;
use std::panic::Location;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// As many jobs have a turn each ...
const FEW: usize = 8;
/// ... and of more there is one for so many, ...
const JOBS_A_TURN: usize = 32;
/// ... but no more than so many.
const MANY: usize = 256;

/// What is to be run, and where the program has spawned it.
pub struct SpawnedJob {
    /// Where.
    pub site: &'static Location<'static>,
    /// What.
    pub run: JobBody,
}

/// What one worker has spawned and nobody has begun.
#[derive(Default)]
pub struct Line(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    /// The youngest last.
    places: VecDeque<Place>,
    /// The jobs of `spawn_fifo`, the oldest first.
    in_order: VecDeque<SpawnedJob>,
    /// How many turns are queued.
    turns: usize,
}

/// What is begun next.
enum Place {
    Of(SpawnedJob),
    OldestInOrder,
}

/// The turns of the line that the caller is to queue; they are counted as queued.
#[must_use]
#[derive(Clone, Copy, Debug)]
pub struct NewTurns {
    /// So many.
    pub count: usize,
    /// Where the program has spawned what is next, if there are any.
    pub site: &'static Location<'static>,
}

impl Waiting {
    fn push(&mut self, order: Order, job: SpawnedJob) {
        match order {
            Order::YoungestFirst => self.places.push_back(Place::Of(job)),
            Order::OldestFirst => {
                self.places.push_back(Place::OldestInOrder);
                self.in_order.push_back(job);
            }
        }
    }

    fn take(&mut self) -> Option<SpawnedJob> {
        match self.places.pop_back()? {
            Place::Of(job) => Some(job),
            Place::OldestInOrder => self.in_order.pop_front(),
        }
    }

    /// So many turns for so many jobs.
    fn enough(&self) -> usize {
        let jobs = self.places.len();
        (jobs / JOBS_A_TURN).clamp(jobs.min(FEW), MANY)
    }

    fn new_turns(&mut self, count: usize) -> NewTurns {
        let next = match self.places.back() {
            Some(Place::Of(job)) => Some(job),
            Some(Place::OldestInOrder) => self.in_order.front(),
            None => None,
        };
        self.turns += count;
        NewTurns { count, site: next.map_or(Location::caller(), |job| job.site) }
    }

    /// When the last one has begun.
    fn turns_for_the_rest(&mut self) -> NewTurns {
        let count = if self.turns == 0 { self.enough() } else { 0 };
        self.new_turns(count)
    }
}

impl Line {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job; with a turn of its own, if `own_turn` says so.
    pub fn push(&self, order: Order, job: SpawnedJob, own_turn: bool) -> NewTurns {
        let site = job.site;
        let mut waiting = self.waiting();
        waiting.push(order, job);
        let count = usize::from(own_turn || waiting.turns < waiting.enough());
        waiting.turns += count;
        NewTurns { count, site }
    }

    /// A turn begins, in the line: the job that begins, if others have left one.
    pub fn begin_turn(&self) -> (Option<SpawnedJob>, NewTurns) {
        let mut waiting = self.waiting();
        waiting.turns -= 1;
        (waiting.take(), waiting.turns_for_the_rest())
    }

    /// A turn begins, at another worker. If that one's line is empty the older half of the jobs goes there.
    pub fn begin_turn_elsewhere(&self, there: &Line) -> NewTurns {
        // Not both locks at a time: two workers may do this to each other.
        let is_empty = there.waiting().places.is_empty();
        let mut waiting = self.waiting();
        waiting.turns -= 1;
        let count = if is_empty { waiting.places.len().div_ceil(2) } else { 0 };
        let moved: Vec<_> = waiting.places.drain(..count).collect();
        let in_order = moved.iter().filter(|place| matches!(place, Place::OldestInOrder)).count();
        let moved_in_order: Vec<_> = waiting.in_order.drain(..in_order).collect();
        let turns = waiting.turns_for_the_rest();
        drop(waiting);
        let mut waiting = there.waiting();
        waiting.places.extend(moved);
        waiting.in_order.extend(moved_in_order);
        turns
    }

    /// The next job of a turn that has begun.
    pub fn take(&self) -> (Option<SpawnedJob>, NewTurns) {
        let mut waiting = self.waiting();
        (waiting.take(), waiting.turns_for_the_rest())
    }

    /// A turn ends, whatever is left.
    pub fn end_turn(&self) -> NewTurns {
        self.waiting().turns_for_the_rest()
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    type Notes = Arc<Mutex<Vec<u32>>>;

    /// So many jobs, the odd ones in order, and how many turns were asked for.
    fn push(line: &Line, notes: &Notes, numbers: std::ops::Range<u32>) -> usize {
        let mut turns = 0;
        for number in numbers {
            let (order, notes) =
                (if number % 2 == 0 { Order::YoungestFirst } else { Order::OldestFirst }, notes.clone());
            let run = JobBody::new(move || notes.lock().unwrap().push(number));
            turns += line.push(order, SpawnedJob { site: Location::caller(), run }, false).count;
        }
        turns
    }

    fn run_all(line: &Line, notes: &Notes) -> Vec<u32> {
        while let (Some(job), _) = line.take() {
            job.run.call();
        }
        std::mem::take(&mut notes.lock().unwrap())
    }

    #[test]
    fn few_jobs_have_a_turn_each_and_many_do_not() {
        let (line, notes) = (Line::default(), Notes::default());
        assert_eq!(push(&line, &notes, 0..5), 5);
        assert_eq!(push(&line, &notes, 5..250), FEW - 5);
        assert_eq!(push(&line, &notes, 250..10_000), MANY - FEW);
    }

    #[test]
    fn while_jobs_are_left_a_turn_is_queued() {
        let (line, notes) = (Line::default(), Notes::default());
        let mut turns = push(&line, &notes, 0..100);
        let mut left = 100;
        while left > 0 {
            assert!(turns > 0, "{left} jobs, and no turn");
            let (job, new) = line.begin_turn();
            turns = turns - 1 + new.count;
            left -= usize::from(job.is_some());
        }
        assert_eq!(line.end_turn().count, 0);
    }

    #[test]
    fn the_older_half_goes_elsewhere_and_keeps_its_order() {
        let (line, there, notes) = (Line::default(), Line::default(), Notes::default());
        let turns = push(&line, &notes, 0..8);
        assert_eq!((turns, line.begin_turn_elsewhere(&there).count), (8, 0));
        assert_eq!(there.end_turn().count, 4);
        // Of 0, 1, 2, 3 the last place is of the oldest in order.
        assert_eq!(run_all(&there, &notes), [1, 2, 3, 0]);
        assert_eq!(run_all(&line, &notes), [5, 6, 7, 4]);
    }

    #[test]
    fn a_line_that_has_jobs_gets_none_from_elsewhere() {
        let (line, there, notes) = (Line::default(), Line::default(), Notes::default());
        let _turns = (push(&line, &notes, 0..8), push(&there, &notes, 8..9));
        let _none = line.begin_turn_elsewhere(&there);
        assert_eq!(run_all(&there, &notes), [8]);
    }
}
