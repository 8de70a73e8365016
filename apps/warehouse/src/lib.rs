//! Owns: a middle-tier business workload, written from the public description of SPECjbb2000 (which is proprietary).
//! May use: nothing.
//! Never: a choice that does not come from the seed, except how many transactions a timed run completes.
//!
//! Each warehouse is one [`raddle::thread`] that performs [transactions] against its own [tables], with a yield after
//! each; all share the [items]. The contents of a warehouse after a number of transactions depend on the seed alone,
//! and at the end the [consistency] of all tables is checked.
//!
//! ```
//! use raddle::Runtime;
//! use warehouse::{WaitMode, Length, WarehousePlan, run};
//!
//! let runtime = Runtime::builder().workers(2).build()?;
//! let plan = WarehousePlan { warehouses: 3, length: Length::Transactions(1000), ..WarehousePlan::default() };
//! let outcome = run(&runtime, &plan);
//! assert_eq!(outcome.violations, [""; 0]);
//! assert_eq!(outcome.done, [1000, 1000, 1000]);
//! assert_eq!(outcome.thread_spread(), 0.0);
//! # Ok::<(), raddle::BuildError>(())
//! ```

mod plan;
pub mod tables;

mod archive;

pub mod transactions;

pub mod consistency;
pub mod items;

mod random;
mod report;
mod run;

pub use plan::{Length, WaitMode, WarehousePlan};
pub use run::{WarehouseResult, floor, run};
