//! Owns: two tokio tasks that notify each other and wait.
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
    let (rounds, plan) = (job.number("rounds")?, job.plan);
    bench_tokio::run(job.workers, async move { plan.time_async(2 * rounds, || handoffs(rounds)).await })?
}

async fn handoffs(rounds: u64) -> u64 {
    let pair = Arc::new([Notify::new(), Notify::new()]);
    let task = |me: usize, pair: Arc<[Notify; 2]>| async move {
        let mut count = 0;
        for _ in 0..rounds {
            pair[1 - me].notify_one();
            pair[me].notified().await;
            count += 1;
        }
        // The other one may still wait for its last turn.
        pair[1 - me].notify_one();
        count
    };
    let other = tokio::spawn(task(1, Arc::clone(&pair)));
    task(0, pair).await + other.await.expect("a task does not panic")
}
