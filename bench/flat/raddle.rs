//! Owns: a batch of futures, spawned jobs, processes or threads that return at once, each its own call, all waited for.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use bench_common::batch::Batch;
use bench_raddle::{joined, runtime};
use raddle::sync::Barrier;
use raddle::{Fork, csp, thread};
use raddle_measure::work::burn;
use raddle_measure::{Job, Plan, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (count, plan) = (job.number("count")?, job.plan);
    let in_batches = match job.text("kind")? {
        "future" => as_futures,
        "spawn" => {
            let (batch, steps) = (job.number("batch")?, job.number("steps").unwrap_or(0));
            return runtime(job.workers)?.run(move || as_spawned(count, batch, steps, plan));
        }
        "process" => as_processes,
        "thread" => return plan.repeat(|| as_fresh_threads(count, job.workers)),
        other => return Err(format!("kind is `{other}`; it can be future, spawn, process or thread")),
    };
    let batch = job.number("batch")?;
    runtime(job.workers)?.run(move || in_batches(count, batch, plan))
}

fn as_futures(count: u64, batch: u64, plan: Plan) -> Result<Vec<Sample>, String> {
    let mut made = Vec::with_capacity(batch as usize);
    plan.time(count, || {
        let mut sum = 0;
        for first in (0..count).step_by(batch as usize) {
            made.extend((first..first + batch).map(|index| raddle::fork(move || black_box(index))));
            sum += made.drain(..).map(Fork::join).sum::<u64>();
        }
        sum
    })
}

/// Jobs without a handle, of so many steps each: the last one wakes the process that waits.
fn as_spawned(count: u64, batch: u64, steps: u64, plan: Plan) -> Result<Vec<Sample>, String> {
    let main = csp::current().ok_or("main is no process")?;
    let shared = Arc::new((Batch::new(batch), main));
    plan.time(count, || {
        let mut sum = 0;
        for first in (0..count).step_by(batch as usize) {
            shared.0.begin();
            for place in 0..batch {
                let shared = Arc::clone(&shared);
                raddle::spawn(move || {
                    black_box(burn(place, steps));
                    if shared.0.leave(place, black_box(first + place)) {
                        shared.1.unpark();
                    }
                });
            }
            while !shared.0.is_over() {
                csp::park();
            }
            sum += shared.0.sum();
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

/// Threads of which each has a stack and a storage that were never used: the runtime is new, and all are alive at once.
fn as_fresh_threads(count: u64, workers: usize) -> Result<Sample, String> {
    runtime(workers)?.run(move || {
        let all_have_started = Arc::new(Barrier::new(count as usize));
        let start = Instant::now();
        let thread = |index| {
            let all_have_started = Arc::clone(&all_have_started);
            thread::spawn(move || {
                all_have_started.wait();
                black_box(index)
            })
        };
        let threads: Vec<_> = (0..count).map(thread).collect();
        let ended =
            threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked".to_owned()));
        let sum = ended.sum::<Result<u64, String>>()?;
        Ok(Sample::new(start.elapsed().as_nanos() as f64 / count as f64, sum))
    })
}
