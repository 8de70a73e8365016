//! Owns: tokio tasks that are all alive and blocked at once.
//! May use: tokio.
//! Never: a guarded stack; a task has none.

use std::process::ExitCode;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use raddle_measure::machine::Memory;
use raddle_measure::{Job, Sample, program};
use tokio::sync::Semaphore;
use tokio::task::yield_now;

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let count = job.number("count")?;
    // One sample and no warm-up: memory that was used before would be used again.
    Ok(vec![bench_tokio::run(job.workers, alive(count))??])
}

async fn alive(count: u64) -> Result<Sample, String> {
    let (blocked, release) = (Arc::new(AtomicU64::new(0)), Arc::new(Semaphore::new(0)));
    let mut tasks = Vec::with_capacity(count as usize);
    let (before, start) = (Memory::now()?, Instant::now());
    for index in 0..count {
        let (blocked, release) = (Arc::clone(&blocked), Arc::clone(&release));
        tasks.push(tokio::spawn(async move {
            blocked.fetch_add(1, Ordering::Relaxed);
            // Released by closing, which answers with an error.
            let _ = release.acquire().await;
            index
        }));
    }
    while blocked.load(Ordering::Relaxed) < count {
        yield_now().await;
    }
    let create_ns = start.elapsed().as_nanos() as f64 / count as f64;
    let (after, start) = (Memory::now()?, Instant::now());
    release.close();
    let mut sum = 0;
    for task in tasks {
        sum += task.await.map_err(|e| e.to_string())?;
    }
    let join_ns = start.elapsed().as_nanos() as f64 / count as f64;
    let each = |after: u64, before: u64| after.saturating_sub(before) as f64 / count as f64;
    let sample = Sample::new(create_ns + join_ns, sum).with("create_ns", create_ns).with("join_ns", join_ns);
    let sample = sample.with("resident_bytes", each(after.resident, before.resident));
    Ok(sample.with("page_table_bytes", each(after.page_tables, before.page_tables)))
}
