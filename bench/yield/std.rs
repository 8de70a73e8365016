//! Owns: OS threads that only yield.
//! May use: `std::thread`.
//! Never: a pool.

use std::process::ExitCode;
use std::thread;

use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (processes, rounds) = (job.number("processes")?, job.number("rounds")?);
    bench_common::cores::use_first(job.workers)?;
    job.plan.time(processes * rounds, || {
        let body = move || {
            (0..rounds).for_each(|_| thread::yield_now());
            rounds
        };
        let threads: Vec<_> = (0..processes).map(|_| thread::spawn(body)).collect();
        threads.into_iter().map(|thread| thread.join().expect("it does not panic")).sum()
    })
}
