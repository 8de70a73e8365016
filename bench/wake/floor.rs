//! Owns: the floor of a wake: one OS thread wakes another through a futex, each pinned to its core.
//! May use: `bench_common::wake`.
//! Never: a runtime.

use std::process::ExitCode;

use bench_common::cores;
use bench_common::wake::{FutexSleeper, summary};
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let wakes = job.number("wakes")?;
    let sleeper = FutexSleeper::start(Some(1))?;
    cores::pin(0)?;
    job.plan.repeat(|| {
        let series: Vec<f64> = (0..wakes).map(|_| sleeper.measure()).collect();
        summary(wakes, &series)
    })
}
