//! Owns: the floor of a chain of wakes: coroutines in a ring, each naming the next.
//! May use: corosensei.
//! Never: a queue, an atomic, another thread.

use std::process::ExitCode;

use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (processes, rounds) = (job.number("processes")?, job.number("rounds")?);
    let mut stacks = bench_floor::stacks(processes)?;
    job.plan.time(processes * rounds, || bench_floor::ring(&mut stacks, rounds))
}
