//! Owns: from wake to run in tokio while its workers are full.
//! May use: tokio.
//! Never: a task that blocks its thread.

use std::process::ExitCode;

use std::sync::Arc;

use bench_common::latency::{LOAD_A_WORKER, Probe};
use raddle_measure::work::burn;
use raddle_measure::{Job, Sample, program};
use tokio::sync::Notify;
use tokio::task::yield_now;

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (wakes, steps, load) = (job.number("wakes")?, job.number("steps")?, LOAD_A_WORKER * job.workers);
    let runtime = bench_tokio::runtime(job.workers)?;
    job.plan.repeat(|| {
        let main = runtime.spawn(measure(wakes, steps, load));
        runtime.block_on(main).map_err(|e| e.to_string())?
    })
}

async fn measure(wakes: u64, steps: u64, load: usize) -> Result<Sample, String> {
    let shared = Arc::new((Probe::default(), Notify::new()));
    let task = |index: usize, shared: Arc<(Probe, Notify)>| async move {
        while !shared.0.is_over() {
            if index == 0 && shared.0.must_wake() {
                shared.1.notify_one();
            }
            std::hint::black_box(burn(1, steps));
            yield_now().await;
        }
    };
    let tasks: Vec<_> = (0..load).map(|index| tokio::spawn(task(index, Arc::clone(&shared)))).collect();
    let mut figures = Vec::with_capacity(wakes as usize);
    for _ in 0..wakes {
        shared.0.waits();
        loop {
            shared.1.notified().await;
            if let Some(elapsed_ns) = shared.0.called() {
                figures.push(elapsed_ns);
                break;
            }
        }
    }
    let sample = shared.0.finish(&figures);
    for task in tasks {
        task.await.map_err(|e| e.to_string())?;
    }
    sample
}
