//! Owns: tokio tasks that only yield.
//! May use: tokio.
//! Never: a task that blocks its thread.

use std::process::ExitCode;

use raddle_measure::{Job, Sample, program};
use tokio::task::yield_now;

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (processes, rounds, plan) = (job.number("processes")?, job.number("rounds")?, job.plan);
    bench_tokio::run(job.workers, async move {
        plan.time_async(processes * rounds, || yields(processes, rounds)).await
    })?
}

async fn yields(processes: u64, rounds: u64) -> u64 {
    let task = || async move {
        let mut count = 0;
        for _ in 0..rounds {
            yield_now().await;
            count += 1;
        }
        count
    };
    let tasks: Vec<_> = (0..processes).map(|_| tokio::spawn(task())).collect();
    let mut sum = 0;
    for task in tasks {
        sum += task.await.expect("a task does not panic");
    }
    sum
}
