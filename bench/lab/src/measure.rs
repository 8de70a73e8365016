//! Owns: the rounds of a session, its progress, and the estimate of the remaining time.
//! May use: programs and cells of `bench-runner`.
//! Never: standard output; progress goes to standard error.
//!
//! A round runs every cell of every experiment once: so drift affects all experiments alike, the remaining time can be
//! estimated for all of them, and Ctrl-C at any time leaves each with as many rounds as the others. A runtime whose
//! program does not build here is left out with the reason; a cell with a wrong checksum fails and has no time. After
//! its part of a round, a run is passed to the caller, who saves it: Ctrl-C loses at most the running program.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, stderr};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bench_runner::cell;
use bench_runner::programs::{self, BuildResult, progress};
use bench_runner::report::commit;
use bench_runner::session::is_set;
use raddle_measure::machine;
use raddle_measure::rounds::order;

use crate::experiment::{Experiment, Settings, Size, Spec};
use crate::run::{Cell, Run};

/// A cell with the program that it runs.
struct CellJob {
    spec: Spec,
    path: PathBuf,
    cell: cell::Cell,
    /// How long it took last time, in seconds.
    took: Option<f64>,
}

/// An experiment with its run so far.
struct ExperimentRun<'a> {
    experiment: &'a Experiment,
    run: Run,
    jobs: Vec<CellJob>,
}

/// Saves a run after its part of a round.
pub type Keep<'a> = &'a mut dyn FnMut(&Run) -> Result<(), String>;

/// Measures the experiments and returns their runs, in order, without those of which nothing was measured. No round is
/// started that would end after the given minutes.
///
/// # Errors
/// Those of `keep`.
pub fn measure<'a>(
    experiments: &[&'a Experiment],
    settings: &Settings,
    (rounds, minutes): (usize, Option<f64>),
    stopped: &AtomicBool,
    keep: Keep<'_>,
) -> Result<Vec<(&'a Experiment, Run)>, String> {
    let group = |experiment: &&'a Experiment| {
        let mut run = empty(experiment, settings.size);
        let jobs = jobs(experiment, settings, &mut run, stopped);
        ExperimentRun { experiment, run, jobs }
    };
    let all: BTreeSet<(&str, &str)> = experiments
        .iter()
        .flat_map(|experiment| (experiment.cells)(settings))
        .filter(|spec| settings.wants(spec.runtime))
        .map(|spec| (spec.program, spec.runtime))
        .collect();
    programs::prepare(&Vec::from_iter(all));
    let mut groups: Vec<ExperimentRun<'_>> = experiments.iter().map(group).collect();
    if groups.iter().all(|group| group.jobs.is_empty()) {
        return Ok(Vec::new());
    }
    let begun = Instant::now();
    for round in 0..rounds {
        let end_s = begun.elapsed().as_secs_f64() + round_s(&groups, round);
        if round > 0 && minutes.is_some_and(|minutes| end_s > 60.0 * minutes) {
            break;
        }
        for at in 0..groups.len() {
            part(&mut groups, at, (round, rounds), settings.size, stopped);
            let group = &mut groups[at];
            if group.run.rounds() > 0 {
                keep(&group.run)?;
            }
        }
        if is_set(stopped) {
            break;
        }
        say_round(&groups, round, rounds);
    }
    progress("");
    let runs = groups.into_iter().map(|group| (group.experiment, group.run));
    Ok(runs.filter(|(_, run)| run.rounds() > 0).collect())
}

