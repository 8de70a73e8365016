//! Owns: chili's nearest equivalent of create and join: a join of two closures, one of which is nearly empty.
//! May use: chili.
//! Never: a job that could block; chili has none.

use std::process::ExitCode;

use std::hint::black_box;
use std::num::NonZero;

use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let count = job.number("count")?;
    // The calling thread is one of the workers.
    let config = chili::Config { thread_count: NonZero::new(job.workers), ..chili::Config::default() };
    let pool = chili::ThreadPool::with_config(config);
    let mut scope = pool.scope();
    job.plan.time(count, || {
        let join = |index| scope.join(|_| black_box(0), |_| black_box(index));
        (0..count).map(join).map(|(none, index)| none + index).sum()
    })
}
