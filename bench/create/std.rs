//! Owns: create and join of OS threads.
//! May use: std::thread.
//! Never: a pool.

use std::process::ExitCode;

use std::thread;

use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (count, batch) = (job.number("count")?, job.number("batch")?);
    bench_common::cores::use_first(job.workers)?;
    let joined = |child: thread::JoinHandle<u64>| child.join().expect("a child does not panic");
    job.plan.time(count, || {
        let create = |first: u64| (first..first + batch).map(|index| thread::spawn(move || index));
        (0..count)
            .step_by(batch as usize)
            .flat_map(|first| create(first).collect::<Vec<_>>())
            .map(joined)
            .sum()
    })
}
