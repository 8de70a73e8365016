//! Owns: loops over numbers, over elements, and from elements to values, on raddle.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use bench_common::loops::LoopShape;
use bench_raddle::runtime;
use raddle_measure::{Job, Plan, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn looped(form: &str, shape: LoopShape, plan: Plan) -> Result<Vec<Sample>, String> {
    let turns = shape.count as u64;
    match form {
        "for" => {
            let slots: Vec<_> = (0..shape.count).map(|_| AtomicU64::new(0)).collect();
            plan.time(turns, || {
                raddle::par_for(0..shape.count, |n| slots[n].store(shape.value(n), Ordering::Relaxed));
                shape.digest(|n| slots[n].load(Ordering::Relaxed))
            })
        }
        "each" => {
            let mut pairs: Vec<_> = (0..shape.count).map(|n| (n, 0)).collect();
            plan.time(turns, || {
                raddle::par_for_each(&mut pairs, |(n, value)| *value = shape.value(*n));
                shape.digest(|n| pairs[n].1)
            })
        }
        "map" => {
            let numbers: Vec<_> = (0..shape.count).collect();
            plan.time(turns, || {
                let values = raddle::par_map(&numbers, |&n| shape.value(n));
                shape.digest(|n| values[n])
            })
        }
        other => Err(format!("form is `{other}`; it can be for, each or map")),
    }
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (form, shape, plan) = (job.text("form")?.to_owned(), LoopShape::of(job)?, job.plan);
    runtime(job.workers)?.run(move || looped(&form, shape, plan))
}
