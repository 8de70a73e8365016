//! Owns: what threads and processes share and communicate by: locks, channels, and the channels of CSP.
//! May use: nothing.
//! Never: deciding who runs.
//!
//! The public interface is the crate `raddle`, which exports these modules as they are:
//!
//! | module | what |
//! |---|---|
//! | [`sync`] | locks and their like, with the names of `std::sync`; queue locks |
//! | [`channel`] | channels with the names of `crossbeam-channel` |
//! | [`csp`] | one-to-one channels, alternation, PAR, barriers |
//!
//! It uses `raddle-core` to wait and to wake; `raddle-protocol` for the words.

#![warn(clippy::disallowed_methods)]

pub mod channel;
pub mod csp;
#[path = "host/scheduler/mod.rs"]
mod host;
pub mod sync;
