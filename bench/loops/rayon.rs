//! Owns: loops over numbers, over elements, and from elements to values, on rayon.
//! May use: rayon.
//! Never: a setting other than the number of threads.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use bench_common::loops::LoopShape;
use raddle_measure::{Job, Plan, Sample, program};
use rayon::prelude::*;

fn main() -> ExitCode {
    program::main(run)
}

fn looped(form: &str, shape: LoopShape, plan: Plan) -> Result<Vec<Sample>, String> {
    let turns = shape.count as u64;
    match form {
        "for" => {
            let slots: Vec<_> = (0..shape.count).map(|_| AtomicU64::new(0)).collect();
            plan.time(turns, || {
                (0..shape.count)
                    .into_par_iter()
                    .for_each(|n| slots[n].store(shape.value(n), Ordering::Relaxed));
                shape.digest(|n| slots[n].load(Ordering::Relaxed))
            })
        }
        "each" => {
            let mut pairs: Vec<_> = (0..shape.count).map(|n| (n, 0)).collect();
            plan.time(turns, || {
                pairs.par_iter_mut().for_each(|(n, value)| *value = shape.value(*n));
                shape.digest(|n| pairs[n].1)
            })
        }
        "map" => {
            let numbers: Vec<_> = (0..shape.count).collect();
            plan.time(turns, || {
                let values = numbers.par_iter().map(|&n| shape.value(n)).collect::<Vec<_>>();
                shape.digest(|n| values[n])
            })
        }
        other => Err(format!("form is `{other}`; it can be for, each or map")),
    }
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (form, shape) = (job.text("form")?, LoopShape::of(job)?);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(job.workers).build().map_err(|e| e.to_string())?;
    pool.install(|| looped(form, shape, job.plan))
}
