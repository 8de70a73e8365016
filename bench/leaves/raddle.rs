//! Owns: eight coarse leaves under an unbalanced tree of joins, on raddle.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::process::ExitCode;

use bench_common::independent::sample;
use bench_raddle::runtime;
use raddle_measure::work::burn;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

/// All but the last of an even number, and the first of an odd one, are computed here: the tree leans to both sides.
fn leaves(seeds: &[u64], steps: u64) -> u64 {
    if let [seed] = seeds {
        return burn(*seed, steps);
    }
    let (left, right) = seeds.split_at(if seeds.len().is_multiple_of(2) { seeds.len() - 1 } else { 1 });
    let (a, b) = raddle::join(|| leaves(left, steps), || leaves(right, steps));
    a.wrapping_add(b)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (seeds, steps) = ((0..job.number("leaves")?).collect::<Vec<_>>(), job.number("steps")?);
    let runtime = runtime(job.workers)?;
    job.plan.repeat(|| Ok(sample(|| runtime.run(|| leaves(&seeds, steps)))))
}
