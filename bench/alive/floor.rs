//! Owns: the floor of many processes alive: as many fresh guarded stacks, touched.
//! May use: `bench_common::fresh_stacks`.
//! Never: anything that runs on them.

use std::process::ExitCode;

use bench_common::fresh_stacks;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let count = job.number("count")?;
    job.plan.repeat(|| {
        let touch_ns = fresh_stacks::touch_ns(count as usize)?;
        Ok(Sample::new(touch_ns, count * (count - 1) / 2).with("touch_ns", touch_ns))
    })
}
