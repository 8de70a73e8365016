// Owns: schedules from a seed, and the search among them for one that fails.
// May use: `raddle-core`.
// Never: a cost to a program that uses no seed but one branch an operation.

// The scheduler does not know this crate: a program that links it has it, by `attach`.
//
// | module | what |
// |---|---|
// | `raddle_core::worker::choice` | where a seed may have another go on |
// | `attach` | what the scheduler finds when the program has linked this crate |
// | `chance` | how a choice follows from a seed |
// | `schedule` | the choices that were not the obvious ones |
// | `seeded` | what the worker asks |
// | `state`, `known` | what it remembers: who could run, who was chosen, who is who |
// | `board` | between who explores and the worker |
// | `ending` | what is left of a run unwinds |
// | `run`, `search` | one run; many, and the shrinking |
// | `stuck` | who waits when nothing can run |
// | `failure`, `site` | what is told, and where in the user's code it was |

//! Find the schedule that makes a concurrent program fail, and run it again: [`explore()`] in a test, or `RADDLE_SEED`.
//!
//! ```
//! use raddle::explore::{Options, try_explore};
//! use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
//!
//! let failure = try_explore(Options::default(), || {
//!     let count = AtomicU32::new(0);
//!     let add = || count.store(count.load(SeqCst) + 1, SeqCst);
//!     raddle::join(add, add);
//!     assert_eq!(count.into_inner(), 2);
//! });
//! assert!(failure.unwrap_err().to_string().contains("AtomicU32::store"));
//! ```
//!
//! A runtime that was given a seed ([`Builder::seed`](raddle_core::Builder::seed), or `RADDLE_SEED`) has one worker
//! and takes every choice from it: who runs next, whether another one goes on at an operation of a lock, a channel, a
//! timer or a process, whether a fork is taken, which possible case a selection takes. Time is virtual: it stands still
//! while anything can run, and jumps to the next alarm when nothing can. The same program with the same seed goes the
//! same way.
//!
//! [`explore()`] runs a closure under many seeds and tells of the first that fails: by a panic, a deadlock, or by not
//! ending. It shows the schedule that it took, cut down to the choices that matter, and how to see it again.
//!
//! What no seed decides: OS threads and their locks, `blocking` calls, real clocks, random numbers of the program's
//! own, the order of a `HashMap`. And a process is stopped at operations of Raddle's only: what it does on plain
//! atomics between two of them is one step.

#![warn(clippy::disallowed_methods)]

mod asked;
mod attach;
mod board;
mod chance;
mod ending;
mod failure;
mod known;
mod options;
mod plan;
mod run;
mod schedule;
mod search;
mod seeded;
mod site;
mod state;
mod stuck;

pub use failure::{Failure, Kind};
pub use options::{Options, Strategy};
pub use schedule::{NoSchedule, Schedule};

use plan::Plan;
use raddle_core::config::seed_of_environment;
use run::Runs;
use std::sync::Arc;
use std::time::Instant;

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
#[track_caller]
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
