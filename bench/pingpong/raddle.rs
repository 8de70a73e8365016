//! Owns: two light processes that send a number there and back over two channels.
//! May use: raddle.
//! Never: a setting other than the number of workers, unless the two are placed: then the workers stay hot.

use std::process::ExitCode;
use std::time::Duration;

use raddle::csp::{self, Receiver, Sender};
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (rounds, plan) = (job.number("rounds")?, job.plan);
    if job.number("placed")? == 1 {
        let hot =
            bench_raddle::builder().workers(job.workers).pin_workers(true).spin(Duration::from_micros(100));
        let runtime = hot.build().map_err(|e| e.to_string())?;
        return runtime.run(move || plan.time(rounds, || placed(rounds)));
    }
    let runtime = bench_raddle::runtime(job.workers)?;
    runtime.run(move || plan.time(rounds, || pingpong(rounds)))
}

fn echo(mut from: Receiver<u64>, mut to: Sender<u64>) {
    while let Ok(number) = from.recv() {
        to.send(number + 1).expect("the other waits for the answer");
    }
}

fn pingpong(rounds: u64) -> u64 {
    let (mut there, from_there) = csp::channel();
    let (back, mut from_back) = csp::channel();
    let echo = csp::spawn(move || echo(from_there, back));
    let number = play(rounds, &mut there, &mut from_back);
    drop(there);
    bench_raddle::joined(echo);
    number
}

fn placed(rounds: u64) -> u64 {
    let (mut there, from_there) = csp::channel();
    let (back, mut from_back) = csp::channel();
    let echo = csp::spawn_on(1, move || echo(from_there, back));
    let player = csp::spawn_on(0, move || play(rounds, &mut there, &mut from_back));
    let number = bench_raddle::joined(player);
    bench_raddle::joined(echo);
    number
}

fn play(rounds: u64, there: &mut Sender<u64>, from_back: &mut Receiver<u64>) -> u64 {
    let mut number = 0;
    for _ in 0..rounds {
        there.send(number).expect("the echo receives");
        number = from_back.recv().expect("the echo answers");
    }
    number
}
