//! Owns: the wakes across workers or from OS threads, and what and whom threads waited for.
//! May use: `event`, `log`.
//! Never: wakes within one worker among those across workers; they cost little.

use super::labels;
use super::timeline::WorkerTime;
use crate::event::{Event, StopReason, unpack};
use crate::log::{At, Log};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Wakes from the threads of one label to those of another, on different workers; or from OS threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The label of the waking threads.
    pub from: String,
    /// The label of the woken threads.
    pub to: String,
    /// The number of wakes.
    pub count: u64,
    /// The total time from wake to run, in nanoseconds.
    pub latency_ns: u64,
    /// How many of them were between neighbours of one label: from number `n` to `n + 1` or back.
    pub neighbours: u64,
    /// Whether an OS thread that is not a worker woke them.
    pub outside: bool,
}

/// What the threads of a label waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitObject {
    /// The label of the waiting threads.
    pub label: String,
    /// The kind of wait.
    pub reason: StopReason,
    /// The place in the program, if that was recorded.
    pub site: Option<String>,
    /// The number of objects, as far as it was recorded.
    pub objects: usize,
    /// The number of waits.
    pub count: u64,
    /// The total time from the stop to the next run, in nanoseconds.
    pub waited_ns: u64,
}

/// Threads of one label waited, and those of another let them go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitedFor {
    /// The label of the waiting threads.
    pub waiter: String,
    /// The label of the threads that woke them; or the OS thread; or, of a timer or a descriptor, [`NOBODY`].
    pub by: String,
    /// The kind of wait.
    pub reason: StopReason,
    /// The place in the program where it began, if that was recorded.
    pub site: Option<String>,
    /// The number of waits.
    pub count: u64,
    /// The total time from the stop to the wake, in nanoseconds.
    pub waited_ns: u64,
}

/// Who lets go on whom no thread wakes.
pub const NOBODY: &str = "no thread";

/// The wakes across workers, most latency first.
pub(super) fn crossing(log: &Log, workers: &[WorkerTime], by_time: &[(u32, At)]) -> Vec<Edge> {
    let starts = starts_by_thread(workers);
    let mut edges: BTreeMap<(usize, usize), Edge> = BTreeMap::new();
    let mut running: HashMap<u32, u32> = HashMap::new();
    let mut names = LabelIndex::default();
    for (worker, at) in by_time.iter().filter(|(_, at)| at.ns >= log.begin_ns) {
        match at.event {
            Event::Switch => {
                running.insert(*worker, at.a);
            }
            event if event.wakes() => {
                let Some((ran_ns, ran_on)) = next_start(&starts, at.a, at.ns) else { continue };
                if ran_on == *worker {
                    continue;
                }
                let outside = event.is_outside();
                let (from, m) = if outside {
                    names.of_name(&log.os_thread(at))
                } else {
                    names.of(log, running.get(worker).copied().unwrap_or(0))
                };
                let (to, n) = names.of(log, at.a);
                let next_to = from == to && matches!((m, n), (Some(m), Some(n)) if m.abs_diff(n) == 1);
                let edge = edges.entry((from, to)).or_insert_with(|| Edge {
                    from: names.labels[from].clone(),
                    to: names.labels[to].clone(),
                    count: 0,
                    latency_ns: 0,
                    neighbours: 0,
                    outside,
                });
                edge.count += 1;
                edge.latency_ns = edge.latency_ns.saturating_add(ran_ns - at.ns);
                edge.neighbours += u64::from(next_to);
            }
            _ => (),
        }
    }
    let mut edges: Vec<Edge> = edges.into_values().collect();
    edges.sort_by_key(|edge| std::cmp::Reverse((edge.latency_ns, edge.count)));
    edges
}

/// When and where each thread started to run.
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

