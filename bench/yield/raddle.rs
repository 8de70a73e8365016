//! Owns: light processes that only yield.
//! May use: raddle.
//! Never: a setting beside the number of workers.

use std::process::ExitCode;

use bench_raddle::{joined, runtime};
use raddle::csp;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (processes, rounds, plan) = (job.number("processes")?, job.number("rounds")?, job.plan);
    runtime(job.workers)?.run(move || plan.time(processes * rounds, || yields(processes, rounds)))
}

fn yields(processes: u64, rounds: u64) -> u64 {
    let process = move || {
        (0..rounds).for_each(|_| csp::yield_now());
        rounds
    };
    let handles: Vec<_> = (0..processes).map(|_| csp::spawn(process)).collect();
    handles.into_iter().map(joined).sum()
}
