//! Owns: may's coroutines in a ring that pass one token by park and unpark.
//! May use: may.
//! Never: thread-local state.

use std::process::ExitCode;

use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (processes, rounds, plan) = (job.number("processes")?, job.number("rounds")?, job.plan);
    bench_may::run(job.workers, move || {
        plan.time(processes * rounds, || bench_may::ring(processes as usize, rounds))
    })?
}