/// The wait objects, longest first.
pub(super) fn waits(log: &Log, by_time: &[(u32, At)]) -> Vec<WaitObject> {
    let mut running: HashMap<u32, u32> = HashMap::new();
    let mut stopped: HashMap<u32, (u64, StopReason, u32, u32)> = HashMap::new();
    let mut sites: HashMap<u32, u32> = HashMap::new();
    let mut names = LabelIndex::default();
    let mut waits: HashMap<(usize, StopReason, u32), WaitTotal> = HashMap::new();
    for (worker, at) in by_time {
        match at.event {
            Event::Switch => (),
            Event::Site => {
                sites.insert(*worker, at.a);
                continue;
            }
            _ => continue,
        }
        let site = sites.remove(worker).unwrap_or(0);
        let (number, object) = unpack(at.b);
        let reason = StopReason::of_number(number);
        if let Some(before) = running.insert(*worker, at.a).filter(|before| *before != 0)
            && !reason.is_ready()
            && reason != StopReason::Exit
        {
            stopped.insert(before, (at.ns.max(log.begin_ns), reason, object, site));
        }
        if let Some((since, reason, object, site)) = stopped.remove(&at.a) {
            let wait = waits.entry((names.of(log, at.a).0, reason, site)).or_default();
            wait.count += 1;
            wait.waited_ns = wait.waited_ns.saturating_add(at.ns.saturating_sub(since));
            if object != 0 {
                wait.objects.insert(object);
            }
        }
    }
    let of = |((label, reason, site), wait): ((usize, StopReason, u32), WaitTotal)| WaitObject {
        label: names.labels[label].clone(),
        reason,
        site: (site != 0).then(|| log.string(site)),
        objects: wait.objects.len(),
        count: wait.count,
        waited_ns: wait.waited_ns,
    };
    let mut waits: Vec<WaitObject> = waits.into_iter().map(of).collect();
    waits.sort_by(|one, two| {
        two.waited_ns.cmp(&one.waited_ns).then_with(|| (&one.label, &one.site).cmp(&(&two.label, &two.site)))
    });
    waits
}

/// Who waited for whom, longest first. A wait that nobody has ended in the trace is of none.
pub(super) fn waited(log: &Log, by_time: &[(u32, At)]) -> Vec<WaitedFor> {
    let mut running: HashMap<u32, u32> = HashMap::new();
    let mut stopped: HashMap<u32, (u64, StopReason, u32)> = HashMap::new();
    let mut sites: HashMap<u32, u32> = HashMap::new();
    let mut names = LabelIndex::default();
    let mut totals: BTreeMap<(usize, usize, StopReason, u32), (u64, u64)> = BTreeMap::new();
    for (worker, at) in by_time {
        match at.event {
            Event::Site => {
                sites.insert(*worker, at.a);
            }
            Event::Switch => {
                let site = sites.remove(worker).unwrap_or(0);
                let reason = StopReason::of_number(unpack(at.b).0);
                if let Some(before) = running.insert(*worker, at.a).filter(|before| *before != 0)
                    && !reason.is_ready()
                    && reason != StopReason::Exit
                {
                    stopped.insert(before, (at.ns.max(log.begin_ns), reason, site));
                }
                // It goes on without a wake, or that is not in the trace.
                stopped.remove(&at.a);
            }
            event if event.wakes() => {
                let Some((since, reason, site)) = stopped.remove(&at.a) else { continue };
                let by = match running.get(worker).copied().unwrap_or(0) {
                    _ if event.is_outside() => names.of_name(&log.os_thread(at)).0,
                    0 => names.of_name(NOBODY).0,
                    thread => names.of(log, thread).0,
                };
                let total = totals.entry((names.of(log, at.a).0, by, reason, site)).or_default();
                *total = (total.0 + 1, total.1.saturating_add(at.ns.saturating_sub(since)));
            }
            _ => (),
        }
    }
    let of = |((waiter, by, reason, site), (count, waited_ns)): ((usize, usize, _, _), _)| WaitedFor {
        waiter: names.labels[waiter].clone(),
        by: names.labels[by].clone(),
        reason,
        site: (site != 0).then(|| log.string(site)),
        count,
        waited_ns,
    };
    let mut waited: Vec<WaitedFor> = totals.into_iter().map(of).collect();
    waited.sort_by(|one, two| {
        let named = |it: &WaitedFor| (it.waiter.clone(), it.by.clone(), it.site.clone());
        two.waited_ns.cmp(&one.waited_ns).then_with(|| named(one).cmp(&named(two)))
    });
    waited
}

#[derive(Default)]
struct WaitTotal {
    objects: HashSet<u32>,
    count: u64,
    waited_ns: u64,
}

/// The labels of threads, each with a number, so that a million wakes do not need a million strings.
#[derive(Default)]
struct LabelIndex {
    labels: Vec<String>,
    numbers: HashMap<String, usize>,
    threads: HashMap<u32, (usize, Option<u64>)>,
}

impl LabelIndex {
    /// The number of a thread's label, and the thread's own number within it.
    fn of(&mut self, log: &Log, thread: u32) -> (usize, Option<u64>) {
        if let Some(known) = self.threads.get(&thread) {
            return *known;
        }
        let found = self.of_name(&log.name(thread));
        self.threads.insert(thread, found);
        found
    }

    /// The number of a name's label, and the name's own number within it.
    fn of_name(&mut self, name: &str) -> (usize, Option<u64>) {
        let (label, member) = labels::split(name);
        let next = self.labels.len();
        let number = *self.numbers.entry(label.to_string()).or_insert(next);
        if number == next {
            self.labels.push(label.into_owned());
        }
        (number, member)
    }
}
