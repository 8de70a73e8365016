//! Owns: a batch of jobs that return at once: in a scope, since rayon has no handle to wait for one job by, or spawned.
//! May use: rayon.
//! Never: a setting other than the number of threads.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bench_common::batch::Batch;
use raddle_measure::work::burn;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (count, batch) = (job.number("count")?, job.number("batch")?);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(job.workers).build().map_err(|e| e.to_string())?;
    if job.text("kind")? == "spawn" {
        return pool.install(|| as_spawned(job, count, batch));
    }
    let values: Vec<AtomicU64> = (0..batch).map(|_| AtomicU64::new(0)).collect();
    pool.install(|| {
        job.plan.time(count, || {
            let mut sum = 0;
            for first in (0..count).step_by(batch as usize) {
                rayon::scope(|s| {
                    for (value, index) in values.iter().zip(first..) {
                        s.spawn(move |_| value.store(black_box(index), Ordering::Relaxed));
                    }
                });
                sum += values.iter().map(|value| value.load(Ordering::Relaxed)).sum::<u64>();
            }
            sum
        })
    })
}

/// Jobs outside of any scope, of so many steps each: who waits for them runs what is left in his own queue meanwhile.
fn as_spawned(job: &Job, count: u64, batch: u64) -> Result<Vec<Sample>, String> {
    let (shared, steps) = (Arc::new(Batch::new(batch)), job.number("steps").unwrap_or(0));
    job.plan.time(count, || {
        let mut sum = 0;
        for first in (0..count).step_by(batch as usize) {
            shared.begin();
            for place in 0..batch {
                let shared = Arc::clone(&shared);
                rayon::spawn(move || {
                    black_box(burn(place, steps));
                    shared.leave(place, black_box(first + place));
                });
            }
            while !shared.is_over() {
                rayon::yield_now();
            }
            sum += shared.sum();
        }
        sum
    })
}
