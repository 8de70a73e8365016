//! Owns: the same with a mutex for each variable, locked in the order of their places, on OS threads.
//! May use: std::sync.
//! Never: a runtime.

use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard};

use bench_common::transactions::{Transactions, run_on_os_threads};
use raddle_measure::program;

fn main() -> ExitCode {
    program::main(run_on_os_threads::<Variables>)
}

struct Variables(Vec<Mutex<i64>>);

impl Variables {
    fn lock(&self, at: usize) -> MutexGuard<'_, i64> {
        self.0[at].lock().expect("nobody panics")
    }
}

impl Transactions for Variables {
    fn new(variables: usize, value: i64) -> Self {
        Variables((0..variables).map(|_| Mutex::new(value)).collect())
    }

    fn count(&self) {
        *self.lock(0) += 1;
    }

    fn transfer(&self, from: usize, to: usize) {
        let (mut first, mut second) = (self.lock(from.min(to)), self.lock(from.max(to)));
        let (giver, taker) = if from < to { (&mut first, &mut second) } else { (&mut second, &mut first) };
        **giver -= 1;
        **taker += 1;
    }

    fn sum(&self) -> i64 {
        let guards: Vec<_> = (0..self.0.len()).map(|at| self.lock(at)).collect();
        guards.iter().map(|guard| **guard).sum()
    }
}
