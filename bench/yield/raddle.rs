//! Owns: light processes, or threads, that only yield.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::process::ExitCode;

use bench_raddle::{ProcessKind, joined};
use raddle::csp;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (processes, rounds, plan) = (job.number("processes")?, job.number("rounds")?, job.plan);
    let kind = ProcessKind::of(job);
    kind.runtime(job.workers)?.run(move || plan.time(processes * rounds, || yields(kind, processes, rounds)))
}

fn yields(kind: ProcessKind, processes: u64, rounds: u64) -> u64 {
    let process = move || {
        (0..rounds).for_each(|_| csp::yield_now());
        rounds
    };
    let handles: Vec<_> = (0..processes).map(|_| kind.spawn(process)).collect();
    handles.into_iter().map(joined).sum()
}
