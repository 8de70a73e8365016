//! Owns: a tree of processes, each of which makes its children and joins them in order.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::process::ExitCode;

use bench_raddle::{ProcessKind, joined, runtime};
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (leaves, children, plan) = (job.number("leaves")?, job.number("children")?, job.plan);
    let kind = ProcessKind::of(job);
    runtime(job.workers)?
        .run(move || plan.time(job_size(leaves, children), || grow(kind, 0, leaves, children)))
}

/// How many processes the tree has, the root included.
fn job_size(leaves: u64, children: u64) -> u64 {
    if leaves <= 1 { 1 } else { leaves + job_size(leaves / children, children) }
}

/// The sum of the numbers of its leaves.
fn grow(kind: ProcessKind, first: u64, leaves: u64, children: u64) -> u64 {
    if leaves <= 1 {
        return first;
    }
    let part = leaves / children;
    let child = |at| kind.spawn(move || grow(kind, first + at * part, part, children));
    let all: Vec<_> = (0..children).map(child).collect();
    all.into_iter().map(joined).sum()
}
