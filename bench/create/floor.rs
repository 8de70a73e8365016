//! Owns: the floor of create and join: a coroutine on a pooled stack, run to its end.
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
    let (count, batch) = (job.number("count")?, job.number("batch")?);
    let mut stacks = bench_floor::stacks(batch)?;
    let mut coroutines = Vec::with_capacity(stacks.len());
    job.plan.time(count, || {
        (0..count)
            .step_by(batch as usize)
            .map(|first| create_then_join(first, &mut stacks, &mut coroutines))
            .sum()
    })
}

type Child = Coroutine<(), (), u64, DefaultStack>;

fn create_then_join(first: u64, stacks: &mut Vec<DefaultStack>, children: &mut Vec<Child>) -> u64 {
    let start = |(stack, index)| Coroutine::with_stack(stack, move |_, ()| index);
    children.extend(stacks.drain(..).zip(first..).map(start));
    let join = |mut child: Child| match child.resume(()) {
        CoroutineResult::Return(index) => {
            stacks.push(child.into_stack());
            index
        }
        CoroutineResult::Yield(()) => unreachable!("a child does not yield"),
    };
    children.drain(..).map(join).sum()
}
