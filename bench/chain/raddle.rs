//! Owns: light processes in a ring that pass one token by park and unpark.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::process::ExitCode;

use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (processes, rounds, plan) = (job.number("processes")?, job.number("rounds")?, job.plan);
    let runtime = bench_raddle::runtime(job.workers)?;
    runtime.run(move || plan.time(processes * rounds, || bench_raddle::ring(processes as usize, rounds)))
}
