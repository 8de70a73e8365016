//! Owns: rayon's nearest equivalent of create and join: a scope with one spawned job, or with many.
//! May use: rayon.
//! Never: a job that could block; rayon has none.

use std::process::ExitCode;

use raddle_measure::{Job, Sample, program};
use rayon::ThreadPoolBuilder;

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (count, batch, plan) = (job.number("count")?, job.number("batch")?, job.plan);
    let pool = ThreadPoolBuilder::new().num_threads(job.workers).build().map_err(|e| e.to_string())?;
    pool.install(|| {
        let mut results = vec![0; batch as usize];
        plan.time(count, || (0..count).step_by(batch as usize).map(|first| scope(first, &mut results)).sum())
    })
}

fn scope(first: u64, results: &mut [u64]) -> u64 {
    rayon::scope(|scope| {
        for (index, result) in (first..).zip(results.iter_mut()) {
            scope.spawn(move |_| *result = index);
        }
    });
    results.iter().sum()
}
