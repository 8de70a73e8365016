//! Owns: the prediction: how long a run would have taken had an advice been followed.
//! May use: `event`, `log`.
//! Never: a prediction for which the trace says too little; a single figure where there is a range.
//!
//! Some advice needs no simulation. A thread that ran alone, split among all workers, leaves its share of the time. On
//! fewer workers, each of which has a core for itself, the sum of all running time remains. Where threads waited beside
//! an idle worker, a what-if simulation runs them with every worker allowed to take them. It leaves two things to
//! chance: who takes the last piece, and whether a started thread moves. So it is run both ways, and gives a range.
//!
//! A placement changes who waits for whom. So the trace of one worker is simulated on more of them: once with free
//! wakes across workers, and once with the wake latency that the other trace shows. A slice that comes in another order
//! than on one worker takes longer, by as much as the traces show (`order`). The other costs of two cores that work at
//! once, such as shared caches, are left out.

use super::Analysis;
use super::idle::Class;
use super::kernel;
use super::labels;
use super::order;
use super::placement::Placements;
use super::simulate::{self, Placement, Rules, Simulation, WakeLatency};
use super::timeline::WorkerTime;
use super::verdict::{self, Advice};
use crate::event::Freedom;
use crate::log::Log;
use std::collections::HashMap;
use std::fmt;

/// A prediction of a run's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// If it is traced as the recorded run was.
    pub recorded: Range,
    /// If it is not traced; `None` if the trace does not say what a reading of its clock costs.
    pub bare: Option<Range>,
}

/// The results of two simulations, in nanoseconds. They are likely outcomes, not bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The shorter one.
    pub least_ns: u64,
    /// The longer one.
    pub most_ns: u64,
}

impl Range {
    fn of(one: u64, other: u64) -> Range {
        Range { least_ns: one.min(other), most_ns: one.max(other) }
    }

    fn exactly(ns: u64) -> Range {
        Range::of(ns, ns)
    }
}

impl Forecast {
    /// Whether it may save a twentieth of the time.
    pub(super) fn is_worth_it(&self, wall_ns: u64) -> bool {
        self.recorded.least_ns < wall_ns - wall_ns / 20
    }
}

impl fmt::Display for Range {
    /// One figure if both are equal within a twentieth.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let d = super::duration;
        let (least, most) = (self.least_ns, self.most_ns);
        if most - least <= least / 20 {
            return f.write_str(&d(least + (most - least) / 2));
        }
        write!(f, "{} to {}", d(least), d(most))
    }
}

impl fmt::Display for Forecast {
    /// One range if both are equal within a twentieth.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let near = |one: u64, other: u64| one.abs_diff(other) <= one / 20;
        let recorded = self.recorded;
        match self.bare {
            Some(bare)
                if !near(recorded.least_ns, bare.least_ns) || !near(recorded.most_ns, bare.most_ns) =>
            {
                write!(f, "{recorded} with tracing, about {bare} without")
            }
            _ => write!(f, "{recorded}"),
        }
    }
}

/// The cost of a record, in readings of the clock: the smaller one on a line of 2000 processes, where the switch waits
/// for memory meanwhile, the larger one on two processes that send each other numbers (bench `trace_event`).
const STAMPS_PER_RECORD: [f64; 2] = [1.1, 2.0];

/// The smaller and the larger cost of a record, in nanoseconds; `None` if the trace does not say what its clock costs.
/// Bounded by the median time per record of all slices.
fn record_ns(log: &Log, workers: &[WorkerTime]) -> Option<[u64; 2]> {
    let stamp: f64 = log.about("stamp_ns")?.parse().ok()?;
    let prices = STAMPS_PER_RECORD.map(|stamps| (stamps * stamp).round() as u64);
    let most = simulate::ns_per_record(log, workers).unwrap_or(u64::MAX).max(prices[0]);
    (0.0..1e6).contains(&stamp).then(|| prices.map(|price| price.min(most)))
}

/// A prediction with and without tracing; `of` gets the cost of a record that is to be subtracted.
fn both(log: &Log, workers: &[WorkerTime], of: impl Fn(u64) -> Option<Range>) -> Option<Forecast> {
    let bare = record_ns(log, workers).and_then(|[one, other]| {
        let (one, other) = (of(one)?, of(other)?);
        Some(Range { least_ns: one.least_ns.min(other.least_ns), most_ns: one.most_ns.max(other.most_ns) })
    });
    Some(Forecast { recorded: of(0)?, bare })
}

