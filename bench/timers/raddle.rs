//! Owns: very many that sleep at once, on raddle.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::process::ExitCode;
use std::time::Instant;

use bench_common::timers::{TimerShape, sample};
use bench_raddle::{joined, runtime};
use raddle::csp;
use raddle_measure::{Job, Sample, machine, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let shape = TimerShape::of(job)?;
    runtime(job.workers)?.run(move || {
        let begun_ns = machine::processor_ns()?;
        let sleeper =
            |index| csp::spawn(move || (0..shape.rounds).map(|round| late(shape, index, round)).collect());
        let all: Vec<csp::JoinHandle<Vec<u64>>> = (0..shape.count).map(sleeper).collect();
        Ok(vec![sample(begun_ns, all.into_iter().flat_map(joined).collect())?])
    })
}

fn late(shape: TimerShape, index: u64, round: u64) -> u64 {
    let (begun, pause) = (Instant::now(), shape.pause(index, round));
    csp::sleep(pause);
    (begun.elapsed() - pause).as_nanos() as u64
}
