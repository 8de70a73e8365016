//! Owns: calls from an OS thread into the runtime: a task on a worker for each, whose answer the thread waits for.
//! May use: tokio.
//! Never: `block_on` alone, which would run the future on the calling thread.

use std::hint::black_box;
use std::process::ExitCode;

use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let calls = job.number("calls")?;
    let runtime = bench_tokio::runtime(job.workers)?;
    let call = |call| {
        let task = runtime.spawn(async move { black_box(call) });
        runtime.block_on(task).expect("a task does not panic")
    };
    job.plan.time(calls, || (0..calls).map(call).sum())
}
