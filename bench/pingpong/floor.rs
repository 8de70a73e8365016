//! Owns: the floor of a ping-pong: two coroutines that name each other; with 2 workers, two OS threads that spin.
//! May use: corosensei, atomics.
//! Never: a queue, a system call.

use std::hint::spin_loop;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use bench_common::cores;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let rounds = job.number("rounds")?;
    if job.workers == 1 {
        let mut stacks = bench_floor::stacks(2)?;
        return job.plan.time(rounds, || bench_floor::ring(&mut stacks, rounds) / 2);
    }
    cores::pin(0)?;
    job.plan.time(rounds, || spinning(rounds))
}

/// One cache line: it holds twice the round's number on the way out, and one more on the way back.
#[repr(align(128))]
struct BallLine(AtomicU64);

fn spinning(rounds: u64) -> u64 {
    let line = BallLine(AtomicU64::new(0));
    let wait_for = |turn| {
        while line.0.load(Ordering::Acquire) != turn {
            spin_loop();
        }
    };
    thread::scope(|s| {
        s.spawn(|| {
            cores::pin(1).expect("a second core");
            for round in 0..rounds {
                wait_for(2 * round + 1);
                line.0.store(2 * round + 2, Ordering::Release);
            }
        });
        for round in 0..rounds {
            line.0.store(2 * round + 1, Ordering::Release);
            wait_for(2 * round + 2);
        }
    });
    line.0.into_inner() / 2
}
