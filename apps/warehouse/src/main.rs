//! Owns: the command line of the workload.
//! May use: `clap`, `raddle`.
//! Never: a setting of the runtime; those come from the environment (`RADDLE_WORKERS`, `RADDLE_MIGRATION`, ...).
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command talks to its user")]

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use raddle::Runtime;
use warehouse::{Length, WaitMode, WarehousePlan, run};

/// Warehouses that process orders, each in a thread of its own, after the public description of SPECjbb2000
///
/// How threads are scheduled is set by the environment, as for all of Raddle's programs: RADDLE_WORKERS,
/// RADDLE_MIGRATION, RADDLE_BALANCE and so on. Ends with 1 if the tables are inconsistent at the end.
#[derive(Parser)]
#[command(name = "warehouse")]
struct CommandLine {
    /// The number of warehouses, each with a thread
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    warehouses: u16,
    /// The seed of all random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Seconds of warm-up
    #[arg(long, default_value_t = 2.0)]
    warm_up: f64,
    /// Seconds of measurement
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// End after this many transactions of each warehouse, instead of by time
    #[arg(long, value_name = "COUNT")]
    transactions: Option<u64>,
    /// Threads also wait: for one lock on the shared items, and after each thousand transactions for a think time of
    /// this many microseconds on average
    #[arg(long, value_name = "US")]
    think: Option<u64>,
}

impl CommandLine {
    fn plan(&self) -> Result<WarehousePlan, String> {
        let time = |name: &str, seconds: f64| {
            Duration::try_from_secs_f64(seconds).map_err(|e| format!("--{name} {seconds}: {e}"))
        };
        let length = match self.transactions {
            Some(count) => Length::Transactions(count),
            None => Length::Time {
                warm_up: time("warm-up", self.warm_up)?,
                measured: time("seconds", self.seconds)?,
            },
        };
        let thinking = |us| WaitMode::Thinking { every: 1000, mean: Duration::from_micros(us) };
        let form = self.think.map_or(WaitMode::Busy, thinking);
        Ok(WarehousePlan {
            warehouses: self.warehouses.into(),
            seed: self.seed,
            form,
            length,
            ..WarehousePlan::default()
        })
    }
}

fn main() -> ExitCode {
    let plan = CommandLine::parse().plan();
    let built = plan.and_then(|plan| Ok((plan, Runtime::builder().build().map_err(|e| e.to_string())?)));
    let (plan, runtime) = match built {
        Ok(ready) => ready,
        Err(why) => {
            eprintln!("warehouse: {why}");
            return ExitCode::from(2);
        }
    };
    let policy = runtime.policy();
    println!(
        "{} warehouses on {} workers, balance {:?}, migration {}, tick {:?}, seed {}\n",
        plan.warehouses,
        runtime.workers(),
        policy.balance,
        if policy.migration { "on" } else { "off" },
        policy.tick,
        plan.seed
    );
    let outcome = run(&runtime, &plan);
    print!("{outcome}");
    if outcome.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
