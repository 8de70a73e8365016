//! Owns: traces: the events, the ring buffers they are recorded in, the file format, the analysis and the exporters.
//! May use: nothing.
//! Never: a scheduling decision; this crate only records and analyses.
//!
//! A trace answers one question: why is this program no faster on more workers? A worker writes 16-byte [`Record`]s
//! into a ring buffer of its own ([`Ring`]), with time stamps of the cheapest reliable clock (`clock`). A helper thread
//! copies them out and writes the file (`file`). A reader gets a [`Log`](log::Log) of all workers in nanoseconds, from
//! which `analysis` derives every number that is shown, and the exporters their files.
//!
//! | read in this order | what |
//! |---|---|
//! | [`event`] | the table of events |
//! | [`ring`] | the ring buffer: one writer, wait-free |
//! | [`clock`] | ticks, and their conversion to nanoseconds |
//! | [`mod@file`] | the format `.rdt`, writer and reader |
//! | [`trace`] | an open file, of which any part can be read |
//! | [`log`] | a trace as it was read |
//! | [`analysis`] | where each worker's time went, and the verdict |
//! | [`export`] | ThreadScope, Perfetto, CSV |
//! | [`view`] | one HTML page |
//! | [`text`] | what of a foreign file a terminal must not get |

#[cfg(not(loom))]
pub mod clock;
pub mod event;
#[cfg(not(loom))]
pub mod file;
pub mod ring;
pub mod text;

#[cfg(all(feature = "analysis", not(loom)))]
pub mod analysis;
#[cfg(all(feature = "analysis", not(loom)))]
pub mod export;
#[cfg(all(feature = "analysis", not(loom)))]
pub mod log;
#[cfg(all(feature = "analysis", not(loom)))]
pub mod trace;
#[cfg(all(feature = "analysis", not(loom)))]
pub mod view;

pub use event::{Event, Level, Record, StopReason};
pub use ring::Ring;
