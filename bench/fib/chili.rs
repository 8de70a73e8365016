//! Owns: fib by join, without a cut-off, on chili.
//! May use: chili.
//! Never: a setting other than the number of threads; its own way of leaving out heartbeats is part of it.

use std::hint::black_box;
use std::num::NonZero;
use std::process::ExitCode;

use chili::Scope;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn fib(scope: &mut Scope<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = scope.join(|s| fib(s, n - 1), |s| fib(s, n - 2));
    a + b
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (n, forks) = (job.number("n")?, job.number("forks")?);
    // The calling thread is one of the workers.
    let config = chili::Config { thread_count: NonZero::new(job.workers), ..chili::Config::default() };
    let pool = chili::ThreadPool::with_config(config);
    let mut scope = pool.scope();
    job.plan.time(forks, || fib(&mut scope, black_box(n)))
}
