//! Owns: fib by join, without a cut-off, on Raddle.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::hint::black_box;
use std::process::ExitCode;

use bench_raddle::runtime;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = raddle::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (n, forks, plan) = (job.number("n")?, job.number("forks")?, job.plan);
    runtime(job.workers)?.run(move || plan.time(forks, || fib(black_box(n))))
}
