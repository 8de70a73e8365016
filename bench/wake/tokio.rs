//! Owns: wake of tokio's only worker, asleep, by an OS thread.
//! May use: tokio.
//! Never: a task that blocks its thread.

use std::process::ExitCode;

use std::sync::Arc;

use bench_common::cores;
use bench_common::wake::{FutexSleeper, Meter, compare};
use raddle_measure::{Job, Sample, machine, program};
use tokio::sync::Notify;

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let wakes = job.number("wakes")?;
    cores::pin(1)?;
    let runtime = bench_tokio::runtime(1)?;
    let worker = runtime.block_on(async { tokio::spawn(async { machine::thread_id() }).await });
    let worker = worker.map_err(|e| e.to_string())??;
    let bare = FutexSleeper::start(Some(1))?;
    cores::pin(0)?;
    let shared = Arc::new((Meter::default(), Notify::new()));
    let theirs = Arc::clone(&shared);
    runtime.spawn(async move {
        loop {
            theirs.1.notified().await;
            theirs.0.ran();
        }
    });
    job.plan.repeat(|| compare(&shared.0, wakes, worker, || shared.1.notify_one(), &bare))
}
