//! Owns: batches of tasks that return at once, spawned by a task and awaited in order.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::hint::black_box;
use std::process::ExitCode;

use bench_raddle::runtime;
use raddle::task;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (count, batch, plan) = (job.number("count")?, job.number("batch")?, job.plan);
    let main = async move { plan.time_async(count, || batches(count, batch)).await };
    runtime(job.workers)?
        .run(move || task::block_on(async { task::spawn(main).await.map_err(|e| e.to_string())? }))
}

async fn batches(count: u64, batch: u64) -> u64 {
    let (mut made, mut sum) = (Vec::with_capacity(batch as usize), 0);
    for first in (0..count).step_by(batch as usize) {
        made.extend((first..first + batch).map(|index| task::spawn(async move { black_box(index) })));
        for task in made.drain(..) {
            sum += task.await.expect("a task does not panic");
        }
    }
    sum
}
