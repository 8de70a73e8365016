//! Owns: eight coarse leaves under an unbalanced tree of joins, on chili.
//! May use: chili.
//! Never: a setting other than the number of workers.

use std::num::NonZero;
use std::process::ExitCode;

use bench_common::independent::sample;
use chili::Scope;
use raddle_measure::work::burn;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

/// All but the last of an even number, and the first of an odd one, are computed here: the tree leans to both sides.
fn leaves(scope: &mut Scope<'_>, seeds: &[u64], steps: u64) -> u64 {
    if let [seed] = seeds {
        return burn(*seed, steps);
    }
    let (left, right) = seeds.split_at(if seeds.len().is_multiple_of(2) { seeds.len() - 1 } else { 1 });
    let (a, b) = scope.join(|s| leaves(s, left, steps), |s| leaves(s, right, steps));
    a.wrapping_add(b)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (seeds, steps) = ((0..job.number("leaves")?).collect::<Vec<_>>(), job.number("steps")?);
    // The calling thread is one of the workers.
    let config = chili::Config { thread_count: NonZero::new(job.workers), ..chili::Config::default() };
    let pool = chili::ThreadPool::with_config(config);
    let mut scope = pool.scope();
    job.plan.repeat(|| Ok(sample(|| leaves(&mut scope, &seeds, steps))))
}
