//! Owns: a line of light processes, each of which takes a number from its left, adds 1 and hands it to its right.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::process::ExitCode;
use std::time::Instant;

use raddle::csp::{self, Receiver, Sender};
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

/// The parameters of the line, and the placement of its members.
#[derive(Clone, Copy)]
struct LineShape {
    stages: u64,
    messages: u64,
    /// With 0 nothing is placed; else each contiguous segment is placed on the next worker.
    segments: u64,
    workers: u64,
    /// Members have names and the line runs once: it is traced.
    traced: bool,
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (stages, messages, plan) = (job.number("stages")?, job.number("messages")?, job.plan);
    let (segments, workers) = (job.number("segments")?, job.workers as u64);
    let traced = job.number("traced").unwrap_or(0) == 1;
    let shape = LineShape { stages, messages, segments, workers, traced };
    let slots = job.number("slots").unwrap_or(0);
    let body = move || match slots {
        0 => line(shape),
        _ => line_of_slots(shape),
    };
    bench_raddle::runtime(job.workers)?.run(move || match traced {
        true => {
            let (begun, sum) = (Instant::now(), body());
            Ok(vec![Sample::new(begun.elapsed().as_nanos() as f64 / (messages * stages) as f64, sum)])
        }
        false => plan.time(messages * stages, body),
    })
}

fn stage(mut left: Receiver<u64>, mut right: Sender<u64>) {
    while let Ok(number) = left.recv() {
        if right.send(number + 1).is_err() {
            break;
        }
    }
}

fn spawn(place: u64, shape: LineShape, body: impl FnOnce() + Send + 'static) -> csp::JoinHandle<()> {
    let worker = (place * shape.segments / shape.stages % shape.workers) as usize;
    match (shape.traced, shape.segments) {
        (true, segments) => {
            let builder = csp::Builder::new().name(format!("stage {place}"));
            let builder = if segments > 0 { builder.worker(worker) } else { builder };
            builder.spawn(body).expect("there is memory for a stage")
        }
        (false, 0) => csp::spawn(body),
        (false, _) => csp::spawn_on(worker, body),
    }
}

fn line(shape: LineShape) -> u64 {
    let LineShape { stages, messages, .. } = shape;
    let (mut first, mut last) = csp::channel();
    let mut members = Vec::with_capacity(stages as usize);
    for place in 0..stages {
        let (right, next) = csp::channel();
        let left = std::mem::replace(&mut last, next);
        let body = move || stage(left, right);
        members.push(spawn(place, shape, body));
    }
    let pump = csp::spawn(move || (0..messages).for_each(|n| first.send(n).expect("the line runs")));
    let sum = (0..messages).map(|_| last.recv().expect("the line runs")).sum();
    bench_raddle::joined(pump);
    members.into_iter().for_each(bench_raddle::joined);
    sum
}

/// The same with slots between the stages that hold one number each, as `MVar`s do.
fn line_of_slots(shape: LineShape) -> u64 {
    let LineShape { stages, messages, .. } = shape;
    let (first, mut last) = raddle::channel::bounded(1);
    let mut members = Vec::with_capacity(stages as usize);
    for place in 0..stages {
        let (right, next) = raddle::channel::bounded(1);
        let left = std::mem::replace(&mut last, next);
        let body = move || left.iter().for_each(|n: u64| right.send(n + 1).expect("the line runs"));
        members.push(spawn(place, shape, body));
    }
    let pump = csp::spawn(move || (0..messages).for_each(|n| first.send(n).expect("the line runs")));
    let sum = (0..messages).map(|_| last.recv().expect("the line runs")).sum();
    bench_raddle::joined(pump);
    members.into_iter().for_each(bench_raddle::joined);
    sum
}
