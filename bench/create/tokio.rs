//! Owns: create and join of tokio tasks.
//! May use: tokio.
//! Never: a task that blocks its thread.

use std::process::ExitCode;

use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (count, batch, plan) = (job.number("count")?, job.number("batch")?, job.plan);
    bench_tokio::run(
        job.workers,
        async move { plan.time_async(count, || create_and_join(count, batch)).await },
    )?
}

async fn create_and_join(count: u64, batch: u64) -> u64 {
    let mut tasks = Vec::with_capacity(batch as usize);
    let mut sum = 0;
    for first in (0..count).step_by(batch as usize) {
        tasks.extend((first..first + batch).map(|index| tokio::spawn(async move { index })));
        for task in tasks.drain(..) {
            sum += task.await.expect("a task does not panic");
        }
    }
    sum
}
