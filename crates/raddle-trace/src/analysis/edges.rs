//! Owns: who woke whom across workers, and what was waited for.
//! May use: `labels`, `timeline`, `log`.
//! Never: an edge within one worker; those cost nothing worth showing.

use super::labels;
use super::timeline::WorkerTime;
use crate::event::{Event, StopReason, unpack};
use crate::log::{At, Log};
use std::collections::{BTreeMap, HashMap};

/// Wakes from the members of one label to those of another, on different workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Who woke.
    pub from: String,
    /// Who was woken.
    pub to: String,
    /// How often.
    pub count: u64,
    /// From wake to run, together, in nanoseconds.
    pub latency_ns: u64,
    /// How many of them went from one member to the next of the same label: number `n` to `n + 1` or back.
    pub neighbours: u64,
}

/// Something that threads waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitObject {
    /// How it was waited for.
    pub reason: StopReason,
    /// Its number, 0 if the site does not say.
    pub object: u32,
    /// How often.
    pub count: u64,
    /// From the stop to the next run, together, in nanoseconds.
    pub waited_ns: u64,
}

/// The wakes that crossed workers, most time first.
pub(super) fn crossing(log: &Log, workers: &[WorkerTime], by_time: &[(u32, At)]) -> Vec<Edge> {
    let starts = starts_by_thread(workers);
    let mut edges: BTreeMap<(String, String), Edge> = BTreeMap::new();
    let mut running: HashMap<u32, u32> = HashMap::new();
    let mut names: HashMap<u32, (String, Option<u64>)> = HashMap::new();
    for (worker, at) in by_time.iter().filter(|(_, at)| at.ns >= log.begin_ns) {
        match at.event {
            Event::Switch => {
                running.insert(*worker, at.a);
            }
            Event::Wake => {
                let Some((ran_ns, ran_on)) = next_start(&starts, at.a, at.ns) else { continue };
                if ran_on == *worker {
                    continue;
                }
                let waker = running.get(worker).copied().unwrap_or(0);
                let [(from, m), (to, n)] = [waker, at.a].map(|thread| named(log, &mut names, thread));
                let next_to = from == to && matches!((m, n), (Some(m), Some(n)) if m.abs_diff(n) == 1);
                let edge = edges.entry((from.clone(), to.clone())).or_insert(Edge {
                    from,
                    to,
                    count: 0,
                    latency_ns: 0,
                    neighbours: 0,
                });
                edge.count += 1;
                edge.latency_ns += ran_ns - at.ns;
                edge.neighbours += u64::from(next_to);
            }
            _ => (),
        }
    }
    let mut edges: Vec<Edge> = edges.into_values().collect();
    edges.sort_by_key(|edge| std::cmp::Reverse((edge.latency_ns, edge.count)));
    edges
}

fn named(log: &Log, names: &mut HashMap<u32, (String, Option<u64>)>, thread: u32) -> (String, Option<u64>) {
    let split = || {
        let name = log.name(thread);
        let (label, number) = labels::split(&name);
        (label.to_owned(), number)
    };
    names.entry(thread).or_insert_with(split).clone()
}

/// When and where each thread began to run.
fn starts_by_thread(workers: &[WorkerTime]) -> HashMap<u32, Vec<(u64, u32)>> {
    let mut starts: HashMap<u32, Vec<(u64, u32)>> = HashMap::new();
    for worker in workers {
        for slice in &worker.slices {
            starts.entry(slice.thread).or_default().push((slice.begin_ns, worker.number));
        }
    }
    starts.values_mut().for_each(|of_thread| of_thread.sort_unstable());
    starts
}

fn next_start(starts: &HashMap<u32, Vec<(u64, u32)>>, thread: u32, from: u64) -> Option<(u64, u32)> {
    let starts = starts.get(&thread)?;
    starts.get(starts.partition_point(|(ns, _)| *ns < from)).copied()
}

/// What was waited for, longest first.
pub(super) fn waits(log: &Log, by_time: &[(u32, At)]) -> Vec<WaitObject> {
    let mut running: HashMap<u32, u32> = HashMap::new();
    let mut stopped: HashMap<u32, (u64, StopReason, u32)> = HashMap::new();
    let mut waits: BTreeMap<(StopReason, u32), WaitObject> = BTreeMap::new();
    for (worker, at) in by_time.iter().filter(|(_, at)| at.event == Event::Switch) {
        let (number, object) = unpack(at.b);
        let reason = StopReason::of_number(number);
        if let Some(before) = running.insert(*worker, at.a).filter(|before| *before != 0)
            && !reason.is_ready()
            && reason != StopReason::Exit
        {
            stopped.insert(before, (at.ns.max(log.begin_ns), reason, object));
        }
        if let Some((since, reason, object)) = stopped.remove(&at.a) {
            let new = WaitObject { reason, object, count: 0, waited_ns: 0 };
            let wait = waits.entry((reason, object)).or_insert(new);
            wait.count += 1;
            wait.waited_ns += at.ns.saturating_sub(since);
        }
    }
    let mut waits: Vec<WaitObject> = waits.into_values().collect();
    waits.sort_by_key(|wait| std::cmp::Reverse(wait.waited_ns));
    waits
}
