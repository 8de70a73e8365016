//! Owns: warehouses on Raddle, measured: the time of a transaction, throughput, spread, idle incidents by worker.
//! May use: the application.
//! Never: a sample of tables that are inconsistent.
//!
//! `migration=on` means the balance `fair`, `off` that threads stay where they were first placed, round robin.

use std::process::ExitCode;
use std::time::Duration;

use raddle::{Balance, Runtime};
use raddle_measure::{Job, Sample, program};
use warehouse::{Length, WaitMode, WarehousePlan, WarehouseResult, run};

fn main() -> ExitCode {
    program::main(measure)
}

fn measure(job: &Job) -> Result<Vec<Sample>, String> {
    let ms = |name| job.number(name).map(Duration::from_millis);
    let form = match job.text("form")? {
        "busy" => WaitMode::Busy,
        "think" => WaitMode::Thinking {
            every: u32::try_from(job.number("every")?).map_err(|e| e.to_string())?,
            mean: Duration::from_micros(job.number("think_us")?),
        },
        other => return Err(format!("form is `{other}`; it can be busy or think")),
    };
    let length = Length::Time { warm_up: ms("warm_ms")?, measured: ms("ms")? };
    let plan = WarehousePlan {
        warehouses: job.number("warehouses")? as usize,
        form,
        length,
        ..WarehousePlan::default()
    };
    let migration = job.text("migration")? == "on";
    let runtime = Runtime::builder()
        .workers(job.workers)
        .migration(migration)
        .balance(if migration { Balance::Fair } else { Balance::Steal })
        .tick(Duration::from_micros(job.number("tick_us")?))
        .build()
        .map_err(|e| e.to_string())?;
    (0..job.plan.samples).map(|_| sample(&run(&runtime, &plan), job.workers)).collect()
}

fn sample(outcome: &WarehouseResult, workers: usize) -> Result<Sample, String> {
    if let Some(violation) = outcome.violations.first() {
        return Err(format!("the tables are inconsistent: {violation}"));
    }
    let (throughput, period) = (outcome.throughput(), &outcome.period);
    // What a transaction costs in time in which workers are not idle.
    let busy_ns = workers as f64 * outcome.elapsed.as_nanos() as f64 - period.idle_ns() as f64;
    let mut sample = Sample::new(1e9 / throughput, outcome.done.len() as u64)
        .with("throughput", throughput)
        .with("thread_spread", outcome.thread_spread())
        .with("incidents", period.incidents() as f64)
        .with("idle_ms", period.idle_ns() as f64 / 1e6)
        .with("busy_ns", busy_ns / outcome.done.iter().sum::<u64>().max(1) as f64)
        .with("migrations", period.migrations() as f64);
    for (worker, did) in period.workers.iter().enumerate() {
        sample = sample.with(&format!("w{worker}_idle_ms"), did.idle_ns() as f64 / 1e6);
        for (decade, idle) in did.idle.iter().enumerate() {
            sample = sample.with(&format!("w{worker}_d{decade}"), idle.incidents as f64);
        }
    }
    Ok(sample)
}
