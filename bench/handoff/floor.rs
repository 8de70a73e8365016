//! Owns: the floor of a hand-off: two coroutines, each naming the other as the next to run.
//! May use: corosensei.
//! Never: a queue, an atomic, another thread.

use std::process::ExitCode;

use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let rounds = job.number("rounds")?;
    let mut stacks = bench_floor::stacks(2)?;
    job.plan.time(2 * rounds, || bench_floor::ring(&mut stacks, rounds))
}
