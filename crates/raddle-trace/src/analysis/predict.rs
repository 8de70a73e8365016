//! Owns: how long a run would have taken if an advice had been followed.
//! May use: `timeline`, `replay`, `labels`.
//! Never: a forecast where the trace says too little for one; a figure where it is a range.
//!
//! What the trace itself says: a thread that ran alone, split among all workers, leaves its share; on fewer workers,
//! which have their cores for themselves, all that ran runs. Where threads waited beside an idle worker, the run is
//! done again, in thought, with all of it open to every worker. What is left to chance then is who takes the last
//! piece, and whether what has begun moves; so it is done in two ways, and may come to a range.
//!
//! A placement changes who waits for whom. So the run on one worker is done again on more of them: without the cost of
//! wakes that cross workers, and with each wake of a worker that sleeps taking as long as in the other trace. What
//! comes in another order than on one worker takes longer, as the traces say (`order`). What else two cores that work
//! at once cost each other is left out.

use super::Analysis;
use super::idle::Class;
use super::kernel;
use super::labels;
use super::order;
use super::places::Places;
use super::replay::{self, Place, Replay, Rules, Ways};
use super::timeline::WorkerTime;
use super::verdict::Advice;
use crate::event::Freedom;
use crate::log::Log;
use std::collections::HashMap;
use std::fmt;

/// How long a run would take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// If it is recorded as the trace was of which this is the forecast.
    pub recorded: Range,
    /// If nothing is recorded; none if the trace does not say what a reading of its clock takes.
    pub bare: Option<Range>,
}

/// From so many nanoseconds to so many, which are two ways that it may go, and no bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// If it goes well.
    pub least_ns: u64,
    /// If it goes less well.
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
    /// Whether it may bring a twentieth of what it took.
    pub(super) fn is_worth_it(&self, wall_ns: u64) -> bool {
        self.recorded.least_ns < wall_ns - wall_ns / 20
    }
}

impl fmt::Display for Range {
    /// One figure, if both are the same to a twentieth.
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
    /// One range, if both are the same to a twentieth.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let near = |one: u64, other: u64| one.abs_diff(other) <= one / 20;
        let recorded = self.recorded;
        match self.bare {
            Some(bare)
                if !near(recorded.least_ns, bare.least_ns) || !near(recorded.most_ns, bare.most_ns) =>
            {
                write!(f, "{recorded} recorded like this, about {bare} without a trace")
            }
            _ => write!(f, "{recorded}"),
        }
    }
}

/// What a record takes of a run, in readings of the clock: from what it took on a line of 2000 processes, where the
/// switch waits for memory meanwhile, to what it took of two that hand each other numbers (bench `trace_event`).
const STAMPS_A_RECORD: [f64; 2] = [1.1, 2.0];

/// What a record takes, if it goes either way, in nanoseconds; none if the trace does not say what its clock takes. Not
/// more than there was of half of the runs for each of theirs.
fn record_ns(log: &Log, workers: &[WorkerTime]) -> Option<[u64; 2]> {
    let stamp: f64 = log.about("stamp_ns")?.parse().ok()?;
    let prices = STAMPS_A_RECORD.map(|stamps| (stamps * stamp).round() as u64);
    let most = replay::ns_a_record(log, workers).unwrap_or(u64::MAX).max(prices[0]);
    (0.0..1e6).contains(&stamp).then(|| prices.map(|price| price.min(most)))
}

/// The same forecast of what was recorded, and of what would be without: `of` gets what a record takes.
fn both(log: &Log, workers: &[WorkerTime], of: impl Fn(u64) -> Option<Range>) -> Option<Forecast> {
    let bare = record_ns(log, workers).and_then(|[one, other]| {
        let (one, other) = (of(one)?, of(other)?);
        Some(Range { least_ns: one.least_ns.min(other.least_ns), most_ns: one.most_ns.max(other.most_ns) })
    });
    Some(Forecast { recorded: of(0)?, bare })
}

