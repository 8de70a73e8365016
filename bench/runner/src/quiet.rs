//! Owns: what strangers may take of the processors during a run, and its repetition where they took more.
//! May use: the time of the whole machine, the processor time of this process and of its children.
//! Never: a choice by a run's figure; it is not looked at.
//!
//! A run is one process of one cell. The *worst* run says nothing when somebody else had the core during it, so a run
//! during which strangers took more than [`STRANGERS_MAX`] of one core is repeated, at most so many times as
//! the options say, and no longer than [`LIMIT`] for one round. If none is quiet, the quietest counts and is said to be
//! noisy. A run that fails is not repeated.

use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use raddle_measure::machine::MachineTime;

/// Strangers may keep so many cores busy during a run: three per cent of one.
pub const STRANGERS_MAX: f64 = 0.03;

/// A run is repeated so often at most, unless the options say otherwise.
pub const REPETITIONS: usize = 5;

/// No run is repeated when those of this round have taken so long.
pub const LIMIT: Duration = Duration::from_secs(60);

/// What came of a run, with its repetitions.
#[derive(Debug)]
pub struct WatchedRun<T> {
    pub outcome: Result<T, String>,
    /// How many cores strangers kept busy during it; `None` where the machine does not say.
    pub strangers: Option<f64>,
    /// Runs before and after it that do not count.
    pub repeated: usize,
}

/// Runs `once`, and again while strangers take too much, at most `repetitions` times.
pub fn run<T>(repetitions: usize, mut once: impl FnMut() -> Result<T, String>) -> WatchedRun<T> {
    let begun = Instant::now();
    quietest(repetitions, || begun.elapsed() < LIMIT, || watched(&mut once))
}

/// Whether strangers took too much.
pub fn is_noisy(strangers: Option<f64>) -> bool {
    strangers.is_some_and(|share| share > STRANGERS_MAX)
}

fn quietest<T>(
    repetitions: usize,
    may_repeat: impl Fn() -> bool,
    mut once: impl FnMut() -> (Result<T, String>, Option<f64>),
) -> WatchedRun<T> {
    let (mut outcome, mut strangers) = once();
    let mut repeated = 0;
    while outcome.is_ok() && is_noisy(strangers) && repeated < repetitions && may_repeat() {
        let (next, share) = once();
        repeated += 1;
        if next.is_err() || share < strangers {
            (outcome, strangers) = (next, share);
        }
    }
    WatchedRun { outcome, strangers, repeated }
}

fn watched<T>(once: &mut impl FnMut() -> Result<T, String>) -> (Result<T, String>, Option<f64>) {
    // Own time first, both times: the readings of the machine then fall between those of what is ours.
    let (own_before, before) = (own(), MachineTime::now());
    let outcome = once();
    let (own_after, after) = (own(), MachineTime::now());
    let share = || {
        let used = own_after?.saturating_sub(own_before?);
        Some(after.ok()?.strangers_since(&before.ok()?, used))
    };
    (outcome, share())
}

/// What this process and those of its children that are over have used.
fn own() -> Option<Duration> {
    let used = |who| {
        let usage = getrusage(who).ok()?;
        let micros = (usage.user_time() + usage.system_time()).num_microseconds();
        Some(Duration::from_micros(u64::try_from(micros).ok()?))
    };
    Some(used(UsageWho::RUSAGE_CHILDREN)? + used(UsageWho::RUSAGE_SELF)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of which each is a number and what strangers took meanwhile, with so many repetitions at most.
    fn check(repetitions: usize, runs: &[(Result<u32, String>, Option<f64>)]) -> WatchedRun<u32> {
        let mut runs = runs.iter().cloned();
        quietest(repetitions, || true, || runs.next().expect("no run more than that"))
    }

    #[test]
    fn a_quiet_run_is_not_repeated() {
        let run = check(5, &[(Ok(1), Some(STRANGERS_MAX))]);
        assert_eq!((run.outcome, run.strangers, run.repeated), (Ok(1), Some(STRANGERS_MAX), 0));
        // Nor is one of which nobody knows.
        assert_eq!(check(5, &[(Ok(1), None)]).repeated, 0);
    }

    #[test]
    fn a_run_beside_strangers_is_repeated_until_one_is_quiet() {
        let run = check(5, &[(Ok(1), Some(0.5)), (Ok(2), Some(0.031)), (Ok(3), Some(0.0))]);
        assert_eq!((run.outcome, run.strangers, run.repeated), (Ok(3), Some(0.0), 2));
    }

    #[test]
    fn if_none_is_quiet_the_quietest_counts_and_is_noisy() {
        let run = check(2, &[(Ok(1), Some(0.5)), (Ok(2), Some(0.1)), (Ok(3), Some(0.9))]);
        assert_eq!((run.outcome, run.strangers, run.repeated), (Ok(2), Some(0.1), 2));
        assert!(is_noisy(run.strangers));
        let never = check(0, &[(Ok(1), Some(0.5))]);
        assert_eq!((never.strangers, never.repeated), (Some(0.5), 0));
    }

    #[test]
    fn a_failure_counts_at_once() {
        let failed = || Err("no stacks".to_owned());
        assert_eq!(check(5, &[(failed(), Some(0.5))]).outcome, failed());
        let later = check(5, &[(Ok(1), Some(0.5)), (failed(), Some(0.9))]);
        assert_eq!((later.outcome, later.repeated), (failed(), 1));
    }

    #[test]
    fn nothing_is_repeated_when_the_time_is_up() {
        let run = quietest(5, || false, || (Ok(1), Some(0.5)));
        assert_eq!((run.outcome, run.repeated), (Ok(1), 0));
    }

    #[test]
    fn a_real_run_is_watched() {
        let run = run(0, || Ok(std::hint::black_box(raddle_measure::work::burn(1, 1_000_000))));
        assert!(run.outcome.is_ok() && run.strangers.is_some_and(|share| share >= 0.0), "{run:?}");
    }
}
