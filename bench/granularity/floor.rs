//! Owns: the work of the replicated PAR alone: its updates in a loop, no process, no communication. On two workers each
//! of two OS threads has half of the packets: what the machine's second core is worth for this work.
//! May use: arithmetic, OS threads.
//! Never: a runtime.

use std::hint::black_box;
use std::process::ExitCode;

use bench_common::granularity::{PacketShape, work};
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let shape = PacketShape::of(job)?;
    if job.workers == 1 {
        return job.plan.time(shape.rounds_in_all(), || share(shape, 0, 1));
    }
    job.plan.time(shape.rounds_in_all(), || {
        std::thread::scope(|threads| {
            let shares =
                (0..job.workers).map(|thread| threads.spawn(move || share(shape, thread, job.workers)));
            let shares: Vec<_> = shares.collect();
            shares.into_iter().map(|share| share.join().expect("it does not panic")).sum()
        })
    })
}

/// The packets of one of several threads.
fn share(shape: PacketShape, thread: usize, threads: usize) -> u64 {
    (thread..shape.packets).step_by(threads).map(|packet| alone(shape, packet)).sum()
}

fn alone(shape: PacketShape, packet: usize) -> u64 {
    let mut array = vec![0_i32; shape.grain];
    let mut received = 0;
    for _ in 0..shape.rounds {
        work(&mut array, packet);
        received += black_box(packet) as u64;
    }
    received + shape.checked(&array)
}
