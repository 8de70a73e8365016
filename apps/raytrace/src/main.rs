//! Owns: the command line of the ray tracer, its files.
//! May use: `clap`, `png`, `raddle`.
//! Never: a setting of the runtime; those come from the environment (`RADDLE_WORKERS`, `RADDLE_MIGRATION`, ...).
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command talks to its user")]

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use raddle::Runtime;
use raytrace::{DrawPlan, Picture, Scene, draw};

/// Draws a scene as a PNG, with threads that take tiles
///
/// How threads are scheduled is set by the environment, as for all of Raddle's programs: RADDLE_WORKERS,
/// RADDLE_MIGRATION, RADDLE_BALANCE and so on. The format of scenes is described in `apps/raytrace/src/scene.rs`.
#[derive(Parser)]
#[command(name = "raytrace")]
struct CommandLine {
    /// The scene; by default a built-in one
    scene: Option<PathBuf>,
    /// The picture
    #[arg(short, default_value = "raytrace.png", value_name = "PNG")]
    output: PathBuf,
    #[arg(long, default_value_t = 1280, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    width: u32,
    #[arg(long, default_value_t = 720, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    height: u32,
    /// The colour of a point is the mean over the square of this number of rays
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=16))]
    samples: u32,
    /// Threads that draw
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
}

fn main() -> ExitCode {
    match carry_out(&CommandLine::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("raytrace: {why}");
            ExitCode::from(2)
        }
    }
}

fn carry_out(arguments: &CommandLine) -> Result<(), String> {
    let text = match &arguments.scene {
        None => include_str!("../scenes/still-life.scene").to_owned(),
        Some(path) => {
            std::fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?
        }
    };
    let scene = Scene::read(&text)?;
    let runtime = Runtime::builder().build().map_err(|e| e.to_string())?;
    let &CommandLine { width, height, samples, .. } = arguments;
    let plan = DrawPlan { width, height, samples, threads: arguments.threads.into(), ..DrawPlan::default() };
    let picture = draw(&runtime, &scene, plan);
    write(&arguments.output, plan, &picture)
        .map_err(|e| format!("cannot write {}: {e}", arguments.output.display()))?;
    println!("{} threads on {} workers\n\n{picture}", plan.threads, runtime.workers());
    println!("picture        {}", arguments.output.display());
    Ok(())
}

fn write(path: &Path, plan: DrawPlan, picture: &Picture) -> Result<(), png::EncodingError> {
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), plan.width, plan.height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(&picture.pixels)
}
