//! Owns: what an idle tokio runtime uses.
//! May use: tokio.
//! Never: another thread.

use std::process::ExitCode;

use std::time::Duration;

use raddle_measure::{Job, Sample, machine, program, work};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let seconds = job.number("seconds")?;
    let runtime = bench_tokio::runtime(job.workers)?;
    let checksum = runtime.block_on(async { tokio::spawn(async { work::burn(1, 1000) }).await });
    let before_ns = machine::processor_ns()?;
    std::thread::sleep(Duration::from_secs(seconds));
    let used_ns = machine::processor_ns()? - before_ns;
    Ok(vec![Sample::new(used_ns as f64 / seconds as f64 / 1e7, checksum.map_err(|e| e.to_string())?)])
}
