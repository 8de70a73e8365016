//! Owns: the same transactions in a plain loop, the warehouses in turn: no thread, no yield.
//! May use: the application.
//! Never: a runtime.

use std::process::ExitCode;
use std::time::Duration;

use raddle_measure::{Job, Sample, program};
use warehouse::{Length, WarehousePlan, floor};

fn main() -> ExitCode {
    program::main(measure)
}

fn measure(job: &Job) -> Result<Vec<Sample>, String> {
    let ms = |name| job.number(name).map(Duration::from_millis);
    let length = Length::Time { warm_up: ms("warm_ms")?, measured: ms("ms")? };
    let plan =
        WarehousePlan { warehouses: job.number("warehouses")? as usize, length, ..WarehousePlan::default() };
    let sample = |_| {
        let outcome = floor(&plan);
        match outcome.violations.first() {
            Some(violation) => Err(format!("the tables are inconsistent: {violation}")),
            None => {
                let throughput = outcome.throughput();
                Ok(Sample::new(1e9 / throughput, outcome.done.len() as u64).with("throughput", throughput))
            }
        }
    };
    (0..job.plan.samples).map(sample).collect()
}
