//! Owns: what the scheduler asks of whoever decides for a runtime that follows a seed.
//! May use: `raddle-protocol`.
//! Never: how a choice is made.
//!
//! A runtime that was given a seed has one worker, and that worker has a [`SeededSchedule`]: it puts everything that
//! can run there and takes out who runs next. The crate `raddle-explore` makes them.

use super::Slot;
use raddle_protocol::header::{Header, Runnable};
use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Who makes schedules from seeds, if the program has linked that.
pub static EXPLORER: Slot<dyn Explorer> = Slot::new();

/// Where the choices of a runtime come from, as it was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seed {
    Number(u64),
    /// The text of a schedule.
    Schedule(String),
}

/// Makes schedules from seeds.
pub trait Explorer: fmt::Debug + Send + Sync {
    /// Whether this is the text of a schedule.
    fn is_schedule(&self, text: &str) -> bool;

    /// A schedule for the worker of a new runtime.
    fn follow(&self, seed: &Seed) -> Seeded;
}

/// The schedule of one worker.
pub struct Seeded {
    /// Used by the worker alone.
    pub schedule: Box<dyn SeededSchedule>,
    /// What every OS thread may read of it.
    pub facts: SeedFacts,
}

/// What every OS thread may read of a schedule.
#[derive(Clone)]
pub struct SeedFacts {
    /// The number of the schedule so far: what has the same went the same way. Written by the schedule.
    pub hash: Arc<AtomicU64>,
    /// Whether somebody explores with it, and hears of how it ends.
    pub is_explored: bool,
}

impl SeedFacts {
    /// The number of the schedule so far.
    pub(crate) fn hash(&self) -> u64 {
        self.hash.load(Ordering::Relaxed)
    }
}

impl Deref for Seeded {
    type Target = dyn SeededSchedule;

    fn deref(&self) -> &Self::Target {
        &*self.schedule
    }
}

/// How far the runs of a worker with a seed have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// Whoever can run may be chosen.
    GoesOn,
    /// As before, and it is a new one: its clock begins at 0.
    Begins,
    /// Nobody gets a turn until another one is asked for.
    IsOver,
}

/// What a worker asks that follows a seed. `alive` is how many processes and tasks of its runtime have not ended.
pub trait SeededSchedule: Send {
    /// Whether a run is going on, or begins here.
    fn run(&self) -> Run;
    /// Whether anybody was ever here.
    fn has_begun(&self) -> bool;
    /// Whether the run is to end now, whoever could still run.
    fn has_failed(&self) -> bool;

    /// Puts one that can run into the pool.
    fn put(&self, ready: Runnable);
    /// Takes who has the next turn out of the pool.
    fn take(&self) -> Option<Runnable>;
    /// Whether anybody is in the pool.
    fn has_others(&self) -> bool;
    /// A number below `n`.
    fn choose(&self, n: usize) -> usize;
    /// Whether the one who runs goes on. If not, somebody else has the next turn.
    fn goes_on(&self, running: *mut Header) -> bool;
    /// The one who runs says, at `site`, that others should.
    fn yields(&self, running: *mut Header, site: &'static Location<'static>);
    /// Whether time passes though somebody can run. Not asked without an alarm.
    fn time_flies(&self) -> bool;

    /// Time has jumped to here.
    fn note_time(&self, now_ns: u64);
    /// The one who runs is about to do something at `site`, or has done it. The site is the program's, or a line of the
    /// library where that does not know its caller's.
    fn note_operation(
        &self,
        running: *mut Header,
        operation: &'static str,
        site: &'static Location<'static>,
        is_done: bool,
    );
    /// A process has come to its end.
    fn ended(&self, header: *mut Header);
    /// A panic has begun in what runs; true if nothing else need be said of it now.
    fn note_panic(&self, what: &str) -> bool;
    /// A panic has reached the base of a process, and nobody asks for it.
    fn unseen_panic(&self);
    /// There is no stack for a process that was to start. True if whoever explores will say so.
    fn refused(&self, what: &str) -> bool;
    /// The process that all began with has come to its end.
    fn first_has_ended(&self, panicked: bool);

    /// What a process is born into, unless its scope says that: the region of the run, as a token names it.
    fn region(&self) -> Option<Arc<dyn Any + Send + Sync>>;
    /// Nothing can run any more, or need: has all that is left unwind. True if somebody may be able to run now.
    ///
    /// # Safety
    /// Nothing runs on the worker that calls, and all that were put and have ended were told to
    /// [`ended`](Self::ended).
    unsafe fn break_up(&self, alive: u64) -> bool;
    /// Whether the run is over, and what is left in it unwinds.
    fn is_ending(&self) -> bool;
    /// This one begins to unwind. False if it has before.
    fn unwinds(&self, who: *mut Header) -> bool;
    /// What is said when one that unwinds panics, which ends the program.
    fn last_words(&self) -> String;
    /// One that is left cannot go on, nor let anybody else: nobody gets a turn any more.
    fn break_off(&self);
    /// Whether nobody gets a turn any more.
    fn is_broken_off(&self) -> bool;
    /// The run is over. True if the runtime is of no use any more.
    fn end(&self, alive: u64) -> bool;
}
