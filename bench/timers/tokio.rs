//! Owns: very many that sleep at once, on tokio, whose timers go by whole milliseconds.
//! May use: tokio.
//! Never: another thread.

use std::process::ExitCode;
use std::time::Instant;

use bench_common::timers::{TimerShape, sample};
use raddle_measure::{Job, Sample, machine, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let shape = TimerShape::of(job)?;
    Ok(vec![bench_tokio::run(job.workers, all(shape))??])
}

async fn all(shape: TimerShape) -> Result<Sample, String> {
    let begun_ns = machine::processor_ns()?;
    let all: Vec<_> = (0..shape.count).map(|index| tokio::spawn(sleeper(shape, index))).collect();
    let mut late = Vec::new();
    for one in all {
        late.extend(one.await.map_err(|e| e.to_string())?);
    }
    sample(begun_ns, late)
}

async fn sleeper(shape: TimerShape, index: u64) -> Vec<u64> {
    let mut late = Vec::new();
    for round in 0..shape.rounds {
        let (begun, pause) = (Instant::now(), shape.pause(index, round));
        tokio::time::sleep(pause).await;
        late.push((begun.elapsed().saturating_sub(pause)).as_nanos() as u64);
    }
    late
}
