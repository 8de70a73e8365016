//! Owns: calls from an OS thread into the runtime, each of which waits for its answer.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::hint::black_box;
use std::process::ExitCode;

use bench_raddle::runtime;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let calls = job.number("calls")?;
    let runtime = runtime(job.workers)?;
    job.plan.time(calls, || (0..calls).map(|call| runtime.run(move || black_box(call))).sum())
}
