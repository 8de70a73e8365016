//! Owns: schedules from a seed, and the search among them for one that fails.
//! May use: `raddle-core`, which asks it at every choice; `hang::reach`.
//! Never: a cost to a program that uses no seed but one branch an operation.
//!
//! A runtime that was given a seed ([`Builder::seed`](raddle_core::Builder::seed), or `RADDLE_SEED`) has one worker
//! and takes every choice from it: who runs next, whether another one goes on at an operation of a lock, a channel, a
//! timer or a process, whether a fork is taken, which possible case a selection takes. Time is virtual: it stands still
//! while anything can run, and jumps to the next alarm when nothing can. The same program with the same seed goes the
//! same way.
//!
//! The scheduler does not know this crate: a program that links it has it, by `attach`.
//!
//! [`explore()`] runs a closure under many seeds and tells of the first that fails: by a panic, a deadlock, or by not
//! ending. It shows the schedule that it took, cut down to the choices that matter, and how to see it again.
//!
//! What no seed decides: OS threads and their locks, `blocking` calls, real clocks, random numbers of the program's
//! own, the order of a `HashMap`. And a process is stopped at operations of Raddle's only: what it does on plain
//! atomics between two of them is one step.
//!
//! | module | what |
//! |---|---|
//! | `raddle_core::worker::choice` | where a seed may have another go on |
//! | `attach` | what the scheduler finds when the program has linked this crate |
//! | `chance` | how a choice follows from a seed |
//! | `schedule` | the choices that were not the obvious ones |
//! | `seeded` | what the worker asks |
//! | `state`, `known` | what it remembers: who could run, who was chosen, who is who |
//! | `board` | between who explores and the worker |
//! | `ending` | what is left of a run unwinds |
//! | `run`, `search` | one run; many, and the shrinking |
//! | `stuck` | who waits when nothing can run |
//! | `failure`, `site` | what is told, and where in the user's code it was |

#![warn(clippy::disallowed_methods)]

mod attach;
mod board;
mod chance;
mod ending;
mod failure;
mod known;
mod run;
mod schedule;
mod search;
mod seeded;
mod site;
mod state;
mod stuck;

pub use failure::{Failure, Kind};
pub use schedule::{NoSchedule, Schedule};

use board::{Asked, TURNS_MAX};
use raddle_core::config::seed_of_environment;
use run::{Plan, Runs};
use std::sync::Arc;
use std::time::Instant;

/// How choices follow from a seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Even seeds at random, odd ones by priorities with a depth of 2 to 4.
    #[default]
    Mixed,
    /// At every choice each of those who could run is as likely as the others.
    Random,
    /// PCT: the highest of random priorities runs, and at `depth - 1` random steps whoever runs falls below all others.
    /// For bugs that so many events in a certain order bring about.
    Pct {
        /// How many events; from 1.
        depth: u32,
    },
}

/// What is explored, and how far.
///
/// ```
/// use raddle::explore::{Options, Strategy};
/// let options = Options { iterations: 100, strategy: Strategy::Pct { depth: 3 }, ..Options::default() };
/// assert_eq!(options.seed, 0);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many seeds; default: 1000.
    pub iterations: u32,
    /// How choices follow from a seed.
    pub strategy: Strategy,
    /// The first seed; the others follow it. Default: 0.
    pub seed: u64,
    /// A run that has had so many turns and operations fails; default: 100 000.
    pub turns_max: u64,
    /// Whether processes may wait for ever once the closure has returned, as servers do; default: no, that is a
    /// deadlock.
    pub daemons: bool,
    /// Whether an alarm may ring while others could still run, as on a machine that is too busy: finds who takes a
    /// time-out for impossible. Default: no: time stands still while anything can run.
    pub early_alarms: bool,
}

impl Default for Options {
    fn default() -> Options {
        let (iterations, turns_max) = (1000, TURNS_MAX);
        Options {
            iterations,
            strategy: Strategy::Mixed,
            seed: 0,
            turns_max,
            daemons: false,
            early_alarms: false,
        }
    }
}

impl Options {
    fn asked(&self) -> Asked {
        let Options { turns_max, daemons, early_alarms, .. } = *self;
        Asked { turns_max, daemons, early_alarms, logs: false }
    }
}

