//! Owns: a batch of jobs that return at once: rayon's scope, since it has no handle to wait for one job by.
//! May use: rayon.
//! Never: a setting other than the number of threads.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (count, batch) = (job.number("count")?, job.number("batch")?);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(job.workers).build().map_err(|e| e.to_string())?;
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
