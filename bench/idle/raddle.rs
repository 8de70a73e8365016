//! Owns: the processor time that an idle runtime uses.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::process::ExitCode;

use std::time::Duration;

use bench_raddle::{joined, runtime};
use raddle::csp;
use raddle_measure::{Job, Sample, machine, program, work};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let seconds = job.number("seconds")?;
    let runtime = runtime(job.workers)?;
    let checksum = runtime.run(|| joined(csp::spawn(|| work::burn(1, 1000))));
    let before_ns = machine::processor_ns()?;
    std::thread::sleep(Duration::from_secs(seconds));
    let used_ns = machine::processor_ns()? - before_ns;
    Ok(vec![Sample::new(used_ns as f64 / seconds as f64 / 1e7, checksum)])
}
