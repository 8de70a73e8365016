//! Owns: what an idle rayon pool uses.
//! May use: rayon.
//! Never: another thread.

use std::process::ExitCode;

use std::time::Duration;

use raddle_measure::{Job, Sample, machine, program, work};
use rayon::ThreadPoolBuilder;

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let seconds = job.number("seconds")?;
    let pool = ThreadPoolBuilder::new().num_threads(job.workers).build().map_err(|e| e.to_string())?;
    let checksum = pool.install(|| work::burn(1, 1000));
    let before_ns = machine::processor_ns()?;
    std::thread::sleep(Duration::from_secs(seconds));
    let used_ns = machine::processor_ns()? - before_ns;
    Ok(vec![Sample::new(used_ns as f64 / seconds as f64 / 1e7, checksum)])
}
