//! Owns: the Transterpreter's replicated PAR: packets that each do rounds of some work and one communication.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::process::ExitCode;

use bench_common::granularity::{PacketShape, work};
use raddle::{csp, thread};
use raddle_measure::{Job, Sample, program};
use std::sync::atomic::{AtomicU64, Ordering};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (shape, plan) = (PacketShape::of(job)?, job.plan);
    let runtime = bench_raddle::runtime(job.workers)?;
    let threads = bench_raddle::ProcessKind::of(job) == bench_raddle::ProcessKind::Thread;
    let body = move || if threads { by_threads(shape) } else { replicated(shape) };
    runtime.run(move || plan.time(shape.rounds_in_all(), body))
}

fn replicated(shape: PacketShape) -> u64 {
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

/// The same with threads, which have thread-local storage of their own.
fn by_threads(shape: PacketShape) -> u64 {
    let sum = AtomicU64::new(0);
    thread::scope(|packets| {
        for packet in 0..shape.packets {
            let sum = &sum;
            packets.spawn(move || sum.fetch_add(thread_of(shape, packet), Ordering::Relaxed));
        }
    });
    sum.into_inner()
}

fn thread_of(shape: PacketShape, packet: usize) -> u64 {
    let mut array = vec![0_i32; shape.grain];
    let (mut to, mut from) = csp::channel();
    let mut received = 0;
    for _ in 0..shape.rounds {
        received += thread::scope(|branches| {
            branches.spawn(|| {
                work(&mut array, packet);
                to.send(packet).expect("the other branch receives");
            });
            from.recv().expect("the other branch sends") as u64
        });
    }
    received + shape.checked(&array)
}
