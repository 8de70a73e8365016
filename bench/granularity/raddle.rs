//! Owns: the Transterpreter's replicated PAR: packets that each do rounds of some work and one communication.
//! May use: raddle.
//! Never: a setting beside the number of workers.

use std::process::ExitCode;

use bench_common::granularity::{Shape, work};
use raddle::csp;
use raddle_measure::{Job, Sample, program};
use std::sync::atomic::{AtomicU64, Ordering};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (shape, plan) = (Shape::of(job)?, job.plan);
    let runtime = bench_raddle::runtime(job.workers)?;
    runtime.run(move || plan.time(shape.rounds_in_all(), || replicated(shape)))
}

fn replicated(shape: Shape) -> u64 {
    let sum = AtomicU64::new(0);
    csp::par_for(0..shape.packets, |packet| {
        let mut array = vec![0_i32; shape.grain];
        let (mut to, mut from) = csp::channel();
        let mut received = 0;
        for _ in 0..shape.rounds {
            let ((), got) = csp::par!(
                {
                    work(&mut array, packet);
                    to.send(packet).expect("the other branch receives");
                },
                from.recv().expect("the other branch sends")
            );
            received += got as u64;
        }
        sum.fetch_add(received + shape.checked(&array), Ordering::Relaxed);
    });
    sum.into_inner()
}
