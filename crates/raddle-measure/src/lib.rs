//! Owns: how a figure comes about: repetition, rounds, medians, intervals, the record, the table.
//! May use: nothing.
//! Never: a scheduler, a runtime, the network; it measures them from outside.
//!
//! A figure that stands alone means nothing on a machine that drifts. So every figure of Raddle's is made the
//! same way, and here only:
//!
//! 1. A *program* (one process for one workload on one runtime) warms up, repeats its body until one sample
//!    takes at least 10 ms, and prints [`Sample`]s as lines of JSON ([`program`], [`plan`]).
//! 2. A *runner* starts the programs that it compares one after the other, in [`rounds`]: A B C, B C A, ... What
//!    the machine does to one round it does to all of them.
//! 3. Two cells are compared by the ratios of the figures that they made *in the same round*, and a ratio is
//!    claimed only with an interval around its median ([`stats`]).
//! 4. What was found is written as a [`Record`] for machines and as a [`table::Table`] for people.
//!
//! [`work`] burns a known amount of processor time with a checksum that can be computed without burning it,
//! and [`machine`] reads what Linux says about this process and this machine.

pub mod plan;
pub mod program;
pub mod sample;

pub mod rounds;
pub mod stats;

pub mod record;
pub mod table;

pub mod machine;
pub mod work;

pub use plan::Plan;
pub use program::Job;
pub use record::Record;
pub use sample::Sample;
pub use stats::{Interval, Summary};
