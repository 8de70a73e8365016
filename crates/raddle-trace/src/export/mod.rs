//! Owns: turning a log into the files of other tools.
//! May use: `log`, `analysis`.
//! Never: a number of its own.

mod csv;
mod eventlog;
mod own;
mod perfetto;
mod protobuf;

use crate::analysis::Analysis;
use crate::event::StopReason;
use crate::log::Log;
use std::collections::HashMap;

/// The files that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Protocol buffers for the Perfetto UI and its trace processor: workers as processors, threads as threads.
    Perfetto,
    /// GHC's event log, for ThreadScope: workers as capabilities.
    Eventlog,
    /// A row an event, for spreadsheets and scripts.
    Csv,
}

/// What of a trace is exported, and how.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// From when, in nanoseconds of the trace.
    pub from_ns: u64,
    /// Until when.
    pub until_ns: u64,
    /// Times are multiplied by this: ThreadScope shows nothing shorter than a microsecond.
    pub time_scale: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { from_ns: 0, until_ns: u64::MAX, time_scale: 1 }
    }
}

impl Format {
    /// The words of the formats, for options and messages.
    pub const NAMES: [(&'static str, Format); 3] =
        [("perfetto", Format::Perfetto), ("eventlog", Format::Eventlog), ("csv", Format::Csv)];

    /// What such a file's name ends in.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Perfetto => "pftrace",
            Format::Eventlog => "eventlog",
            Format::Csv => "csv",
        }
    }
}

/// The bytes of the file.
pub fn export(log: &Log, analysis: &Analysis, format: Format, options: Options) -> Vec<u8> {
    match format {
        Format::Perfetto => perfetto::export(log, analysis, options),
        Format::Eventlog => eventlog::export(log, analysis, options),
        Format::Csv => csv::export(log, options).into_bytes(),
    }
}

impl Options {
    fn holds(self, ns: u64) -> bool {
        (self.from_ns..=self.until_ns).contains(&ns)
    }

    /// The part of a stretch that is wanted, scaled and counted from `from_ns`.
    fn part(self, begin: u64, end: u64) -> Option<(u64, u64)> {
        let (begin, end) = (begin.max(self.from_ns), end.min(self.until_ns));
        (begin < end).then(|| (self.time(begin), self.time(end)))
    }

    fn time(self, ns: u64) -> u64 {
        ns.saturating_sub(self.from_ns).saturating_mul(self.time_scale.max(1))
    }
}

/// Something that happens on one worker, between which exporters only differ in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
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
    /// By an OS thread that is no worker: this event of those outside. Stands at the worker on which it then ran.
    WokenOutside {
        thread: u32,
        event: usize,
    },
}

/// What happens on each worker, in order; every run has its stop.
fn steps(log: &Log, analysis: &Analysis, options: Options) -> Vec<(u32, Vec<(u64, Step)>)> {
    let mut all: Vec<(u32, Vec<(u64, Step)>)> =
        log.workers.iter().map(|worker| (worker.number, Vec::new())).collect();
    let slot = |all: &mut Vec<(u32, Vec<(u64, Step)>)>, number: u32, ns: u64, step: Step| {
        if let Some((_, steps)) = all.iter_mut().find(|(worker, _)| *worker == number) {
            steps.push((ns, step));
        }
    };
    for worker in &analysis.workers {
        for slice in &worker.slices {
            if let Some((begin, end)) = options.part(slice.begin_ns, slice.end_ns) {
                slot(&mut all, worker.number, begin, Step::Run(slice.thread));
                slot(&mut all, worker.number, end, Step::Stop(slice.thread, slice.stopped));
            }
        }
    }
    for worker in &log.workers {
        for at in worker.events.iter().filter(|at| options.holds(at.ns)) {
            let ns = options.time(at.ns);
            match at.event {
                crate::Event::Spawn => slot(&mut all, worker.number, ns, Step::Spawn(at.a)),
                crate::Event::Wake => {
                    let target = u32::from(crate::event::unpack(at.b).0);
                    slot(&mut all, worker.number, ns, Step::Wake { thread: at.a, target });
                }
                crate::Event::Migrate => {
                    let step = Step::Migrate { thread: at.a, to: worker.number };
                    slot(&mut all, at.b, ns, step);
                }
                _ => (),
            }
        }
    }
    outside(log, analysis, options, |worker, ns, step| slot(&mut all, worker, ns, step));
    // At one moment: stop, migrate, spawn, run, wake.
    let rank = |step: &Step| match step {
        Step::Stop(..) => 0,
        Step::Migrate { .. } => 1,
        Step::Spawn(_) => 2,
        Step::Run(_) => 3,
        Step::Wake { .. } | Step::WokenOutside { .. } => 4,
    };
    all.iter_mut().for_each(|(_, steps)| steps.sort_by_key(|(ns, step)| (*ns, rank(step))));
    all
}

/// The wakes by OS threads that are no workers, each at the worker on which its thread ran next.
fn outside(log: &Log, analysis: &Analysis, options: Options, mut put: impl FnMut(u32, u64, Step)) {
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
            put(*worker, options.time(at.ns), Step::WokenOutside { thread: at.a, event });
        }
    }
}

#[cfg(test)]
mod tests;
