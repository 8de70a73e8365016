//! Owns: may's coroutines that only yield.
//! May use: may.
//! Never: thread-local state.

use std::process::ExitCode;

use may::coroutine::yield_now;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (processes, rounds, plan) = (job.number("processes")?, job.number("rounds")?, job.plan);
    bench_may::run(job.workers, move || plan.time(processes * rounds, || yields(processes, rounds)))?
}

fn yields(processes: u64, rounds: u64) -> u64 {
    let coroutine = move || {
        (0..rounds).for_each(|_| yield_now());
        rounds
    };
    let coroutines: Vec<_> = (0..processes).map(|_| bench_may::start(coroutine)).collect();
    coroutines.into_iter().map(|coroutine| coroutine.join().expect("it does not panic")).sum()
}
