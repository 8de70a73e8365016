//! Owns: the timeline of each worker: slices in which a thread ran, gaps in which it was idle, and the rest.
//! May use: `event`, `log`.
//! Never: the cause of a gap; that is in `idle`.

use super::blocked::Stay;
use super::idle::{Class, Decades};
use super::labels;
use super::readied::EndedBy;
use crate::event::{Event, IdleCause, StopReason, unpack};
use crate::log::{At, Log, Worker};
use std::collections::{BTreeMap, HashMap};

/// A thread ran without interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// From when, in nanoseconds.
    pub begin_ns: u64,
    /// Until when.
    pub end_ns: u64,
    /// The thread.
    pub thread: u32,
    /// Why it stopped.
    pub stopped: StopReason,
    /// The object that it waits for, 0 if that was not recorded.
    pub object: u32,
    /// The number of the string that says where it stopped, 0 if that was not recorded.
    pub site: u32,
}

/// A worker was idle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// From when, in nanoseconds.
    pub begin_ns: u64,
    /// Until when.
    pub end_ns: u64,
    /// The thread that ran before, 0 for none.
    pub before: u32,
    /// The thread that ran after, 0 for none.
    pub after: u32,
    /// Whether it ended with a steal.
    pub stole: bool,
    /// What made ready the thread that ran after.
    pub ended_by: EndedBy,
    /// Its time by class; the sum is its length.
    pub parts: Vec<(Class, u64)>,
}

/// One worker's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerTime {
    /// The worker's number.
    pub number: u32,
    /// The slices, in order.
    pub slices: Vec<Slice>,
    /// The gaps, in order.
    pub gaps: Vec<Gap>,
    /// The time of all slices without the kernel's share, and without sleep in the kernel.
    pub running_ns: u64,
    /// The time of slices in which the thread slept in the kernel.
    pub blocked_ns: u64,
    /// In which calls it did.
    pub stays: Vec<Stay>,
    /// When it did, between two notes: from, until, nanoseconds.
    pub asleep: Vec<(u64, u64, u64)>,
    /// The kernel's share of the slices.
    pub kernel_ns: u64,
    /// The kernel's share by sampling window: from, until, nanoseconds.
    pub(super) took: Vec<(u64, u64, u64)>,
    /// The time outside slices and gaps: the scheduler itself.
    pub overhead_ns: u64,
    /// Its gaps by length.
    pub decades: Decades,
}

impl WorkerTime {
    /// Its idle time of this class.
    pub fn idle_ns(&self, class: Class) -> u64 {
        let in_slices = match class {
            Class::Kernel => self.kernel_ns,
            Class::Blocked => self.blocked_ns,
            _ => 0,
        };
        self.idle_ns_in_gaps(class) + in_slices
    }

    /// The part of it in gaps.
    pub(super) fn idle_ns_in_gaps(&self, class: Class) -> u64 {
        self.gaps.iter().flat_map(|gap| &gap.parts).filter(|(c, _)| *c == class).map(|(_, ns)| ns).sum()
    }

    /// Its whole idle time.
    pub fn idle_total_ns(&self) -> u64 {
        self.gaps.iter().map(Gap::ns).sum()
    }
}

impl Slice {
    /// Its length.
    pub fn ns(&self) -> u64 {
        self.end_ns - self.begin_ns
    }
}

impl Gap {
    /// Its length.
    pub fn ns(&self) -> u64 {
        self.end_ns - self.begin_ns
    }
}

/// Builds the timeline of a worker between `begin` and `end`.
pub(super) fn of_worker(worker: &Worker, begin: u64, end: u64) -> WorkerTime {
    let mut builder = TimelineBuilder { begin, end, window: (begin, begin), ..TimelineBuilder::default() };
    worker.events.iter().for_each(|at| builder.add(at));
    builder.close();
    let in_slices: u64 = builder.slices.iter().map(Slice::ns).sum();
    let in_gaps: u64 = builder.gaps.iter().map(Gap::ns).sum();
    WorkerTime {
        number: worker.number,
        running_ns: in_slices,
        blocked_ns: 0,
        stays: Vec::new(),
        asleep: Vec::new(),
        kernel_ns: 0,
        took: builder.took,
        overhead_ns: (end - begin).saturating_sub(in_slices + in_gaps),
        decades: Decades::of(builder.gaps.iter().map(Gap::ns)),
        slices: builder.slices,
        gaps: builder.gaps,
    }
}

