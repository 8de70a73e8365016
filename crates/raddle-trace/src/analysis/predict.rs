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
//! wakes that cross workers, and with each wake of a worker that sleeps taking as long as in the other trace. What two
//! cores that work at once cost each other is left out.

use super::Analysis;
use super::idle::Class;
use super::kernel;
use super::labels;
use super::replay::{Replay, Rules};
use super::timeline::WorkerTime;
use super::verdict::Advice;
use crate::log::Log;
use std::collections::HashMap;
use std::fmt;

/// How long a run would take: from so many nanoseconds to so many, which are two ways that it may go, and no bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// If it goes well.
    pub least_ns: u64,
    /// If it goes less well.
    pub most_ns: u64,
}

impl Forecast {
    fn of(one: u64, other: u64) -> Forecast {
        Forecast { least_ns: one.min(other), most_ns: one.max(other) }
    }

    fn exactly(ns: u64) -> Forecast {
        Forecast::of(ns, ns)
    }
}

impl fmt::Display for Forecast {
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

/// How long it would take if the advice were followed, as far as the trace itself says so.
pub(super) fn followed(log: &Log, advice: &Advice, workers: &[WorkerTime]) -> Option<Forecast> {
    let count = workers.len().max(1) as u64;
    let sum = |of: fn(&WorkerTime) -> u64| workers.iter().map(of).sum::<u64>();
    match advice {
        Advice::Split(_, alone_ns) => {
            Some(Forecast::exactly(log.wall_ns().saturating_sub(alone_ns - alone_ns / count)))
        }
        Advice::Migrate => Some(open_to_all(log, workers, true)),
        Advice::MakeMovable => Some(open_to_all(log, workers, false)),
        Advice::FewerWorkers(fewer) => {
            let all = sum(|worker| worker.running_ns + worker.overhead_ns);
            Some(Forecast::exactly(all / (*fewer).max(1) as u64))
        }
        _ => None,
    }
}

/// What was misplaced, on whichever worker is free; it may be that what has begun stays.
fn open_to_all(log: &Log, workers: &[WorkerTime], may_stay: bool) -> Forecast {
    let replay = Replay::of(log, workers);
    let rules = Rules { workers: workers.len(), wake_ns: wake_ns(workers), ..Rules::default() };
    let chance = Rules { started_stay: may_stay, last_stays: true, ..rules };
    Forecast::of(replay.clone().finish(rules, |_| None), replay.finish(chance, |_| None))
}

/// How long what ran on one worker would take on those of `two`, with these segments of a label each on a worker of its
/// own, and all else where it was in `two`.
pub(super) fn placed(
    one: (&Log, &Analysis),
    two: (&Log, &Analysis),
    label: &str,
    segments: &[(u64, u64)],
) -> Forecast {
    let (log, workers) = (one.0, two.1.workers.len().max(1));
    let homes = homes(two.0, two.1);
    let place = |thread: u32| {
        let name = log.name(thread);
        let (own, number) = labels::split(&name);
        let number = number.filter(|_| own == label);
        let segment =
            number.and_then(|n| segments.iter().position(|(first, last)| (*first..=*last).contains(&n)));
        Some(segment.or_else(|| homes.get(&name).copied()).unwrap_or(0) % workers)
    };
    let replay = Replay::of(log, &one.1.workers);
    let free = Rules { workers, ..Rules::default() };
    let paid = Rules { wake_ns: wake_ns(&two.1.workers), ..free };
    Forecast::of(replay.clone().finish(free, place), replay.finish(paid, place))
}

/// How long the way to a worker that slept took, at the median; what it takes on a calm machine if there are few.
fn wake_ns(workers: &[WorkerTime]) -> u64 {
    let last = |parts: &Vec<(Class, u64)>| parts.iter().rfind(|(class, _)| *class != Class::Kernel).copied();
    let gaps = workers.iter().flat_map(|worker| &worker.gaps).filter(|gap| gap.after != 0);
    let ways = gaps.filter_map(|gap| last(&gap.parts)).filter(|(class, _)| *class == Class::HandOff);
    let mut ways: Vec<u64> = ways.map(|(_, ns)| ns).collect();
    ways.sort_unstable();
    if ways.len() < WAYS_MIN { kernel::WAKE_NS } else { ways[ways.len() / 2] }
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
