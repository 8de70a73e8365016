//! Owns: fib by plain calls: the floor of a join.
//! May use: nothing.
//! Never: another thread.

use std::hint::black_box;
use std::process::ExitCode;

use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn fib(n: u64) -> u64 {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (n, forks) = (job.number("n")?, job.number("forks")?);
    job.plan.time(forks, || fib(black_box(n)))
}
