//! Owns: independent light processes, all spawned by one, each with a known amount of work; cost per process.
//! May use: raddle.
//! Never: a setting other than the number of workers.
//!
//! What `raddle lab simulate` is validated with.

use std::process::ExitCode;

use bench_raddle::{joined, runtime};
use raddle::csp;
use raddle_measure::work::burn;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (count, steps, plan) = (job.number("count")?, job.number("steps")?, job.plan);
    runtime(job.workers)?.run(move || {
        let mut made = Vec::with_capacity(count as usize);
        plan.time(count, || {
            made.extend((0..count).map(|seed| csp::spawn(move || burn(seed, steps))));
            made.drain(..).map(joined).fold(0, u64::wrapping_add)
        })
    })
}