/// Builds a timeline from events.
#[derive(Default)]
struct TimelineBuilder {
    begin: u64,
    end: u64,
    slices: Vec<Slice>,
    gaps: Vec<Gap>,
    running: Option<(u32, u64)>,
    /// The site of the switch that comes next.
    site: u32,
    idle_since: Option<u64>,
    stole: bool,
    last_thread: u32,
    /// Whether the last gap still lacks the thread that ran after it.
    awaits_thread: bool,
    seen: bool,
    /// From the sample before the last to the last.
    window: (u64, u64),
    took: Vec<(u64, u64, u64)>,
}

impl TimelineBuilder {
    fn add(&mut self, at: &At) {
        let ns = at.ns.clamp(self.begin, self.end);
        match at.event {
            Event::Switch => {
                if !self.seen {
                    // Before its first event, a worker's OS thread has not started.
                    self.gap(self.begin, ns, false);
                }
                let (reason, object) = unpack(at.b);
                self.stop(ns, StopReason::of_number(reason), object);
                if at.a != 0 {
                    self.run(ns, at.a);
                }
            }
            Event::IdleBegin => {
                self.stop(ns, StopReason::Wait, 0);
                self.idle_since = Some(if self.seen { ns } else { self.begin });
                self.stole = false;
            }
            Event::IdleEnd => {
                // The first event of a worker may be the end of an idle time.
                let since = self.idle_since.take().or((!self.seen).then_some(self.begin));
                if let Some(since) = since {
                    self.gap(since, ns, at.a == IdleCause::Stole as u32 || self.stole);
                }
            }
            Event::Site => {
                self.site = at.a;
                return;
            }
            Event::Steal => self.stole = true,
            Event::Sample => {
                self.window = (self.window.1, ns);
                return;
            }
            Event::KernelTook => return self.took.push((self.window.0, self.window.1, u64::from(at.a))),
            _ => return,
        }
        self.seen = true;
    }

    fn run(&mut self, ns: u64, thread: u32) {
        // A worker that runs something is no longer idle.
        if let Some(since) = self.idle_since.take() {
            self.gap(since, ns, self.stole);
        }
        if std::mem::take(&mut self.awaits_thread)
            && let Some(gap) = self.gaps.last_mut()
        {
            gap.after = thread;
        }
        self.running = Some((thread, ns));
    }

    fn stop(&mut self, ns: u64, stopped: StopReason, object: u32) {
        let site = std::mem::take(&mut self.site);
        if let Some((thread, begin_ns)) = self.running.take() {
            self.last_thread = thread;
            if ns > begin_ns {
                self.slices.push(Slice { begin_ns, end_ns: ns, thread, stopped, object, site });
            }
        }
    }

    fn gap(&mut self, begin_ns: u64, end_ns: u64, stole: bool) {
        if end_ns > begin_ns {
            let before = self.last_thread;
            let (ended_by, parts) = (EndedBy::Unknown, Vec::new());
            self.gaps.push(Gap { begin_ns, end_ns, before, after: 0, stole, ended_by, parts });
            self.awaits_thread = true;
        }
    }

    fn close(&mut self) {
        let end = self.end;
        self.stop(end, StopReason::None, 0);
        if let Some(since) = self.idle_since.take() {
            self.gap(since, end, false);
        } else if !self.seen {
            // A worker without events was idle.
            self.gap(self.begin, end, false);
        }
    }
}

/// How long the threads of each label ran.
pub(super) fn ran_by_label(log: &Log, workers: &[WorkerTime]) -> BTreeMap<String, u64> {
    let mut by_thread: HashMap<u32, u64> = HashMap::new();
    for slice in workers.iter().flat_map(|worker| &worker.slices) {
        *by_thread.entry(slice.thread).or_default() += slice.ns();
    }
    let mut by_label: BTreeMap<String, u64> = BTreeMap::new();
    for (thread, ns) in by_thread {
        *by_label.entry(labels::split(&log.name(thread)).0.into_owned()).or_default() += ns;
    }
    by_label
}

/// How long at least two of the workers ran at the same time.
pub(super) fn together_ns(workers: &[WorkerTime]) -> u64 {
    let slices = workers.iter().flat_map(|worker| &worker.slices);
    let mut edges: Vec<(u64, i32)> = slices.flat_map(|s| [(s.begin_ns, 1), (s.end_ns, -1)]).collect();
    edges.sort_unstable();
    let (mut running, mut since, mut together) = (0, 0, 0);
    for (ns, step) in edges {
        if running >= 2 {
            together += ns - since;
        }
        running += step;
        since = ns;
    }
    together
}