/// Runs `f`, as the first process of a runtime, once for each of many seeds. Returns when none has failed.
///
/// If `RADDLE_SEED` is set, that is the only one. Called from an ordinary OS thread, a test for instance.
///
/// # Panics
/// With the [`Failure`] of the first run that fails; its first line says what, where, and the seed.
///
/// ```should_panic
/// use raddle::explore::{Options, explore};
/// use raddle::sync::{Arc, Mutex};
/// explore(Options::default(), || {
///     let locks = Arc::new((Mutex::new(()), Mutex::new(())));
///     let other = locks.clone();
///     let child = raddle::csp::spawn(move || {
///         let _second = other.1.lock();
///         let _first = other.0.lock();
///     });
///     let _first = locks.0.lock();
///     let _second = locks.1.lock();
///     drop((_first, _second));
///     child.join().unwrap();
/// }); // deadlock: 'main' waits in Mutex::lock at ...
/// ```
#[track_caller]
pub fn explore<F: Fn() + Send + Sync + 'static>(options: Options, f: F) {
    if let Err(failure) = try_explore(options, f) {
        panic!("{failure}");
    }
}

/// As [`explore()`], with the failure as a value. Gives the [hash](raddle_core::Runtime::schedule_hash) of the last
/// run.
///
/// # Errors
/// The first run that failed.
///
/// # Panics
/// If no runtime can be built, or `RADDLE_SEED` is wrong.
pub fn try_explore<F: Fn() + Send + Sync + 'static>(options: Options, f: F) -> Result<u64, Box<Failure>> {
    let runs = &mut Runs::of(Arc::new(f));
    let plan = seed_of_environment().unwrap_or_else(|error| panic!("{error}"));
    match plan.as_ref().map(Plan::of) {
        Some(Plan::Seed(seed, _)) => search::search(&options, &[seed], runs),
        Some(Plan::Steps(schedule)) => search::by_schedule(&options, &schedule, runs),
        None => {
            let seeds: Vec<u64> =
                (0..u64::from(options.iterations)).map(|n| options.seed.wrapping_add(n)).collect();
            search::search(&options, &seeds, runs)
        }
    }
}

/// As [`explore()`], at random: each of those who could run is as likely as the others.
///
/// # Panics
/// As [`explore()`].
#[track_caller]
pub fn check_random<F: Fn() + Send + Sync + 'static>(f: F, iterations: u32) {
    explore(Options { iterations, strategy: Strategy::Random, ..Options::default() }, f);
}

/// As [`explore()`], by PCT, for bugs that `depth` events in a certain order bring about.
///
/// # Panics
/// As [`explore()`].
#[track_caller]
pub fn check_pct<F: Fn() + Send + Sync + 'static>(f: F, iterations: u32, depth: u32) {
    explore(Options { iterations, strategy: Strategy::Pct { depth }, ..Options::default() }, f);
}

/// Runs `f` once by a schedule, as a failure names it, with those options under which it was found.
///
/// # Panics
/// With the failure, if it fails again; and if `schedule` is none.
///
/// ```
/// raddle::explore::replay(|| raddle::csp::spawn(|| 7).join().map(drop).unwrap(), "3:1,7:2");
/// ```
#[track_caller]
pub fn replay<F: Fn() + Send + Sync + 'static>(f: F, schedule: &str) {
    let schedule: Schedule = schedule.parse().unwrap_or_else(|error| panic!("{error}"));
    let runs = &mut Runs::of(Arc::new(f));
    if let Err(failure) = search::by_schedule(&Options::default(), &schedule, runs) {
        panic!("{failure}");
    }
}

/// What time it is, for deadlines: in a runtime with a seed time is virtual, elsewhere this is [`Instant::now`].
///
/// ```
/// use std::time::Duration;
/// raddle::explore::check_random(|| {
///     let before = raddle::explore::now();
///     raddle::csp::sleep(Duration::from_secs(3600)); // takes no time
///     assert_eq!(raddle::explore::now() - before, Duration::from_secs(3600));
/// }, 3);
/// ```
pub fn now() -> Instant {
    raddle_core::worker::choice::now()
}
