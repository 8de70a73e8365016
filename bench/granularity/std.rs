//! Owns: the replicated PAR on OS threads: one for each packet, and one for each branch of an inner PAR, as in 2007.
//! May use: `std::thread`, `std::sync::mpsc`.
//! Never: a pool.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use bench_common::granularity::{PacketShape, work};
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let shape = PacketShape::of(job)?;
    bench_common::cores::use_first(job.workers)?;
    job.plan.time(shape.rounds_in_all(), || replicated(shape))
}

fn replicated(shape: PacketShape) -> u64 {
    let sum = AtomicU64::new(0);
    thread::scope(|packets| {
        for packet in 0..shape.packets {
            let sum = &sum;
            packets.spawn(move || sum.fetch_add(one(shape, packet), Ordering::Relaxed));
        }
    });
    sum.into_inner()
}

fn one(shape: PacketShape, packet: usize) -> u64 {
    let mut array = vec![0_i32; shape.grain];
    let (to, from) = sync_channel(0);
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
