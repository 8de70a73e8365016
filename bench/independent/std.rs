//! Owns: work that two cores can share, on OS threads: what the machine itself gives.
//! May use: std::thread.
//! Never: a runtime.

use std::process::ExitCode;

use std::thread;

use bench_common::independent::{WorkKind, sample};
use raddle_measure::work::burn;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (form, steps) = WorkKind::of(job)?;
    bench_common::cores::use_first(job.workers)?;
    job.plan.repeat(|| {
        Ok(sample(|| match form {
            WorkKind::MainAndOne => {
                let one = thread::spawn(move || burn(1, steps));
                burn(0, steps).wrapping_add(one.join().expect("it does not panic"))
            }
            WorkKind::Spawned { count, slices } => spawned(count, slices, steps),
        }))
    })
}

fn spawned(count: u64, slices: u64, steps: u64) -> u64 {
    let slice = move |x, slice| {
        if slice > 0 {
            thread::yield_now();
        }
        burn(x, steps)
    };
    let spawn = |seed| thread::spawn(move || (0..slices).fold(seed, slice));
    let children: Vec<_> = (0..count).map(spawn).collect();
    children.into_iter().map(|child| child.join().expect("it does not panic")).fold(0, u64::wrapping_add)
}
