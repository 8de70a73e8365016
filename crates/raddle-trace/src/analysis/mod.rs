//! Owns: `Analysis`: every figure that is shown of a trace.
//! May use: `event`, `log`.
//! Never: drawing; text, JSON and the page only show these figures.
//!
//! Time is conserved: for every worker, running + idle of each class + overhead is the wall time (`timeline`, `idle`).
//! From that come the verdict (`verdict`), lock convoys and wake storms (`convoy`, `storm`), the wakes between workers
//! and the wait objects (`edges`), the thread spread (`spread`), the comparison of two traces (`diff`), and the
//! predicted effect of an advice (`predict`, by what-if simulation in `simulate`). For reading there are also the
//! critical path (`path`), the program's own events (`user_events`), its teams (`teams`), its messages between ranks
//! (`messages`), and its transactions (`transactions`).

mod blocked;
mod convoy;
mod diff;
mod edges;
mod hardware;
mod idle;
mod jobs;
mod kernel;
mod labels;
mod language;
mod messages;
mod order;
mod path;
mod placement;
mod predict;
mod readied;
mod simulate;
mod spread;
mod storm;
mod teams;
mod text;
mod timeline;
mod transactions;
mod user_events;
mod verdict;

pub use blocked::Stay;
pub use convoy::Convoy;
pub use diff::{Change, Diff, diff};
pub use edges::{Edge, NOBODY, WaitObject, WaitedFor};
pub use hardware::{Hardware, SlowerBy};
pub use idle::{Class, Decades};
pub use jobs::Jobs;
pub use language::{InLanguage, Language};
pub use messages::{MessageBar, Messages, PeerWait, ProxyLook};
pub use path::Path;
pub use predict::{Forecast, Range};
pub use readied::EndedBy;
pub use spread::Spread;
pub use storm::Storm;
pub use teams::{TeamAdvice, TeamRegion, TeamTask, TeamWait, Teams};
pub use text::{duration, json, report};
pub use timeline::{Gap, Slice, WorkerTime};
pub use transactions::Transactions;
pub use user_events::{Point, Span, UserEvents};
pub use verdict::{Advice, Verdict};

use crate::log::{At, Log};
use std::collections::BTreeMap;

/// The analysis of a trace.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The time for which the records of all workers are complete, in nanoseconds.
    pub wall_ns: u64,
    /// Each worker's time.
    pub workers: Vec<WorkerTime>,
    /// Wakes across workers, by label; most latency first.
    pub edges: Vec<Edge>,
    /// What was waited for, longest first.
    pub waits: Vec<WaitObject>,
    /// Who waited for whom, longest first.
    pub waited: Vec<WaitedFor>,
    /// The thread spread of each label.
    pub spreads: Vec<Spread>,
    /// How long the threads of each label ran, in nanoseconds, the kernel's share and sleep in the kernel included.
    pub ran: BTreeMap<String, u64>,
    /// Sleep in the kernel, by label and call, in nanoseconds of all workers; longest first.
    pub stays: Vec<(String, Option<String>, u64)>,
    /// Idle time by what ended it, in words and nanoseconds of all workers; longest first.
    pub ends: Vec<(String, u64)>,
    /// How often a thread that had run moved to another worker.
    pub migrations: u64,
    /// How often a worker stole something.
    pub steals: u64,
    /// How long at least two workers ran at the same time.
    pub together_ns: u64,
    /// The critical path.
    pub path: Path,
    /// What became of forks that were promoted.
    pub jobs: Jobs,
    /// What became of transactions.
    pub transactions: Transactions,
    /// The program's own spans, marks and counters.
    pub user: UserEvents,
    /// How teams share out their regions, and where their members wait.
    pub teams: Teams,
    /// Messages between ranks, and who looked after them.
    pub messages: Messages,
    /// What the processor counted, if it could be asked.
    pub hardware: Option<Hardware>,
    /// The finding and the advice.
    pub verdict: Verdict,
    /// The predicted run time with the verdict's advice, if the trace allows a prediction.
    pub predicted: Option<Forecast>,
}

