//! Owns: what a run is to be: how many warehouses of which size, how long, and whether threads wait.
//! May use: `tables`.
//! Never: running it.

use std::time::Duration;

use crate::tables::Scale;

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct WarehousePlan {
    /// The number of warehouses, each with a thread.
    pub warehouses: usize,
    /// The seed of all random choices.
    pub seed: u64,
    /// How large the tables are.
    pub scale: Scale,
    /// Whether threads ever wait.
    pub form: WaitMode,
    /// When it ends.
    pub length: Length,
}

impl Default for WarehousePlan {
    /// One warehouse that is always busy, ten seconds after two of warm-up.
    fn default() -> Self {
        let length = Length::Time { warm_up: Duration::from_secs(2), measured: Duration::from_secs(10) };
        WarehousePlan { warehouses: 1, seed: 1, scale: Scale::default(), form: WaitMode::Busy, length }
    }
}

/// Whether the threads wait for anything except their turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitMode {
    /// Never.
    Busy,
    /// For a lock on the shared items; and after a number of transactions each thread waits for a think time of 0 to 2
    /// times the given mean.
    Thinking {
        /// Transactions between two think times.
        every: u32,
        /// The mean think time.
        mean: Duration,
    },
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// After this time; the warm-up is not counted.
    Time {
        /// Not counted.
        warm_up: Duration,
        /// Counted.
        measured: Duration,
    },
    /// When each warehouse has done so many transactions.
    Transactions(u64),
}