/// The prediction for an advice, if one trace is enough for it.
pub(super) fn followed(log: &Log, advice: &Advice, workers: &[WorkerTime]) -> Option<Forecast> {
    let count = cores(log, workers) as u64;
    let sum = |of: fn(&WorkerTime) -> u64| workers.iter().map(of).sum::<u64>();
    let ran = sum(|worker| worker.running_ns);
    // The part of the running time that went into recording.
    let records = log.workers.iter().flat_map(|worker| &worker.events);
    let records = records.filter(|at| at.ns >= log.begin_ns && simulate::takes_time(at.event)).count() as u64;
    let less = |ns: u64, record_ns: u64| {
        let records = records.saturating_mul(record_ns).min(ran);
        ns - (u128::from(ns) * u128::from(records))
            .checked_div(ran.into())
            .map_or(0, |part| part as u64)
            .min(ns)
    };
    match advice {
        Advice::Split(name, alone_ns) => {
            // Each time, somebody has to be woken for the other parts, who has been idle for that long.
            let latency = wake_latency(workers).ns;
            let wake_ns = latency[latency.len() - 1];
            let wakes_ns = verdict::times_alone(log, workers, name, wake_ns).saturating_mul(wake_ns);
            both(log, workers, |record_ns| {
                let left = log.wall_ns().saturating_sub(alone_ns - alone_ns / count);
                let most = left.saturating_add(wakes_ns).min(log.wall_ns());
                Some(Range::of(less(left, record_ns), less(most, record_ns)))
            })
        }
        Advice::FewerWorkers(fewer) => both(log, workers, |record_ns| {
            let all = ran + sum(|worker| worker.overhead_ns);
            Some(Range::exactly(less(all / (*fewer).max(1) as u64, record_ns)))
        }),
        Advice::Migrate => open_to_all(log, workers, false),
        Advice::MakeMovable => open_to_all(log, workers, true),
        Advice::Spread(label) => spread(log, workers, label),
        _ => None,
    }
}

/// How many workers can run at the same time.
fn cores(log: &Log, workers: &[WorkerTime]) -> usize {
    let cores = log.about("cores").and_then(|cores| cores.parse().ok()).filter(|cores| *cores > 0);
    workers.len().min(cores.unwrap_or(usize::MAX)).max(1)
}

/// The prediction if any free worker may take threads that the program has not placed. Threads that stay where they
/// started do so, unless they all become movable (`becomes_movable`); unknown ones are tried both ways.
fn open_to_all(log: &Log, workers: &[WorkerTime], becomes_movable: bool) -> Option<Forecast> {
    let (simulate, placement) = (Simulation::of(log, workers), Placements::of(log));
    let place = |unsaid: Placement| {
        let placement = &placement;
        move |thread: u32| match (placement.home(thread), placement.freedom(thread)) {
            (Some(home), _) => Placement::At(home),
            _ if becomes_movable => Placement::Any,
            // A trace does not say which worker it is beyond the 255th.
            (None, Freedom::UntilBegun | Freedom::Placed) => Placement::WhereStarted,
            (None, Freedom::Unsaid) => unsaid,
            (None, _) => Placement::Any,
        }
    };
    let (count, wake_latency) = (cores(log, workers), wake_latency(workers));
    both(log, workers, |record_ns| {
        let rules = Rules { workers: count, wake_latency, keep_last: false, record_ns, out_of_order_ns: 0 };
        let chance = Rules { keep_last: true, ..rules };
        let free = simulate.length_ns(rules, place(Placement::Any))?;
        Some(Range::of(free, simulate.length_ns(chance, place(Placement::WhereStarted))?))
    })
}

