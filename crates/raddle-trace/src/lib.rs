//! Owns: what a trace is: its events, the rings they are recorded in, the file, and what is made of it.
//! May use: nothing of the scheduler.
//! Never: a decision of the scheduler; it is told what happened.
//!
//! A trace answers one question: why is this program no faster on more workers? A worker writes 16-byte [`Record`]s
//! into a [`Ring`] of its own (`ring`), stamped by the cheapest clock that can be trusted (`clock`); somebody else
//! copies them out and writes the file (`file`). Reading gives a [`Log`](log::Log) of all workers in nanoseconds, from
//! which `analysis` derives every number that is shown, and the exporters their files.
//!
//! | read in this order | what |
//! |---|---|
//! | [`event`] | the one table of events |
//! | [`ring`] | one writer, nobody waits |
//! | [`clock`] | ticks, and what they are in nanoseconds |
//! | [`mod@file`] | `.rdt`, chunk by chunk |
//! | [`log`] | what a reader has |
//! | [`analysis`] | where each worker's time went, and the verdict |
//! | [`export`] | ThreadScope, Perfetto, CSV |
//! | [`view`] | one HTML page |

#[cfg(not(loom))]
pub mod clock;
pub mod event;
#[cfg(not(loom))]
pub mod file;
pub mod ring;

#[cfg(all(feature = "analysis", not(loom)))]
pub mod analysis;
#[cfg(all(feature = "analysis", not(loom)))]
pub mod export;
#[cfg(all(feature = "analysis", not(loom)))]
pub mod log;
#[cfg(all(feature = "analysis", not(loom)))]
pub mod view;

pub use event::{Event, Level, Record, StopReason};
pub use ring::Ring;
