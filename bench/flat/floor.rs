//! Owns: a batch of boxed closures that are put aside and called: the floor of flat futures.
//! May use: nothing.
//! Never: another thread.

use std::hint::black_box;
use std::process::ExitCode;

use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (count, batch) = (job.number("count")?, job.number("batch")?);
    let mut made: Vec<Box<dyn FnOnce() -> u64>> = Vec::with_capacity(batch as usize);
    job.plan.time(count, || {
        let mut sum = 0;
        for first in (0..count).step_by(batch as usize) {
            made.extend((first..first + batch).map(|index| Box::new(move || black_box(index)) as _));
            sum += made.drain(..).map(|call| call()).sum::<u64>();
        }
        sum
    })
}
