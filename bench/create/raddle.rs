//! Owns: create and join of light processes, or of threads.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::process::ExitCode;

use bench_raddle::{ProcessKind, joined, runtime};
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (count, batch, plan) = (job.number("count")?, job.number("batch")?, job.plan);
    let kind = ProcessKind::of(job);
    runtime(job.workers)?.run(move || {
        let mut children = Vec::with_capacity(batch as usize);
        plan.time(count, || {
            let mut sum = 0;
            for first in (0..count).step_by(batch as usize) {
                children.extend((first..first + batch).map(|index| kind.spawn(move || index)));
                sum += children.drain(..).map(joined).sum::<u64>();
            }
            sum
        })
    })
}
