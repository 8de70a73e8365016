//! Owns: work that two cores can share, as light processes.
//! May use: raddle.
//! Never: a setting beside the number of workers.

use std::process::ExitCode;

use bench_common::independent::{Form, sample};
use bench_raddle::{joined, runtime};
use raddle::csp;
use raddle_measure::work::burn;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (form, steps) = Form::of(job)?;
    let runtime = runtime(job.workers)?;
    job.plan.repeat(|| Ok(sample(|| runtime.run(move || compute(form, steps)))))
}

fn compute(form: Form, steps: u64) -> u64 {
    match form {
        Form::MainAndOne => {
            let one = csp::spawn(move || burn(1, steps));
            burn(0, steps).wrapping_add(joined(one))
        }
        Form::Spawned { count, slices } => spawned(count, slices, steps),
    }
}

fn spawned(count: u64, slices: u64, steps: u64) -> u64 {
    let slice = move |x, slice| {
        if slice > 0 {
            csp::yield_now();
        }
        burn(x, steps)
    };
    let children: Vec<_> = (0..count).map(|seed| csp::spawn(move || (0..slices).fold(seed, slice))).collect();
    children.into_iter().map(joined).fold(0, u64::wrapping_add)
}
