//! Owns: the report of a run, in the style of SPECjbb2000's.
//! May use: `consistency`, `run`, `transactions`, `raddle-measure`.
//! Never: a figure that the outcome does not hold.

use std::fmt::{self, Display, Formatter};

use raddle_measure::table::{Table, figure};

use crate::consistency::CONDITIONS;
use crate::run::WarehouseResult;
use crate::transactions::KINDS;

impl Display for WarehouseResult {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let all: u64 = self.kinds.iter().sum::<u64>().max(1);
        let mut kinds = Table::new(["transaction", "count", "share %"]);
        for ((_, name, _), count) in KINDS.iter().zip(self.kinds) {
            let share = 100.0 * count as f64 / all as f64;
            kinds.row([(*name).to_owned(), count.to_string(), figure(share)]);
        }
        let mut threads = Table::new(["warehouse", "transactions", "per second"]);
        for (number, done) in self.done.iter().enumerate() {
            let rate = *done as f64 / self.elapsed.as_secs_f64();
            threads.row([number.to_string(), done.to_string(), format!("{rate:.0}")]);
        }
        writeln!(f, "{kinds}\n{threads}")?;
        writeln!(
            f,
            "throughput     {:.0} transactions per second over {:.1?}",
            self.throughput(),
            self.elapsed
        )?;
        writeln!(f, "thread spread  {} %", figure(self.thread_spread()))?;
        writeln!(f, "migrations     {}\n\n{}", self.period.migrations(), self.period)?;
        match self.violations.as_slice() {
            [] => writeln!(
                f,
                "consistent: {CONDITIONS} conditions hold for each warehouse and for the shared items"
            ),
            found => found.iter().try_for_each(|what| writeln!(f, "INCONSISTENT {what}")),
        }
    }
}
