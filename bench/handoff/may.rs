//! Owns: two of may's coroutines that unpark each other and park.
//! May use: may.
//! Never: thread-local state.

use std::process::ExitCode;

use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (rounds, plan) = (job.number("rounds")?, job.plan);
    bench_may::run(job.workers, move || plan.time(2 * rounds, || bench_may::ring(2, rounds)))?
}
