//! Owns: tokio tasks in a ring that pass one token by notifying.
//! May use: tokio.
//! Never: a task that blocks its thread.

use std::process::ExitCode;

use std::sync::Arc;

use raddle_measure::{Job, Sample, program};
use tokio::sync::Notify;

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (processes, rounds, plan) = (job.number("processes")?, job.number("rounds")?, job.plan);
    bench_tokio::run(job.workers, async move {
        plan.time_async(processes * rounds, || ring(processes as usize, rounds)).await
    })?
}

async fn ring(processes: usize, rounds: u64) -> u64 {
    let turns: Arc<Vec<Notify>> = Arc::new((0..processes).map(|_| Notify::new()).collect());
    let task = |place: usize, turns: Arc<Vec<Notify>>| async move {
        let mut count = 0;
        for _ in 0..rounds {
            turns[place].notified().await;
            count += 1;
            turns[(place + 1) % processes].notify_one();
        }
        count
    };
    let tasks: Vec<_> = (0..processes).map(|place| tokio::spawn(task(place, Arc::clone(&turns)))).collect();
    turns[0].notify_one();
    let mut sum = 0;
    for task in tasks {
        sum += task.await.expect("a task does not panic");
    }
    sum
}
