//! Owns: the same with the crate `stm`, on OS threads.
//! May use: stm.
//! Never: a runtime.

use std::process::ExitCode;

use bench_common::transactions::{Transactions, run_on_os_threads};
use raddle_measure::program;
use stm::{TVar, atomically};

fn main() -> ExitCode {
    program::main(run_on_os_threads::<Variables>)
}

struct Variables(Vec<TVar<i64>>);

impl Transactions for Variables {
    fn new(variables: usize, value: i64) -> Self {
        Variables((0..variables).map(|_| TVar::new(value)).collect())
    }

    fn count(&self) {
        atomically(|tx| self.0[0].modify(tx, |n| n + 1));
    }

    fn transfer(&self, from: usize, to: usize) {
        atomically(|tx| {
            self.0[from].modify(tx, |n| n - 1)?;
            self.0[to].modify(tx, |n| n + 1)
        });
    }

    fn sum(&self) -> i64 {
        atomically(|tx| self.0.iter().try_fold(0, |sum, one| Ok(sum + one.read(tx)?)))
    }
}
