//! Owns: a line of light processes, each of which takes a number from its left, adds 1 and hands it to its right.
//! May use: raddle.
//! Never: a setting beside the number of workers.

use std::process::ExitCode;

use raddle::csp::{self, Receiver, Sender};
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (stages, messages, plan) = (job.number("stages")?, job.number("messages")?, job.plan);
    let segments = job.number("segments")?;
    let slots = job.number("slots").unwrap_or(0);
    let runtime = bench_raddle::runtime(job.workers)?;
    runtime.run(move || {
        plan.time(messages * stages, || match slots {
            0 => line(stages, messages, segments),
            _ => line_of_slots(stages, messages, segments),
        })
    })
}

fn stage(mut left: Receiver<u64>, mut right: Sender<u64>) {
    while let Ok(number) = left.recv() {
        if right.send(number + 1).is_err() {
            break;
        }
    }
}

fn spawn(
    place: u64,
    stages: u64,
    segments: u64,
    body: impl FnOnce() + Send + 'static,
) -> csp::JoinHandle<()> {
    match segments {
        0 => csp::spawn(body),
        _ => csp::spawn_on((place * segments / stages) as usize, body),
    }
}

/// With `segments` of 0 nothing is placed; else each contiguous segment is placed on the worker of its number.
fn line(stages: u64, messages: u64, segments: u64) -> u64 {
    let (mut first, mut last) = csp::channel();
    let mut members = Vec::with_capacity(stages as usize);
    for place in 0..stages {
        let (right, next) = csp::channel();
        let left = std::mem::replace(&mut last, next);
        let body = move || stage(left, right);
        members.push(spawn(place, stages, segments, body));
    }
    let pump = csp::spawn(move || (0..messages).for_each(|n| first.send(n).expect("the line runs")));
    let sum = (0..messages).map(|_| last.recv().expect("the line runs")).sum();
    bench_raddle::joined(pump);
    members.into_iter().for_each(bench_raddle::joined);
    sum
}

/// The same with slots between the stages that hold one number each, as `MVar`s do.
fn line_of_slots(stages: u64, messages: u64, segments: u64) -> u64 {
    let (first, mut last) = raddle::channel::bounded(1);
    let mut members = Vec::with_capacity(stages as usize);
    for place in 0..stages {
        let (right, next) = raddle::channel::bounded(1);
        let left = std::mem::replace(&mut last, next);
        let body = move || left.iter().for_each(|n: u64| right.send(n + 1).expect("the line runs"));
        members.push(spawn(place, stages, segments, body));
    }
    let pump = csp::spawn(move || (0..messages).for_each(|n| first.send(n).expect("the line runs")));
    let sum = (0..messages).map(|_| last.recv().expect("the line runs")).sum();
    bench_raddle::joined(pump);
    members.into_iter().for_each(bench_raddle::joined);
    sum
}
