//! Owns: a tree of tokio tasks, each of which makes its children and awaits them in order.
//! May use: tokio.
//! Never: a task that blocks its thread.

use std::future::Future;
use std::pin::Pin;
use std::process::ExitCode;

use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (leaves, children, plan) = (job.number("leaves")?, job.number("children")?, job.plan);
    let count = job_size(leaves, children);
    bench_tokio::run(job.workers, async move { plan.time_async(count, || grow(0, leaves, children)).await })?
}

/// How many tasks the tree has, the root included.
fn job_size(leaves: u64, children: u64) -> u64 {
    if leaves <= 1 { 1 } else { leaves + job_size(leaves / children, children) }
}

/// The sum of the numbers of its leaves.
fn grow(first: u64, leaves: u64, children: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move {
        if leaves <= 1 {
            return first;
        }
        let part = leaves / children;
        let child = |at| tokio::spawn(grow(first + at * part, part, children));
        let all: Vec<_> = (0..children).map(child).collect();
        let mut sum = 0;
        for task in all {
            sum += task.await.expect("a task does not panic");
        }
        sum
    })
}
