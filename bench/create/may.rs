//! Owns: create and join of may's coroutines.
//! May use: may.
//! Never: thread-local state.

use std::process::ExitCode;

use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (count, batch, plan) = (job.number("count")?, job.number("batch")?, job.plan);
    bench_may::run(job.workers, move || {
        let mut children = Vec::with_capacity(batch as usize);
        plan.time(count, || {
            let mut sum = 0;
            for first in (0..count).step_by(batch as usize) {
                children.extend((first..first + batch).map(|index| bench_may::start(move || index)));
                sum += children.drain(..).map(|child| child.join().expect("it does not panic")).sum::<u64>();
            }
            sum
        })
    })?
}
