//! Owns: fib by join, without a cut-off, on rayon.
//! May use: rayon.
//! Never: a setting other than the number of threads.

use std::hint::black_box;
use std::process::ExitCode;

use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (n, forks) = (job.number("n")?, job.number("forks")?);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(job.workers).build().map_err(|e| e.to_string())?;
    pool.install(|| job.plan.time(forks, || fib(black_box(n))))
}
