//! Owns: batches of tasks that return at once, spawned by a task and awaited in order.
//! May use: smol's executor.
//! Never: a task that blocks its thread.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;

use async_executor::Executor;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (count, batch, plan) = (job.number("count")?, job.number("batch")?, job.plan);
    bench_smol::run(job.workers, |executor| async move {
        plan.time_async(count, || batches(Arc::clone(&executor), count, batch)).await
    })
}

async fn batches(executor: Arc<Executor<'static>>, count: u64, batch: u64) -> u64 {
    let (mut made, mut sum) = (Vec::with_capacity(batch as usize), 0);
    for first in (0..count).step_by(batch as usize) {
        made.extend((first..first + batch).map(|index| executor.spawn(async move { black_box(index) })));
        for task in made.drain(..) {
            sum += task.await;
        }
    }
    sum
}
