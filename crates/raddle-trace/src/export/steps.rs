//! Owns: what happened on each worker, in the form that the exporters of timelines share.
//! May use: `analysis`, `event`, `log`.
//! Never: the steps of all workers at once: of a long trace they would take more memory than the trace.

use super::ExportOptions;
use crate::analysis::{Analysis, WorkerTime};
use crate::event::{Event, StopReason, unpack};
use crate::log::{Log, Worker};
use std::collections::{BTreeSet, HashMap};

/// An event on one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScheduleStep {
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

impl ScheduleStep {
    /// At one moment: stop, migrate, spawn, run, wake.
    fn rank(self) -> u8 {
        match self {
            ScheduleStep::Stop(..) => 0,
            ScheduleStep::Migrate { .. } => 1,
            ScheduleStep::Spawn(_) => 2,
            ScheduleStep::Run(_) => 3,
            ScheduleStep::Wake { .. } | ScheduleStep::WokenOutside { .. } => 4,
        }
    }
}

/// The steps of each worker, made when they are asked for.
pub(super) struct Steps<'a> {
    log: &'a Log,
    analysis: &'a Analysis,
    options: ExportOptions,
    /// What is recorded elsewhere than at the worker to which it belongs: the worker's number, and when.
    elsewhere: HashMap<u32, Vec<(u64, ScheduleStep)>>,
}

impl<'a> Steps<'a> {
    pub(super) fn of(log: &'a Log, analysis: &'a Analysis, options: ExportOptions) -> Steps<'a> {
        let mut elsewhere: HashMap<u32, Vec<(u64, ScheduleStep)>> = HashMap::new();
        for worker in &log.workers {
            let migrations = worker.events.iter().filter(|at| at.event == Event::Migrate);
            for at in migrations.filter(|at| options.holds(at.ns)) {
                let step = ScheduleStep::Migrate { thread: at.a, to: worker.number };
                elsewhere.entry(at.b).or_default().push((options.time(at.ns), step));
            }
        }
        outside(log, analysis, options, |worker, ns, step| {
            elsewhere.entry(worker).or_default().push((ns, step));
        });
        Steps { log, analysis, options, elsewhere }
    }

    /// The steps of a worker, in order; every `Run` has its `Stop`.
    pub(super) fn of_worker(&self, worker: &Worker) -> Vec<(u64, ScheduleStep)> {
        let mut steps = self.elsewhere.get(&worker.number).cloned().unwrap_or_default();
        self.slices(worker.number, |ns, step| steps.push((ns, step)));
        for at in worker.events.iter().filter(|at| self.options.holds(at.ns)) {
            let step = match at.event {
                Event::Spawn => ScheduleStep::Spawn(at.a),
                Event::Wake => ScheduleStep::Wake { thread: at.a, target: u32::from(unpack(at.b).0) },
                _ => continue,
            };
            steps.push((self.options.time(at.ns), step));
        }
        // Stable, so that what ends and begins at one moment keeps its order.
        steps.sort_by_key(|(ns, step)| (*ns, step.rank()));
        steps
    }

    /// Begins and ends of the slices of a worker.
    fn slices(&self, number: u32, mut put: impl FnMut(u64, ScheduleStep)) {
        for worker in self.analysis.workers.iter().filter(|worker| worker.number == number) {
            for slice in &worker.slices {
                if let Some((begin, end)) = self.options.part(slice.begin_ns, slice.end_ns) {
                    put(begin, ScheduleStep::Run(slice.thread));
                    put(end, ScheduleStep::Stop(slice.thread, slice.stopped));
                }
            }
        }
    }

    /// The threads that the steps name.
    pub(super) fn threads(&self) -> BTreeSet<u32> {
        let within =
            |slice: &&crate::analysis::Slice| self.options.part(slice.begin_ns, slice.end_ns).is_some();
        let slices = self.analysis.workers.iter().flat_map(|worker: &WorkerTime| &worker.slices);
        let run = slices.filter(within).map(|slice| slice.thread);
        let events = self.log.workers.iter().flat_map(|worker| &worker.events);
        let named = |event: Event| matches!(event, Event::Spawn | Event::Wake | Event::Migrate);
        let made = events.filter(|at| named(at.event) && self.options.holds(at.ns)).map(|at| at.a);
        let outside = self.log.outside.events.iter().filter(|at| self.options.holds(at.ns));
        run.chain(made).chain(outside.map(|at| at.a)).collect()
    }
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
