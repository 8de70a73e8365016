//! Owns: work that two cores can share, as tokio tasks.
//! May use: tokio.
//! Never: another thread.

use std::process::ExitCode;

use bench_common::independent::{WorkKind, sample};
use raddle_measure::work::burn;
use raddle_measure::{Job, Sample, program};
use tokio::task::{JoinHandle, yield_now};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (form, steps) = WorkKind::of(job)?;
    let workers = job.workers;
    let runtime = bench_tokio::runtime(workers)?;
    job.plan.repeat(|| Ok(sample(|| runtime.block_on(tokio_main(form, steps)))))
}

async fn tokio_main(form: WorkKind, steps: u64) -> u64 {
    let main = match form {
        WorkKind::MainAndOne => tokio::spawn(async move {
            let one = tokio::spawn(async move { burn(1, steps) });
            burn(0, steps).wrapping_add(joined(one).await)
        }),
        WorkKind::Spawned { count, slices } => tokio::spawn(spawned(count, slices, steps)),
    };
    joined(main).await
}

async fn spawned(count: u64, slices: u64, steps: u64) -> u64 {
    let task = |seed| async move {
        let mut x = seed;
        for slice in 0..slices {
            if slice > 0 {
                yield_now().await;
            }
            x = burn(x, steps);
        }
        x
    };
    let tasks: Vec<_> = (0..count).map(|seed| tokio::spawn(task(seed))).collect();
    let mut sum = 0_u64;
    for task in tasks {
        sum = sum.wrapping_add(joined(task).await);
    }
    sum
}

async fn joined(task: JoinHandle<u64>) -> u64 {
    task.await.expect("a task does not panic")
}
