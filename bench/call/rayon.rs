//! Owns: calls from an OS thread into the pool, each of which waits for its answer.
//! May use: rayon.
//! Never: a setting other than the number of threads.

use std::hint::black_box;
use std::process::ExitCode;

use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let calls = job.number("calls")?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(job.workers).build().map_err(|e| e.to_string())?;
    job.plan.time(calls, || (0..calls).map(|call| pool.install(|| black_box(call))).sum())
}
