//! Owns: the same picture by a plain loop.
//! May use: the application.
//! Never: a runtime.

use std::process::ExitCode;

use raddle_measure::{Job, Sample, program};
use raytrace::{DrawPlan, Scene, floor};

fn main() -> ExitCode {
    program::main(measure)
}

fn measure(job: &Job) -> Result<Vec<Sample>, String> {
    let (width, height) = (job.number("width")? as u32, job.number("height")? as u32);
    let plan = DrawPlan { width, height, samples: 1, ..DrawPlan::default() };
    let scene = Scene::read(include_str!("../../apps/raytrace/scenes/still-life.scene"))?;
    job.plan.repeat(|| Ok(Sample::new(floor(&scene, plan).elapsed.as_secs_f64() * 1e3, 1)))
}
