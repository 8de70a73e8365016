//! Owns: one light process that receives from the first of several channels, and one that sends on each in turn.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::process::ExitCode;

use raddle::csp::{self, Alternation};
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (channels, rounds, plan) = (job.number("channels")?, job.number("rounds")?, job.plan);
    let runtime = bench_raddle::runtime(job.workers)?;
    runtime.run(move || plan.time(rounds, || alternate(channels as usize, rounds)))
}

fn alternate(channels: usize, rounds: u64) -> u64 {
    let (mut senders, mut receivers): (Vec<_>, Vec<_>) = (0..channels).map(|_| csp::channel()).unzip();
    let sender = csp::spawn(move || {
        for n in 0..rounds {
            senders[n as usize % channels].send(n).expect("the other receives all");
        }
    });
    let mut alternation = Alternation::fair();
    let sum = (0..rounds).map(|_| alternation.recv(&mut receivers).1.expect("the sender sends all")).sum();
    bench_raddle::joined(sender);
    sum
}