/// The prediction if the placed threads of this label are distributed over the workers: round robin, or to whichever
/// is free.
fn spread(log: &Log, workers: &[WorkerTime], label: &str) -> Option<Forecast> {
    let (simulate, placement) = (Simulation::of(log, workers), Placements::of(log));
    let (count, wake_latency) = (cores(log, workers), wake_latency(workers));
    let distribute = |round_robin: bool| {
        let (placement, mut next) = (&placement, 0..);
        move |thread: u32| match (placement.home(thread), placement.freedom(thread)) {
            (Some(_), _) if labels::split(&log.name(thread)).0 == label => match next.next() {
                Some(next) if round_robin => Placement::At(next % count),
                _ => Placement::WhereStarted,
            },
            (Some(home), _) => Placement::At(home),
            (None, Freedom::Always) => Placement::Any,
            (None, _) => Placement::WhereStarted,
        }
    };
    both(log, workers, |record_ns| {
        let rules = Rules { workers: count, wake_latency, keep_last: false, record_ns, out_of_order_ns: 0 };
        Some(Range::of(
            simulate.length_ns(rules, distribute(true))?,
            simulate.length_ns(rules, distribute(false))?,
        ))
    })
}

/// The prediction for the run of one worker on the workers of `two`, with each of these segments of a label on a worker
/// of its own, and everything else where it was in `two`.
pub(super) fn placed(
    one: (&Log, &Analysis),
    two: (&Log, &Analysis),
    label: &str,
    segments: &[(u64, u64)],
) -> Option<Forecast> {
    let (log, workers) = (one.0, cores(two.0, &two.1.workers));
    let homes = homes(two.0, two.1);
    let place = |thread: u32| {
        let name = log.name(thread);
        let (own, number) = labels::split(&name);
        let number = number.filter(|_| own == label);
        let segment =
            number.and_then(|n| segments.iter().position(|(first, last)| (*first..=*last).contains(&n)));
        Placement::At(segment.or_else(|| homes.get(&name).copied()).unwrap_or(0) % workers)
    };
    let (simulate, wake_latency) = (Simulation::of(log, &one.1.workers), wake_latency(&two.1.workers));
    let out_of_order_ns = order::cost_ns(&one.1.workers, &two.1.workers);
    both(log, &one.1.workers, |record_ns| {
        let rules = Rules { workers, wake_latency, keep_last: false, record_ns, out_of_order_ns };
        let free = Rules { wake_latency: WakeLatency::default(), ..rules };
        Some(Range::of(simulate.length_ns(free, place)?, simulate.length_ns(rules, place)?))
    })
}

/// The wake latency of idle workers, by how long they had been idle: the median of such wakes, else of all wakes, else
/// that of a quiet machine.
fn wake_latency(workers: &[WorkerTime]) -> WakeLatency {
    let mut by_length: Vec<Vec<u64>> = WakeLatency::default().ns.map(|_| Vec::new()).into();
    for gap in workers.iter().flat_map(|worker| &worker.gaps).filter(|gap| gap.after != 0) {
        let last = gap.parts.iter().rfind(|(class, _)| *class != Class::Kernel);
        if let Some((Class::HandOff, ns)) = last {
            let after: u64 =
                gap.parts.iter().filter(|(class, _)| *class == Class::Kernel).map(|part| part.1).sum();
            by_length[WakeLatency::index(gap.ns().saturating_sub(ns + after))].push(*ns);
        }
    }
    let median = |of: &mut Vec<u64>| {
        of.sort_unstable();
        (of.len() >= WAKES_MIN).then(|| of[of.len() / 2])
    };
    let all = median(&mut by_length.concat()).unwrap_or(kernel::WAKE_NS);
    let mut wake_latency = WakeLatency::default();
    for (ns, of) in wake_latency.ns.iter_mut().zip(&mut by_length) {
        *ns = median(of).unwrap_or(all);
    }
    wake_latency
}

/// With fewer wakes the median is not reliable.
const WAKES_MIN: usize = 8;

/// On which worker each name ran first.
fn homes(log: &Log, analysis: &Analysis) -> HashMap<String, usize> {
    let mut first: HashMap<u32, (u64, usize)> = HashMap::new();
    for (place, worker) in analysis.workers.iter().enumerate() {
        for slice in &worker.slices {
            let at = first.entry(slice.thread).or_insert((slice.begin_ns, place));
            *at = (*at).min((slice.begin_ns, place));
        }
    }
    let mut first: Vec<(u64, usize, u32)> =
        first.into_iter().map(|(thread, (ns, place))| (ns, place, thread)).collect();
    first.sort_unstable();
    let mut homes = HashMap::new();
    for (_, place, thread) in first {
        homes.entry(log.name(thread)).or_insert(place);
    }
    homes
}

#[cfg(test)]
mod tests;
