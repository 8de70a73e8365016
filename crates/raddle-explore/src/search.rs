//! Owns: many runs: to find one that fails, to see that it repeats, to make it short, to tell of it.
//! May use: `asked`, `board`, `failure`, `options`, `plan`, `run`, `schedule`.
//! Never: a failure told of that was not seen.

use crate::asked::Asked;
use crate::board::RunEnd;
use crate::failure::{Cause, Failure};
use crate::options::Options;
use crate::plan::Plan;
use crate::run::Runs;
use crate::schedule::Schedule;

/// Shrinking stops after so many runs.
const SHRINKING_RUNS: u32 = 300;

/// Runs once for each seed, until one fails. Gives the hash of the last run.
pub(crate) fn search(options: &Options, seeds: &[u64], runs: &mut Runs) -> Result<u64, Box<Failure>> {
    let asked = options.asked();
    let mut hash = 0;
    for (at, seed) in seeds.iter().enumerate() {
        let plan = Plan::Seed(*seed, options.strategy);
        let outcome = runs.run(&plan, asked);
        hash = outcome.hash;
        let place = (at as u32 + 1, seeds.len() as u32);
        if let Some(cause) = outcome.cause.clone() {
            return Err(Box::new(tell(&plan, asked, runs, outcome, cause, Some(*seed), place)));
        }
        if at + 1 == seeds.len() {
            // What an earlier run has left in a `static` is there by now: this one has to repeat.
            check_repeats(&plan, asked, runs, &outcome, *seed, place)?;
        }
    }
    Ok(hash)
}

fn check_repeats(
    plan: &Plan,
    asked: Asked,
    runs: &mut Runs,
    first: &RunEnd,
    seed: u64,
    run_of: (u32, u32),
) -> Result<(), Box<Failure>> {
    let again = runs.run(plan, asked);
    if is_refused(&again) {
        return Ok(());
    }
    if again.hash == first.hash && again.cause.is_none() {
        return Ok(());
    }
    let cause = again.cause.unwrap_or_else(|| {
        Cause::Panic(format!("no failure, but {} steps and then {}", first.steps, again.steps))
    });
    Err(Box::new(Failure {
        cause,
        seed: Some(seed),
        run: run_of,
        schedule: Schedule::default(),
        before_shrinking: 0,
        log: Vec::new(),
        repeats: false,
    }))
}

/// Runs once by a schedule.
pub(crate) fn by_schedule(
    options: &Options,
    schedule: &Schedule,
    runs: &mut Runs,
) -> Result<u64, Box<Failure>> {
    let (plan, asked) =
        (Plan::Steps(schedule.clone()), Asked { logs: true, ..options.asked().by(schedule.rules()) });
    let outcome = runs.run(&plan, asked);
    let Some(cause) = outcome.cause else { return Ok(outcome.hash) };
    let failure = Failure {
        cause,
        seed: None,
        run: (1, 1),
        schedule: schedule.clone(),
        before_shrinking: schedule.len(),
        log: outcome.log,
        repeats: true,
    };
    Err(Box::new(failure))
}

/// A run has failed: whether it does so again, by how few choices, and how.
fn tell(
    plan: &Plan,
    asked: Asked,
    runs: &mut Runs,
    first: RunEnd,
    cause: Cause,
    seed: Option<u64>,
    run_of: (u32, u32),
) -> Failure {
    let mut failure = Failure {
        cause,
        seed,
        run: run_of,
        before_shrinking: first.schedule.len(),
        schedule: first.schedule,
        log: Vec::new(),
        repeats: true,
    };
    if matches!(failure.cause, Cause::Held(_) | Cause::Refused(_)) {
        return failure;
    }
    let again = runs.run(plan, asked);
    if is_refused(&again) {
        return failure;
    }
    failure.repeats =
        again.hash == first.hash && again.cause.is_some_and(|cause| cause.is_like(&failure.cause));
    if !failure.repeats {
        return failure;
    }
    failure.schedule = shrink(asked, runs, &failure);
    let told = runs.run(&Plan::Steps(failure.schedule.clone()), Asked { logs: true, ..asked });
    if let Some(cause) = told.cause.filter(|cause| cause.is_like(&failure.cause)) {
        (failure.cause, failure.log) = (cause, told.log);
    }
    failure
}

/// Whether the machine had no stack for a run any more: it tells nothing of the program.
fn is_refused(outcome: &RunEnd) -> bool {
    matches!(outcome.cause, Some(Cause::Refused(_)))
}

/// Leaves out what the failure does not need: halves, quarters, at last single choices (Zeller's delta debugging).
fn shrink(asked: Asked, runs: &mut Runs, failure: &Failure) -> Schedule {
    let mut best = failure.schedule.clone();
    let mut tries = 0;
    let mut count = best.len().div_ceil(2).max(1);
    loop {
        let (mut from, mut shorter) = (0, false);
        while from < best.len() && tries < SHRINKING_RUNS {
            tries += 1;
            let outcome = runs.run(&Plan::Steps(best.without(from, count)), asked);
            if is_refused(&outcome) {
                return best;
            }
            let is_it = outcome.cause.is_some_and(|cause| cause.is_like(&failure.cause));
            if is_it && outcome.schedule.len() < best.len() {
                (best, shorter) = (outcome.schedule, true);
            } else {
                from += count;
            }
        }
        if tries >= SHRINKING_RUNS || (count == 1 && !shorter) {
            return best;
        }
        count = if shorter { count } else { count / 2 }.max(1);
    }
}
