//! Owns: the rounds of an experiment, how far they are, and how long the rest takes.
//! May use: programs and cells of `bench-runner`.
//! Never: standard output; progress goes to standard error.
//!
//! A runtime whose program does not build here is left out with the reason; a cell whose checksum is wrong fails and
//! has no time. After each round the run is handed to the caller, who saves it: Ctrl-C loses at most the round it is
//! in.

use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bench_runner::cell;
use bench_runner::programs::{self, Program, progress};
use bench_runner::report::commit;
use bench_runner::session::is_set;
use raddle_measure::machine;
use raddle_measure::rounds::order;

use crate::experiment::{Experiment, Settings, Size, Spec};
use crate::run::{Cell, Run};

/// A cell with the program that it runs.
struct Job {
    spec: Spec,
    path: std::path::PathBuf,
    cell: cell::Cell,
    /// How long it took last time, in seconds.
    took: Option<f64>,
}

/// Measures `experiment` and returns the run; `keep` gets it after each round.
pub fn measure(
    experiment: &Experiment,
    settings: &Settings,
    rounds: usize,
    stopped: &AtomicBool,
    keep: &mut dyn FnMut(&Run),
) -> Run {
    let mut run = empty(experiment, settings);
    let mut jobs = jobs(experiment, settings, &mut run, stopped);
    for round in 0..rounds {
        for (done, index) in order(jobs.len(), round).enumerate() {
            if is_set(stopped) {
                progress("");
                run.cells = cells(&jobs);
                return run;
            }
            tell(experiment, &jobs, (round, rounds), done, index);
            step(&mut jobs[index], settings.size == Size::Quick, stopped);
        }
        run.complete = round + 1 == rounds;
        run.cells = cells(&jobs);
        keep(&run);
    }
    progress("");
    run
}

fn empty(experiment: &Experiment, settings: &Settings) -> Run {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    Run {
        experiment: experiment.name.into(),
        machine: machine::describe(),
        commit: commit(),
        command: format!("raddle lab {}", arguments.join(" ")),
        begun: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        size: settings.size.name().into(),
        complete: false,
        absent: Vec::new(),
        cells: Vec::new(),
    }
}

/// Builds what the cells need.
fn jobs(experiment: &Experiment, settings: &Settings, run: &mut Run, stopped: &AtomicBool) -> Vec<Job> {
    let mut built: Vec<(&str, &str, Option<std::path::PathBuf>)> = Vec::new();
    let mut jobs = Vec::new();
    let wanted =
        |spec: &Spec| settings.runtimes.is_empty() || settings.runtimes.iter().any(|r| r == spec.runtime);
    for spec in (experiment.cells)(settings).into_iter().filter(wanted) {
        let key = (spec.program, spec.runtime);
        if !built.iter().any(|(program, runtime, _)| (*program, *runtime) == key) && !is_set(stopped) {
            let path = match programs::build(spec.program, spec.runtime) {
                Program::Ready(path) => Some(path),
                Program::Missing(why) | Program::Failed(why) => {
                    run.absent.push((format!("{} ({})", spec.runtime, spec.program), why));
                    None
                }
            };
            built.push((spec.program, spec.runtime, path));
        }
        let path = built.iter().find(|(p, r, _)| (*p, *r) == key).and_then(|(_, _, path)| path.clone());
        if let Some(path) = path {
            let cell = cell::Cell::new(spec.runtime, spec.workers, spec.params.clone());
            jobs.push(Job { spec, path, cell, took: None });
        }
    }
    jobs
}

fn step(job: &mut Job, quick: bool, stopped: &AtomicBool) {
    if job.cell.failure.is_some() {
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

fn tell(experiment: &Experiment, jobs: &[Job], (round, rounds): (usize, usize), done: usize, index: usize) {
    let spec = &jobs[index].spec;
    let left = left(&jobs.iter().map(|job| job.took).collect::<Vec<_>>(), round, rounds, done);
    let place = format!("{} {}/{rounds}, {}/{}", experiment.name, round + 1, done + 1, jobs.len());
    let left = left.map_or(String::new(), |seconds| format!(", {} left", duration(seconds)));
    progress(&format!("{place}{left}: {} {} {}", spec.runtime, spec.workers, spec.params));
}

/// Seconds that the rest takes, if each cell takes as long as last time, and an unknown one as long as the mean.
fn left(took: &[Option<f64>], round: usize, rounds: usize, done: usize) -> Option<f64> {
    let known: Vec<f64> = took.iter().flatten().copied().collect();
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let each = |time: &Option<f64>| time.unwrap_or(mean);
    let rest: f64 = order(took.len(), round).skip(done).map(|index| each(&took[index])).sum();
    let later: f64 = took.iter().map(each).sum::<f64>() * (rounds - round - 1) as f64;
    (!known.is_empty()).then_some(rest + later)
}

/// A duration for people.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

fn cells(jobs: &[Job]) -> Vec<Cell> {
    let cell = |job: &Job| Cell {
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
        assert_eq!(left(&[None, None], 0, 3, 0), None);
        // The first took 2 s; so will the second, and both twice again.
        assert_eq!(left(&[Some(2.0), None], 0, 3, 1), Some(10.0));
        assert_eq!(left(&[Some(2.0), Some(4.0)], 2, 3, 1), Some(4.0));
        assert_eq!([30.0, 600.0, 9000.0].map(duration), ["30 s", "10 min", "2.5 h"]);
    }
}
