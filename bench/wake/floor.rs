//! Owns: the floor of a wake: one OS thread wakes another through a futex, each pinned to its core.
//! May use: `bench_common::wake`.
//! Never: a runtime.

use std::process::ExitCode;

use bench_common::cores;
use bench_common::wake::FutexSleeper;
use raddle_measure::stats::percentile;
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
        let at = |percent| percentile(&series, percent).ok_or("no wake was measured");
        let (p50, p99) = (at(50.0)?, at(99.0)?);
        Ok(Sample::new(p50, wakes).with("p99_ns", p99))
    })
}