/// One experiment's part of a round.
fn part(
    groups: &mut [ExperimentRun<'_>],
    at: usize,
    (round, rounds): (usize, usize),
    size: Size,
    stopped: &AtomicBool,
) {
    for (done, index) in order(groups[at].jobs.len(), round).enumerate() {
        if is_set(stopped) {
            break;
        }
        let ExperimentRun { experiment, jobs, .. } = &groups[at];
        let spec = &jobs[index].spec;
        let place = format!("{} {}/{rounds}, {}/{}", experiment.name, round + 1, done + 1, jobs.len());
        let left = left(&times(groups, round, rounds))
            .map_or_else(String::new, |s| format!(", {} left", duration(s)));
        progress(&format!("{place}{left}: {} {} {}", spec.runtime, spec.workers, spec.params));
        let wanted = spec.runs_in(round);
        step(&mut groups[at].jobs[index], wanted, size == Size::Quick, stopped);
    }
    let group = &mut groups[at];
    group.run.complete = round + 1 == rounds && !is_set(stopped);
    group.run.cells = cells(&group.jobs);
}

/// An empty run.
pub fn empty(experiment: &Experiment, size: Size) -> Run {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    Run {
        experiment: experiment.name.into(),
        machine: machine::describe(),
        commit: commit(),
        command: format!("raddle lab {}", arguments.join(" ")),
        begun: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        size: size.name().into(),
        complete: false,
        absent: Vec::new(),
        notes: Vec::new(),
        cells: Vec::new(),
    }
}

/// Builds what the cells need.
fn jobs(experiment: &Experiment, settings: &Settings, run: &mut Run, stopped: &AtomicBool) -> Vec<CellJob> {
    let mut built: Vec<(&str, &str, Option<PathBuf>)> = Vec::new();
    let mut jobs = Vec::new();
    for spec in (experiment.cells)(settings).into_iter().filter(|spec| settings.wants(spec.runtime)) {
        let key = (spec.program, spec.runtime);
        if !built.iter().any(|(program, runtime, _)| (*program, *runtime) == key) && !is_set(stopped) {
            let path = match programs::build(spec.program, spec.runtime) {
                BuildResult::Ready(path) => Some(path),
                // Ctrl-C also reaches the compiler.
                _ if is_set(stopped) => None,
                BuildResult::Missing(why) | BuildResult::Failed(why) => {
                    run.absent.push((format!("{} ({})", spec.runtime, spec.program), why));
                    None
                }
            };
            built.push((spec.program, spec.runtime, path));
        }
        let path = built.iter().find(|(p, r, _)| (*p, *r) == key).and_then(|(_, _, path)| path.clone());
        if let Some(path) = path {
            let cell = cell::Cell::new(spec.runtime, spec.workers, spec.params.clone());
            jobs.push(CellJob { spec, path, cell, took: None });
        }
    }
    jobs
}

/// Runs a cell once, if it is its turn; its number of rounds stays equal to that of the others.
fn step(job: &mut CellJob, wanted: bool, quick: bool, stopped: &AtomicBool) {
    if job.cell.failure.is_some() {
        return;
    }
    if !wanted {
        job.cell.rounds.push(None);
        return;
    }
    let begun = Instant::now();
    job.cell.run(job.spec.samples, job.spec.checksum, Command::new(&job.path), quick);
    job.took = Some(begun.elapsed().as_secs_f64());
    if is_set(stopped) && job.cell.failure.take().is_some() {
        // Ctrl-C reaches the process group: this program was cut short by it, not by a fault.
        job.cell.rounds.pop();
    }
}

/// For each cell, how long it took, and how many runs are left.
fn times(groups: &[ExperimentRun<'_>], round: usize, rounds: usize) -> Vec<(Option<f64>, usize)> {
    let of = |job: &CellJob| {
        let next = job.cell.rounds.len().max(round);
        let later = (next..rounds).filter(|round| job.spec.runs_in(*round)).count();
        (job.took, if job.cell.failure.is_some() { 0 } else { later })
    };
    groups.iter().flat_map(|group| group.jobs.iter().map(of)).collect()
}

/// The estimated seconds of a round.
fn round_s(groups: &[ExperimentRun<'_>], round: usize) -> f64 {
    let jobs = groups.iter().flat_map(|group| &group.jobs);
    jobs.filter(|job| job.spec.runs_in(round)).filter_map(|job| job.took).sum()
}

/// The estimated seconds of the rest: each cell takes as long as last time, an unknown one as long as the mean.
fn left(times: &[(Option<f64>, usize)]) -> Option<f64> {
    let known: Vec<f64> = times.iter().filter_map(|(took, _)| *took).collect();
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let all = times.iter().map(|(took, later)| took.unwrap_or(mean) * *later as f64).sum();
    (!known.is_empty()).then_some(all)
}

/// Prints one line per round if standard error is not a terminal.
fn say_round(groups: &[ExperimentRun<'_>], round: usize, rounds: usize) {
    if stderr().is_terminal() {
        return;
    }
    let left = left(&times(groups, round + 1, rounds)).unwrap_or(0.0);
    eprintln!("round {} of {rounds} is done, about {} left", round + 1, duration(left));
}

/// Formats a duration.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

fn cells(jobs: &[CellJob]) -> Vec<Cell> {
    let cell = |job: &CellJob| Cell {
        bench: job.spec.bench.into(),
        runtime: job.spec.runtime.into(),
        workers: job.spec.workers,
        params: job.spec.params.clone(),
        unit: job.spec.unit.into(),
        rounds: job.cell.rounds.clone(),
        failure: job.cell.failure.clone(),
    };
    jobs.iter().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_what_it_took() {
        assert_eq!(left(&[(None, 3), (None, 3)]), None);
        // The first took 2 s, so will the second in its three rounds, and the first in two more.
        assert_eq!(left(&[(Some(2.0), 2), (None, 3)]), Some(10.0));
        assert_eq!(left(&[(Some(2.0), 0), (Some(4.0), 1)]), Some(4.0));
        assert_eq!([30.0, 600.0, 9000.0].map(duration), ["30 s", "10 min", "2.5 h"]);
    }

    #[test]
    fn what_is_only_looked_at_runs_in_some_rounds_and_at_least_in_one() {
        let in_all = |every: usize, rounds: usize| {
            let spec = Spec { every, ..Spec::new("b", "r", 1, String::new(), 0) };
            (0..rounds).filter(|round| spec.runs_in(*round)).count()
        };
        assert_eq!([in_all(1, 15), in_all(5, 15), in_all(5, 3), in_all(5, 1)], [15, 3, 1, 1]);
    }
}
