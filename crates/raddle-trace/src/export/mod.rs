//! Owns: conversion of a log to the files of other tools.
//! May use: `analysis`, `event`, `log`.
//! Never: a figure that is not in the log or the analysis.

mod csv;
mod eventlog;
mod perfetto;
mod protobuf;
mod user_events;

use crate::analysis::Analysis;
use crate::event::StopReason;
use crate::log::Log;
use std::collections::HashMap;

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

/// The bytes of the file.
pub fn export(log: &Log, analysis: &Analysis, format: Format, options: ExportOptions) -> Vec<u8> {
    match format {
        Format::Perfetto => perfetto::export(log, analysis, options),
        Format::Eventlog => eventlog::export(log, analysis, options),
        Format::Csv => csv::export(log, options).into_bytes(),
    }
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

/// An event on one worker, in the form that the exporters share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScheduleStep {
    Stop(u32, StopReason),
    Migrate {
        thread: u32,
        to: u32,
    },
    Spawn(u32),
    Run(u32),
    Wake {
        thread: u32,
        target: u32,
    },
    /// Woken by an OS thread that is not a worker, by this event of `Log::outside`; listed at the worker that then ran
    /// it.
    WokenOutside {
        thread: u32,
        event: usize,
    },
}

/// The events of each worker, in order; every `Run` has its `Stop`.
fn steps(log: &Log, analysis: &Analysis, options: ExportOptions) -> Vec<(u32, Vec<(u64, ScheduleStep)>)> {
    let mut all: Vec<(u32, Vec<(u64, ScheduleStep)>)> =
        log.workers.iter().map(|worker| (worker.number, Vec::new())).collect();
    let slot = |all: &mut Vec<(u32, Vec<(u64, ScheduleStep)>)>, number: u32, ns: u64, step: ScheduleStep| {
        if let Some((_, steps)) = all.iter_mut().find(|(worker, _)| *worker == number) {
            steps.push((ns, step));
        }
    };
    for worker in &analysis.workers {
        for slice in &worker.slices {
            if let Some((begin, end)) = options.part(slice.begin_ns, slice.end_ns) {
                slot(&mut all, worker.number, begin, ScheduleStep::Run(slice.thread));
                slot(&mut all, worker.number, end, ScheduleStep::Stop(slice.thread, slice.stopped));
            }
        }
    }
    for worker in &log.workers {
        for at in worker.events.iter().filter(|at| options.holds(at.ns)) {
            let ns = options.time(at.ns);
            match at.event {
                crate::Event::Spawn => slot(&mut all, worker.number, ns, ScheduleStep::Spawn(at.a)),
                crate::Event::Wake => {
                    let target = u32::from(crate::event::unpack(at.b).0);
                    slot(&mut all, worker.number, ns, ScheduleStep::Wake { thread: at.a, target });
                }
                crate::Event::Migrate => {
                    let step = ScheduleStep::Migrate { thread: at.a, to: worker.number };
                    slot(&mut all, at.b, ns, step);
                }
                _ => (),
            }
        }
    }
    outside(log, analysis, options, |worker, ns, step| slot(&mut all, worker, ns, step));
    // At one moment: stop, migrate, spawn, run, wake.
    let rank = |step: &ScheduleStep| match step {
        ScheduleStep::Stop(..) => 0,
        ScheduleStep::Migrate { .. } => 1,
        ScheduleStep::Spawn(_) => 2,
        ScheduleStep::Run(_) => 3,
        ScheduleStep::Wake { .. } | ScheduleStep::WokenOutside { .. } => 4,
    };
    all.iter_mut().for_each(|(_, steps)| steps.sort_by_key(|(ns, step)| (*ns, rank(step))));
    all
}

/// The wakes by OS threads that are not workers, each at the worker on which its thread ran next.
fn outside(
    log: &Log,
    analysis: &Analysis,
    options: ExportOptions,
    mut put: impl FnMut(u32, u64, ScheduleStep),
) {
    let wakes = log.outside.events.iter().enumerate();
    let wakes = wakes.filter(|(_, at)| at.event.wakes() && options.holds(at.ns));
    let mut starts: HashMap<u32, Vec<(u64, u32)>> = wakes.clone().map(|(_, at)| (at.a, Vec::new())).collect();
    for worker in &analysis.workers {
        for slice in &worker.slices {
            if let Some(of_thread) = starts.get_mut(&slice.thread) {
                of_thread.push((slice.begin_ns, worker.number));
            }
        }
    }
    starts.values_mut().for_each(|of_thread| of_thread.sort_unstable());
    for (event, at) in wakes {
        let of_thread = &starts[&at.a];
        if let Some((_, worker)) = of_thread.get(of_thread.partition_point(|(ns, _)| *ns < at.ns)) {
            put(*worker, options.time(at.ns), ScheduleStep::WokenOutside { thread: at.a, event });
        }
    }
}

#[cfg(test)]
mod tests;
