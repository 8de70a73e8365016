//! Owns: the occam programmers' commstime: four light processes in a loop that count, and a consumer.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::process::ExitCode;

use raddle::csp::{self, Receiver, Sender};
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (loops, plan) = (job.number("loops")?, job.plan);
    let parallel = job.text("delta")? == "par";
    let runtime = bench_raddle::runtime(job.workers)?;
    runtime.run(move || plan.time(4 * loops, || commstime(loops, parallel)))
}

/// Receives `loops` numbers and adds them up. When the consumer goes, the channels close one after the other.
fn commstime(loops: u64, parallel: bool) -> u64 {
    let (to_delta, from_prefix) = csp::channel();
    let (to_succ, from_delta) = csp::channel();
    let (to_consumer, mut numbers) = csp::channel();
    let (to_prefix, from_succ) = csp::channel();
    csp::scope(|s| {
        s.spawn(move || prefix(from_succ, to_delta));
        let delta = if parallel { delta_par } else { delta };
        s.spawn(move || delta(from_prefix, to_succ, to_consumer));
        s.spawn(move || succ(from_delta, to_prefix));
        let sum = (0..loops).map(|_| numbers.recv().expect("the loop runs")).sum();
        drop(numbers);
        sum
    })
}

fn prefix(mut from: Receiver<u64>, mut to: Sender<u64>) {
    let mut number = 0;
    while to.send(number).is_ok() {
        let Ok(next) = from.recv() else { break };
        number = next;
    }
}

fn succ(mut from: Receiver<u64>, mut to: Sender<u64>) {
    while let Ok(number) = from.recv() {
        if to.send(number + 1).is_err() {
            break;
        }
    }
}

fn delta(mut from: Receiver<u64>, mut one: Sender<u64>, mut other: Sender<u64>) {
    while let Ok(number) = from.recv() {
        if one.send(number).is_err() || other.send(number).is_err() {
            break;
        }
    }
}

fn delta_par(mut from: Receiver<u64>, mut one: Sender<u64>, mut other: Sender<u64>) {
    while let Ok(number) = from.recv() {
        let (one, other) = csp::par!(one.send(number), other.send(number));
        if one.is_err() || other.is_err() {
            break;
        }
    }
}
