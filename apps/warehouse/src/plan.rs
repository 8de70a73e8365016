//! Owns: what a run is to be: how many warehouses of which size, how long, and whether threads wait.
//! May use: `tables`.
//! Never: running it.

use std::time::Duration;

use crate::tables::Scale;

/// What a run is to be.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How many warehouses, and so threads.
    pub warehouses: usize,
    /// Names all choices.
    pub seed: u64,
    /// How large the tables are.
    pub scale: Scale,
    /// Whether threads ever wait.
    pub form: Form,
    /// When it ends.
    pub length: Length,
}

impl Default for Plan {
    /// One warehouse that is always busy, ten seconds after two of warm-up.
    fn default() -> Self {
        let length = Length::Time { warm_up: Duration::from_secs(2), measured: Duration::from_secs(10) };
        Plan { warehouses: 1, seed: 1, scale: Scale::default(), form: Form::Busy, length }
    }
}

/// Whether the threads wait for anything beside their turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Never.
    Busy,
    /// For a lock on the shared items; and after so many transactions each thread thinks, for between none and twice
    /// the given time.
    Thinking {
        /// Transactions between two thoughts.
        every: u32,
        /// Mean time of a thought.
        mean: Duration,
    },
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// After this time; what is done before is not counted.
    Time {
        /// Not counted.
        warm_up: Duration,
        /// Counted.
        measured: Duration,
    },
    /// When each warehouse has done so many transactions.
    Transactions(u64),
}
