//! Owns: the work of the replicated PAR alone: its updates in a loop, no process, no communication.
//! May use: arithmetic.
//! Never: a runtime.

use std::hint::black_box;
use std::process::ExitCode;

use bench_common::granularity::{Shape, work};
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let shape = Shape::of(job)?;
    job.plan.time(shape.rounds_in_all(), || (0..shape.packets).map(|packet| alone(shape, packet)).sum())
}

fn alone(shape: Shape, packet: usize) -> u64 {
    let mut array = vec![0_i32; shape.grain];
    let mut received = 0;
    for _ in 0..shape.rounds {
        work(&mut array, packet);
        received += black_box(packet) as u64;
    }
    received + shape.checked(&array)
}
