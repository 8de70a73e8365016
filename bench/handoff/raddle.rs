//! Owns: two light processes that unpark each other and park.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::process::ExitCode;

use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (rounds, plan) = (job.number("rounds")?, job.plan);
    let runtime = bench_raddle::runtime(job.workers)?;
    runtime.run(move || plan.time(2 * rounds, || bench_raddle::ring(2, rounds)))
}
