//! Owns: the benchmark programs as cells of tables: what there is, how it is built, run in rounds and reported.
//! May use: `raddle-measure`, cargo, the rivals' toolchains.
//! Never: a figure of its own; figures come from the programs, their comparison from `raddle-measure`.
//!
//! `bench-runner` (`cargo xtask bench`) and the laboratory (`raddle lab`) are built on it. The catalogue, the
//! requirements and the runtimes are tables in [`catalogue`], [`requirements`] and [`runtimes`].

pub mod options;

pub mod catalogue;
pub mod requirements;
pub mod runtimes;

pub mod profile;

pub mod cell;
pub mod neighbour;
pub mod programs;
pub mod quiet;
pub mod session;

pub mod compare;
pub mod pair;

pub mod report;
