//! Owns: the ray tracer on Raddle, measured: the time of the picture.
//! May use: the application.
//! Never: a sample of a picture that differs from the one that a plain loop draws.

use std::process::ExitCode;

use raddle::Runtime;
use raddle_measure::{Job, Sample, program};
use raytrace::{DrawPlan, Scene, draw, floor};

fn main() -> ExitCode {
    program::main(measure)
}

fn measure(job: &Job) -> Result<Vec<Sample>, String> {
    let number = |name| job.number(name);
    let (width, height) = (number("width")? as u32, number("height")? as u32);
    let plan =
        DrawPlan { width, height, samples: 1, threads: number("threads")? as usize, ..DrawPlan::default() };
    let scene = Scene::read(include_str!("../../apps/raytrace/scenes/still-life.scene"))?;
    let migration = job.text("migration")? == "on";
    let builder = Runtime::builder().workers(job.workers).migration(migration);
    let runtime = builder.build().map_err(|e| e.to_string())?;
    let expected = floor(&scene, plan).pixels;
    job.plan.repeat(|| {
        let picture = draw(&runtime, &scene, plan);
        let same = u64::from(picture.pixels == expected);
        let spread = ledger::thread_spread(&picture.done);
        Ok(Sample::new(picture.elapsed.as_secs_f64() * 1e3, same).with("thread_spread", spread))
    })
}
