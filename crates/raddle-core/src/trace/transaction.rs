//! Owns: what a trace is told of transactions: which have committed, and which must run again.
//! May use: `tracer::place`, `worker`, `raddle-trace`.
//! Never: a value, or who has overtaken whom: the analysis finds that by the versions.

use crate::tracer::place_of;
use crate::worker::Worker;
use raddle_trace::{Event, Level};
use std::panic::Location;

/// The running process has committed a transaction, as the version `version`, that has written so many variables. If
/// [`is_on`](crate::worker::choice::is_on).
#[cold]
pub fn note_committed(version: u64, written: usize) {
    record(Event::Committed, version as u32, u32::try_from(written).unwrap_or(u32::MAX));
}

/// A transaction of the running process must run again, for the sake of the variable that was made at `site`: it has
/// that version now, or somebody keeps it, and that is 0. If [`is_on`](crate::worker::choice::is_on).
#[cold]
pub fn note_overtaken(site: &'static Location<'static>, version: u64) {
    record(Event::Overtaken, place_of(site), version as u32);
}

fn record(event: Event, a: u32, b: u32) {
    Worker::with_current(|worker| {
        if worker.traces_at(Level::Sync) {
            worker.tracer.record(event, a, b);
        }
    });
}
