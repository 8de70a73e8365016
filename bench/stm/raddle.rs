//! Owns: transactions of `raddle::stm`, run by processes.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::process::ExitCode;

use bench_common::transactions::{Transactions, run};
use bench_raddle::on_processes;
use raddle::stm::{TVar, atomically};
use raddle_measure::program;

fn main() -> ExitCode {
    program::main(|job| run::<Variables>(job, on_processes(job.workers)?))
}

struct Variables(Vec<TVar<i64>>);

impl Transactions for Variables {
    fn new(variables: usize, value: i64) -> Self {
        Variables((0..variables).map(|_| TVar::new(value)).collect())
    }

    fn count(&self) {
        atomically(|tx| tx.modify(&self.0[0], |n| n + 1));
    }

    fn transfer(&self, from: usize, to: usize) {
        atomically(|tx| {
            tx.modify(&self.0[from], |n| n - 1)?;
            tx.modify(&self.0[to], |n| n + 1)
        });
    }

    fn sum(&self) -> i64 {
        atomically(|tx| self.0.iter().try_fold(0, |sum, one| Ok(sum + tx.read(one)?)))
    }
}
