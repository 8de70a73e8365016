//! Owns: `Analysis`: every number that is shown of a trace.
//! May use: `log`.
//! Never: drawing; text, JSON and the page show what stands here.
//!
//! Time is conserved: for every worker, running + idle of each class + overhead is the wall time (`timeline`, `idle`).
//! From that come the verdict (`verdict`), the wake edges and wait objects (`edges`), the spread (`spread`), and the
//! comparison of two traces (`diff`), and what an advice would bring (`predict`). Two more things are there to be
//! looked at: the chain of what waited for what (`path`), and what the program itself said (`own`).

mod diff;
mod door;
mod edges;
mod idle;
mod jobs;
mod kernel;
mod labels;
mod order;
mod own;
mod path;
mod places;
mod predict;
mod replay;
mod spread;
mod text;
mod timeline;
mod verdict;

pub use diff::{Change, Diff, diff};
pub use door::{Door, Said};
pub use edges::{Edge, WaitObject};
pub use idle::{Class, Decades};
pub use jobs::Jobs;
pub use own::{Own, Point, Span};
pub use path::Path;
pub use predict::{Forecast, Range};
pub use spread::Spread;
pub use text::{duration, json, report};
pub use timeline::{Gap, Slice, WorkerTime};
pub use verdict::{Advice, Verdict};

use crate::log::Log;

/// All that is known of a trace.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The time of which all workers' records are there, in nanoseconds.
    pub wall_ns: u64,
    /// Each worker's time.
    pub workers: Vec<WorkerTime>,
    /// Wakes from one label to another that crossed workers, most time lost first.
    pub edges: Vec<Edge>,
    /// What was waited for, longest first.
    pub waits: Vec<WaitObject>,
    /// How evenly the members of each label ran.
    pub spreads: Vec<Spread>,
    /// Started threads that came to another worker.
    pub migrations: u64,
    /// Steals that got something.
    pub steals: u64,
    /// How long at least two workers ran at the same time.
    pub together_ns: u64,
    /// What the end had to wait for.
    pub path: Path,
    /// What became of forks that were promoted.
    pub jobs: Jobs,
    /// The program's own spans, marks and counters.
    pub own: Own,
    /// What it comes to.
    pub verdict: Verdict,
    /// How long the run would have taken if the verdict's advice had been followed, if the trace says so.
    pub predicted: Option<Forecast>,
}

impl Analysis {
    /// Analyses a trace.
    pub fn of(log: &Log) -> Analysis {
        let by_time = log.by_time();
        let mut workers: Vec<WorkerTime> =
            log.workers.iter().map(|worker| timeline::of_worker(worker, log.begin_ns, log.end_ns)).collect();
        let ready = idle::Ready::of(&by_time, log.begin_ns);
        idle::classify(&mut workers, &by_time, &ready);
        workers.iter_mut().for_each(kernel::charge);
        let edges = edges::crossing(log, &workers, &by_time);
        let mut verdict = verdict::of(log, &workers, &edges);
        let mut predicted = predict::followed(log, &verdict.advice, &workers);
        if verdict.advice.moves()
            && predicted.is_some_and(|forecast| !forecast.is_worth_it(log.wall_ns()))
            && let split @ Advice::Split(..) = verdict::longest_alone(log, &workers)
            && let Some(of_split) = predict::followed(log, &split, &workers)
            && of_split.is_worth_it(log.wall_ns())
        {
            // What waited was not worth moving: it waited for one thread, which was all that there was.
            predicted = Some(of_split);
            verdict.advice = split;
        }
        Analysis {
            wall_ns: log.wall_ns(),
            waits: edges::waits(log, &by_time),
            spreads: spread::of(log, &workers),
            migrations: count(log, crate::Event::Migrate),
            steals: count(log, crate::Event::Steal),
            together_ns: timeline::together_ns(&workers),
            path: path::of(log, &workers),
            jobs: jobs::of(&by_time),
            own: own::of(&by_time),
            predicted: predicted.filter(|_| verdict.door.places() || !verdict.advice.is_place()),
            verdict,
            workers,
            edges,
        }
    }

    /// The nanoseconds of all workers that ran something.
    pub fn running_ns(&self) -> u64 {
        self.workers.iter().map(|worker| worker.running_ns).sum()
    }

    /// The nanoseconds of all workers that were idle in this class.
    pub fn idle_ns(&self, class: Class) -> u64 {
        self.workers.iter().map(|worker| worker.idle_ns(class)).sum()
    }

    /// The nanoseconds of all workers in which neither anything ran nor anything was waited for.
    pub fn overhead_ns(&self) -> u64 {
        self.workers.iter().map(|worker| worker.overhead_ns).sum()
    }
}

/// The label of a name: what it belongs to, without its number.
pub fn label(name: &str) -> &str {
    labels::split(name).0
}

fn count(log: &Log, event: crate::Event) -> u64 {
    let events = log.workers.iter().flat_map(|worker| &worker.events);
    events.filter(|at| at.event == event && at.ns >= log.begin_ns).count() as u64
}

#[cfg(test)]
mod tests;
