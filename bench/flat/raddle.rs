//! Owns: a batch of futures, jobs or processes that return at once, each its own call, all waited for.
//! May use: raddle.
//! Never: a setting beside the number of workers.

use std::hint::black_box;
use std::process::ExitCode;

use bench_raddle::{joined, runtime};
use raddle::{Future, csp};
use raddle_measure::{Job, Plan, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (count, batch, plan) = (job.number("count")?, job.number("batch")?, job.plan);
    let futures = match job.text("kind")? {
        "future" => true,
        "process" => false,
        other => return Err(format!("kind is `{other}`; it can be future or process")),
    };
    runtime(job.workers)?
        .run(move || if futures { as_futures(count, batch, plan) } else { as_processes(count, batch, plan) })
}

fn as_futures(count: u64, batch: u64, plan: Plan) -> Result<Vec<Sample>, String> {
    let mut made = Vec::with_capacity(batch as usize);
    plan.time(count, || {
        let mut sum = 0;
        for first in (0..count).step_by(batch as usize) {
            made.extend((first..first + batch).map(|index| raddle::future(move || black_box(index))));
            sum += made.drain(..).map(Future::get).sum::<u64>();
        }
        sum
    })
}

fn as_processes(count: u64, batch: u64, plan: Plan) -> Result<Vec<Sample>, String> {
    let mut made = Vec::with_capacity(batch as usize);
    plan.time(count, || {
        let mut sum = 0;
        for first in (0..count).step_by(batch as usize) {
            made.extend((first..first + batch).map(|index| csp::spawn(move || black_box(index))));
            sum += made.drain(..).map(joined).sum::<u64>();
        }
        sum
    })
}
