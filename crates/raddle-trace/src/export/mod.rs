//! Owns: conversion of a log to the files of other tools.
//! May use: `analysis`, `log`, `trace`.
//! Never: a figure that is not in the log or the analysis.

mod csv;
mod eventlog;
mod messages;
mod perfetto;
mod protobuf;
mod steps;
mod user_events;
mod waits;

use crate::analysis::Analysis;
use crate::log::Log;
use crate::trace::{Progress, Trace};
use std::io::{self, Write};

/// The formats that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Protocol buffers for the Perfetto UI and its trace processor: workers as processors, threads as threads.
    Perfetto,
    /// GHC's event log, for ThreadScope: workers as capabilities.
    Eventlog,
    /// One row per event, for spreadsheets and scripts.
    Csv,
}

/// Which part of a trace to export, and how.
#[derive(Clone, Copy, Debug)]
pub struct ExportOptions {
    /// From when, in nanoseconds of the trace.
    pub from_ns: u64,
    /// Until when.
    pub until_ns: u64,
    /// Times are multiplied by this: ThreadScope shows nothing shorter than a microsecond.
    pub time_scale: u64,
}

impl Default for ExportOptions {
    fn default() -> Self {
        ExportOptions { from_ns: 0, until_ns: u64::MAX, time_scale: 1 }
    }
}

impl Format {
    /// The names of the formats, for options and messages.
    pub const NAMES: [(&'static str, Format); 3] =
        [("perfetto", Format::Perfetto), ("eventlog", Format::Eventlog), ("csv", Format::Csv)];

    /// The extension of such a file.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Perfetto => "pftrace",
            Format::Eventlog => "eventlog",
            Format::Csv => "csv",
        }
    }
}

/// The bytes of the file. [`write()`] needs no memory for them.
pub fn export(log: &Log, analysis: &Analysis, format: Format, options: ExportOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Writing to a vector cannot fail.
    let _ = write(log, analysis, format, options, &mut bytes);
    bytes
}

/// Writes the file piece by piece.
///
/// # Errors
/// Those of `out`.
pub fn write(
    log: &Log,
    analysis: &Analysis,
    format: Format,
    options: ExportOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::Perfetto => perfetto::export(log, analysis, options, out),
        Format::Eventlog => eventlog::export(log, analysis, options, out),
        Format::Csv => csv::export(log, options, out),
    }
}

/// How many records of a trace are in memory while it becomes a table, about.
const RECORDS_PER_PART: u64 = 1 << 18;

/// Writes a trace as [`Format::Csv`], of which no more than a part is in memory. `progress` is told how many parts have
/// been written, and of how many.
///
/// # Errors
/// Those of `out`, and of the trace's source.
pub fn write_table(
    trace: &Trace<'_>,
    options: ExportOptions,
    out: &mut dyn Write,
    progress: Progress<'_>,
) -> io::Result<()> {
    let parts = trace.parts(RECORDS_PER_PART)?;
    let count = parts.len();
    for (place, (from, until)) in parts.into_iter().enumerate() {
        // The last moment of a part is the first of the next one.
        let last = if place + 1 < count { until.saturating_sub(1) } else { u64::MAX };
        let (from, last) = (from.max(options.from_ns), last.min(options.until_ns));
        if place == 0 {
            csv::export(&Log::default(), options, out)?;
        }
        if from <= last {
            let log = trace.part(from, last, &mut |_, _| ()).map_err(io::Error::other)?;
            csv::rows(&log, options, from, out)?;
        }
        progress(place as u64 + 1, count as u64);
    }
    Ok(())
}

impl ExportOptions {
    fn holds(self, ns: u64) -> bool {
        (self.from_ns..=self.until_ns).contains(&ns)
    }

    /// The part of a time span that is exported, scaled and relative to `from_ns`.
    fn part(self, begin: u64, end: u64) -> Option<(u64, u64)> {
        let (begin, end) = (begin.max(self.from_ns), end.min(self.until_ns));
        (begin < end).then(|| (self.time(begin), self.time(end)))
    }

    fn time(self, ns: u64) -> u64 {
        ns.saturating_sub(self.from_ns).saturating_mul(self.time_scale.max(1))
    }
}

#[cfg(test)]
mod tests;
