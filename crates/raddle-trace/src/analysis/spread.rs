//! Owns: thread spread: how evenly the members of a label ran.
//! May use: `log`.
//! Never: another definition than `100 * (max - min) / max`.

use super::labels;
use super::timeline::WorkerTime;
use crate::log::Log;
use std::collections::{BTreeMap, HashMap};

/// The thread spread of one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The label.
    pub label: String,
    /// How many members ran.
    pub members: usize,
    /// The least and the most that one of them ran, in nanoseconds.
    pub least_ns: u64,
    /// See `least_ns`.
    pub most_ns: u64,
}

impl Spread {
    /// `100 * (max - min) / max`.
    pub fn percent(&self) -> f64 {
        if self.most_ns == 0 {
            0.0
        } else {
            100.0 * (self.most_ns - self.least_ns) as f64 / self.most_ns as f64
        }
    }
}

/// Of every label with at least two members, those that ran most first.
pub(super) fn of(log: &Log, workers: &[WorkerTime]) -> Vec<Spread> {
    let mut by_thread: HashMap<u32, u64> = HashMap::new();
    for slice in workers.iter().flat_map(|worker| &worker.slices) {
        *by_thread.entry(slice.thread).or_default() += slice.ns();
    }
    let mut groups: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (thread, ns) in by_thread {
        let name = log.name(thread);
        groups.entry(labels::split(&name).0.into_owned()).or_default().push(ns);
    }
    let mut spreads: Vec<(u64, Spread)> = groups
        .into_iter()
        .filter(|(_, times)| times.len() > 1)
        .map(|(label, times)| {
            let (least_ns, most_ns) =
                (times.iter().copied().min().unwrap_or(0), times.iter().copied().max().unwrap_or(0));
            (times.iter().sum(), Spread { label, members: times.len(), least_ns, most_ns })
        })
        .collect();
    spreads.sort_by(|one, two| two.0.cmp(&one.0).then_with(|| one.1.label.cmp(&two.1.label)));
    spreads.into_iter().map(|(_, spread)| spread).collect()
}
