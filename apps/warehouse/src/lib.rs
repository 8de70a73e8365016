//! Owns: a middle-tier business workload, written from the public description of SPECjbb2000 (which is proprietary).
//! May use: nothing.
//! Never: a choice that the seed does not decide, except how many transactions a timed run gets done.
//!
//! Each warehouse is one [`raddle::thread`] that performs [transactions] against its own [tables], with a
//! yield after each; all share the [items]. What a warehouse has after so many transactions depends on the seed alone,
//! and at the end the [consistency] of all tables is checked.
//!
//! ```
//! use raddle::Runtime;
//! use warehouse::{Form, Length, Plan, run};
//!
//! let runtime = Runtime::builder().workers(2).build()?;
//! let plan = Plan { warehouses: 3, length: Length::Transactions(1000), ..Plan::default() };
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

pub use plan::{Form, Length, Plan};
pub use run::{Outcome, floor, run};