/// How long it would take if the advice were followed, as far as the trace itself says so.
pub(super) fn followed(log: &Log, advice: &Advice, workers: &[WorkerTime]) -> Option<Forecast> {
    let count = cores(log, workers) as u64;
    let sum = |of: fn(&WorkerTime) -> u64| workers.iter().map(of).sum::<u64>();
    let ran = sum(|worker| worker.running_ns);
    // Of what ran, so much was recording.
    let records = log.workers.iter().flat_map(|worker| &worker.events);
    let records = records.filter(|at| at.ns >= log.begin_ns && replay::takes_time(at.event)).count() as u64;
    let less = |ns: u64, record_ns: u64| {
        let records = records.saturating_mul(record_ns).min(ran);
        ns - (u128::from(ns) * u128::from(records))
            .checked_div(ran.into())
            .map_or(0, |part| part as u64)
            .min(ns)
    };
    match advice {
        Advice::Split(_, alone_ns) => both(log, workers, |record_ns| {
            let left = log.wall_ns().saturating_sub(alone_ns - alone_ns / count);
            Some(Range::exactly(less(left, record_ns)))
        }),
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

/// How many workers can run at once.
fn cores(log: &Log, workers: &[WorkerTime]) -> usize {
    let cores = log.about("cores").and_then(|cores| cores.parse().ok()).filter(|cores| *cores > 0);
    workers.len().min(cores.unwrap_or(usize::MAX)).max(1)
}

/// What was misplaced, on whichever worker is free, but for what the program has placed. What stays where it has begun
/// does so, unless all of that `becomes_movable`; of what the trace does not say so, it may be.
fn open_to_all(log: &Log, workers: &[WorkerTime], becomes_movable: bool) -> Option<Forecast> {
    let (replay, places) = (Replay::of(log, workers), Places::of(log));
    let place = |unsaid: Place| {
        let places = &places;
        move |thread: u32| match (places.home(thread), places.freedom(thread)) {
            (Some(home), _) => Place::At(home),
            _ if becomes_movable => Place::Any,
            // Of a worker beyond the 255th is not said which it is.
            (None, Freedom::UntilBegun | Freedom::Placed) => Place::WhereBegun,
            (None, Freedom::Unsaid) => unsaid,
            (None, _) => Place::Any,
        }
    };
    let (count, ways) = (cores(log, workers), ways(workers));
    both(log, workers, |record_ns| {
        let rules = Rules { workers: count, ways, last_stays: false, record_ns, order_ns: 0 };
        let chance = Rules { last_stays: true, ..rules };
        let free = replay.finish(rules, place(Place::Any))?;
        Some(Range::of(free, replay.finish(chance, place(Place::WhereBegun))?))
    })
}

/// What the program has placed of this label, dealt to the workers in turn; or begun by whoever is free.
fn spread(log: &Log, workers: &[WorkerTime], label: &str) -> Option<Forecast> {
    let (replay, places) = (Replay::of(log, workers), Places::of(log));
    let (count, ways) = (cores(log, workers), ways(workers));
    let deal = |in_turn: bool| {
        let (places, mut next) = (&places, 0..);
        move |thread: u32| match (places.home(thread), places.freedom(thread)) {
            (Some(_), _) if labels::split(&log.name(thread)).0 == label => match next.next() {
                Some(next) if in_turn => Place::At(next % count),
                _ => Place::WhereBegun,
            },
            (Some(home), _) => Place::At(home),
            (None, Freedom::Always) => Place::Any,
            (None, _) => Place::WhereBegun,
        }
    };
    both(log, workers, |record_ns| {
        let rules = Rules { workers: count, ways, last_stays: false, record_ns, order_ns: 0 };
        Some(Range::of(replay.finish(rules, deal(true))?, replay.finish(rules, deal(false))?))
    })
}

/// How long what ran on one worker would take on those of `two`, with these segments of a label each on a worker of its
/// own, and all else where it was in `two`.
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
        Place::At(segment.or_else(|| homes.get(&name).copied()).unwrap_or(0) % workers)
    };
    let (replay, ways) = (Replay::of(log, &one.1.workers), ways(&two.1.workers));
    let order_ns = order::price_ns(&one.1.workers, &two.1.workers);
    both(log, &one.1.workers, |record_ns| {
        let rules = Rules { workers, ways, last_stays: false, record_ns, order_ns };
        let free = Rules { ways: Ways::default(), ..rules };
        Some(Range::of(replay.finish(free, place)?, replay.finish(rules, place)?))
    })
}

/// How long the way to a worker that had nothing to do took, by the length of its idleness: at the median of such
/// ways, else of all, else what it takes on a calm machine.
fn ways(workers: &[WorkerTime]) -> Ways {
    let mut by_place: Vec<Vec<u64>> = Ways::default().ns.map(|_| Vec::new()).into();
    for gap in workers.iter().flat_map(|worker| &worker.gaps).filter(|gap| gap.after != 0) {
        let last = gap.parts.iter().rfind(|(class, _)| *class != Class::Kernel);
        if let Some((Class::HandOff, ns)) = last {
            let after: u64 =
                gap.parts.iter().filter(|(class, _)| *class == Class::Kernel).map(|part| part.1).sum();
            by_place[Ways::place(gap.ns().saturating_sub(ns + after))].push(*ns);
        }
    }
    let median = |of: &mut Vec<u64>| {
        of.sort_unstable();
        (of.len() >= WAYS_MIN).then(|| of[of.len() / 2])
    };
    let all = median(&mut by_place.concat()).unwrap_or(kernel::WAKE_NS);
    let mut ways = Ways::default();
    for (ns, of) in ways.ns.iter_mut().zip(&mut by_place) {
        *ns = median(of).unwrap_or(all);
    }
    ways
}

/// Fewer ways have no median worth the name.
const WAYS_MIN: usize = 8;

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