impl Analysis {
    /// Analyses a trace.
    pub fn of(log: &Log) -> Analysis {
        let by_time = log.by_time();
        let workers = times_by(log, &by_time);
        let edges = edges::crossing(log, &workers, &by_time);
        let path = path::of(log, &workers);
        let teams = teams::of(log, &by_time);
        let mut verdict = verdict::of(log, &workers, &edges, (&path, &teams), &by_time);
        let mut predicted = predict::followed(log, &verdict.advice, &workers);
        if verdict.advice.moves()
            && predicted.is_some_and(|forecast| !forecast.is_worth_it(log.wall_ns()))
            && let split @ Advice::Split(..) = verdict::alone(log, &workers)
            && let Some(of_split) = predict::followed(log, &split, &workers)
            && of_split.is_worth_it(log.wall_ns())
        {
            // Moving the waiting threads gains nothing: all of them waited for one long thread.
            predicted = Some(of_split);
            verdict.advice = split;
        }
        Analysis {
            wall_ns: log.wall_ns(),
            waits: edges::waits(log, &by_time),
            waited: edges::waited(log, &by_time),
            spreads: spread::of(log, &workers),
            ran: timeline::ran_by_label(log, &workers),
            stays: blocked::totals(log, &workers),
            ends: readied::totals(log, &workers),
            migrations: count(log, crate::Event::Migrate),
            steals: count(log, crate::Event::Steal),
            together_ns: timeline::together_ns(&workers),
            path,
            jobs: jobs::of(&by_time),
            transactions: transactions::of(log, &by_time),
            user: user_events::of(&by_time),
            teams,
            messages: messages::of(log, &by_time),
            hardware: Hardware::of(log),
            predicted: predicted.filter(|_| verdict.language.has_placement() || !verdict.advice.is_place()),
            verdict,
            workers,
            edges,
        }
    }

    /// Running time of all workers, in nanoseconds.
    pub fn running_ns(&self) -> u64 {
        self.workers.iter().map(|worker| worker.running_ns).sum()
    }

    /// Idle time of this class, of all workers, in nanoseconds.
    pub fn idle_ns(&self, class: Class) -> u64 {
        self.workers.iter().map(|worker| worker.idle_ns(class)).sum()
    }

    /// Time of all workers that is neither running nor idle, in nanoseconds.
    pub fn overhead_ns(&self) -> u64 {
        self.workers.iter().map(|worker| worker.overhead_ns).sum()
    }
}

/// Each worker's time, without the rest of the analysis: enough to check that times add up.
pub fn times(log: &Log) -> Vec<WorkerTime> {
    times_by(log, &log.by_time())
}

fn times_by(log: &Log, by_time: &[(u32, At)]) -> Vec<WorkerTime> {
    let mut workers: Vec<WorkerTime> =
        log.workers.iter().map(|worker| timeline::of_worker(worker, log.begin_ns, log.end_ns)).collect();
    let ready = idle::Ready::of(by_time, log.begin_ns);
    idle::classify(&mut workers, by_time, &ready, &placement::Placements::of(log));
    workers.iter_mut().for_each(kernel::charge);
    for (worker, recorded) in workers.iter_mut().zip(&log.workers) {
        blocked::charge(worker, &recorded.whereabouts);
    }
    workers
}

/// The label of a name: the name without the number at its end, and with `#` for each other number.
pub fn label(name: &str) -> std::borrow::Cow<'_, str> {
    labels::split(name).0
}

fn count(log: &Log, event: crate::Event) -> u64 {
    let events = log.workers.iter().flat_map(|worker| &worker.events);
    events.filter(|at| at.event == event && at.ns >= log.begin_ns).count() as u64
}

#[cfg(test)]
mod tests;
