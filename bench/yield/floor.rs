//! Owns: the floor of a yield: coroutines resumed in turn by a bare loop.
//! May use: corosensei.
//! Never: a queue, an atomic, another thread.

use std::process::ExitCode;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (processes, rounds) = (job.number("processes")?, job.number("rounds")?);
    let mut stacks = bench_floor::stacks(processes)?;
    job.plan.time(processes * rounds, || yields(&mut stacks, rounds))
}

fn yields(stacks: &mut Vec<DefaultStack>, rounds: u64) -> u64 {
    let start = |stack| {
        Coroutine::with_stack(stack, move |yielder, ()| {
            (0..rounds).for_each(|_| yielder.suspend(()));
            rounds
        })
    };
    let mut coroutines: Vec<Coroutine<(), (), u64, DefaultStack>> = stacks.drain(..).map(start).collect();
    let mut sum = 0;
    while sum == 0 {
        for coroutine in &mut coroutines {
            if let CoroutineResult::Return(done) = coroutine.resume(()) {
                sum += done;
            }
        }
    }
    stacks.extend(coroutines.into_iter().map(Coroutine::into_stack));
    sum
}
