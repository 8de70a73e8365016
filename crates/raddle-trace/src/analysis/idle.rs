//! Owns: the causes of idle time, and the histogram of its lengths by decade.
//! May use: `event`, `log`.
//! Never: a cause concluded from the length of a gap.
//!
//! A gap is divided where the set of ready threads changes, over all workers:
//!
//! | class | the part of a gap in which |
//! |---|---|
//! | hand-off | the thread that ends the gap was woken meanwhile by another worker or OS thread, and did not run yet |
//! | hand-off | every ready thread had been handed to an idle worker that was still waking up |
//! | stealing | threads were queued at other workers, and this worker stole one of them in the end: \[1\] |
//! | misplaced | threads were queued at other workers, and this worker got none, or they may not leave those: \[1\] |
//! | starved | no thread was ready anywhere |
//!
//! 1. For no longer than they then ran. A thief that is quicker than that would have run them, and been starved for the
//!    rest: behind a slow producer, a consumer of 5 us waits for its turn most of the time.
//!
//! The kernel's share is found by `kernel`, and sleep in the kernel, which is no gap, by `blocked`.

use super::placement::Placements;
use super::readied::{EndedBy, Readied, ReadiedThreads, Way};
use super::timeline::{Gap, WorkerTime};
use crate::event::{Event, Freedom, StopReason, unpack};
use crate::log::At;
use std::collections::HashMap;

/// Why a worker was idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Its next thread had been woken by another worker, and did not run yet.
    HandOff,
    /// Threads were queued at other workers, and stayed there.
    Misplaced,
    /// No thread was ready anywhere.
    Starved,
    /// It was fetching work from another worker.
    Stealing,
    /// The kernel gave the core to another OS thread.
    Kernel,
    /// What ran slept in a call that blocks its worker.
    Blocked,
}

impl Class {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Class; 6] =
        [Class::HandOff, Class::Misplaced, Class::Starved, Class::Stealing, Class::Kernel, Class::Blocked];

    /// Those that a change of the program could win back.
    pub(super) const OWN: [Class; 4] = [Class::HandOff, Class::Misplaced, Class::Starved, Class::Stealing];

    /// A description, for messages.
    pub fn words(self) -> &'static str {
        match self {
            Class::HandOff => "hand-off between threads on different workers",
            Class::Misplaced => "idle while threads were ready on other workers",
            Class::Starved => "idle for lack of ready threads",
            Class::Stealing => "fetching work from other workers",
            Class::Kernel => "taken by the kernel for others",
            Class::Blocked => "blocked in the kernel",
        }
    }

    /// A short name, for tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Class::HandOff => "hand-off",
            Class::Misplaced => "misplaced",
            Class::Starved => "starved",
            Class::Stealing => "stealing",
            Class::Kernel => "kernel",
            Class::Blocked => "blocked",
        }
    }
}

/// Idle incidents by decade of their length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decades {
    /// The number of incidents.
    pub incidents: [u64; Decades::COUNT],
    /// Their total time in nanoseconds.
    pub ns: [u64; Decades::COUNT],
}

impl Decades {
    /// The number of decades.
    pub const COUNT: usize = 8;
    /// Their names.
    pub const NAMES: [&'static str; Decades::COUNT] =
        ["0-10 us", "10-100 us", "100 us-1 ms", "1-10 ms", "10-100 ms", "100 ms-1 s", "1-10 s", ">= 10 s"];

    /// The histogram of these idle times in nanoseconds.
    pub fn of(lengths: impl Iterator<Item = u64>) -> Decades {
        let mut decades = Decades::default();
        lengths.for_each(|ns| decades.add(ns));
        decades
    }

    /// Adds one idle time.
    pub fn add(&mut self, ns: u64) {
        let index = Decades::index(ns);
        self.incidents[index] += 1;
        self.ns[index] += ns;
    }

    /// The index of a length's decade.
    pub fn index(ns: u64) -> usize {
        let tens_of_us = ns / 10_000;
        tens_of_us.checked_ilog10().map_or(0, |log| log as usize + 1).min(Decades::COUNT - 1)
    }

    /// How many incidents there were.
    pub fn total(&self) -> u64 {
        self.incidents.iter().sum()
    }
}

/// Which threads were ready, besides those that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// No thread.
    None,
    /// Each had been handed to an idle worker that was waking up.
    InTransit,
    /// Some were queued at a busy worker, or behind another one at an idle worker.
    Queued,
}

/// Which threads were ready over time, on all workers together.
#[derive(Debug)]
pub(super) struct Ready {
    steps: Vec<(u64, Work)>,
}

/// The ready threads and their workers, updated event by event.
#[derive(Default)]
struct ReadySet {
    /// The worker at which each ready thread is queued; `None` if any worker may take it.
    threads: HashMap<u32, Option<usize>>,
    /// For each worker, how many threads are queued there, and whether it is idle.
    workers: Vec<(usize, bool)>,
    /// How many threads wait behind others.
    waiting: usize,
}

impl ReadySet {
    fn work(&self) -> Work {
        match (self.waiting, self.threads.len()) {
            (_, 0) => Work::None,
            (0, _) => Work::InTransit,
            _ => Work::Queued,
        }
    }

    /// Changes the state of a worker.
    fn update(&mut self, worker: usize, change: impl FnOnce(&mut (usize, bool))) {
        if self.workers.len() <= worker {
            self.workers.resize(worker + 1, (0, false));
        }
        let waiting = |(queued, is_idle): (usize, bool)| queued - usize::from(is_idle).min(queued);
        let of = &mut self.workers[worker];
        self.waiting -= waiting(*of);
        change(of);
        self.waiting += waiting(*of);
    }

    fn add(&mut self, thread: u32, worker: Option<usize>) {
        self.remove(thread);
        self.threads.insert(thread, worker);
        if let Some(worker) = worker {
            self.update(worker, |(queued, _)| *queued += 1);
        }
    }

    fn remove(&mut self, thread: u32) {
        if let Some(Some(worker)) = self.threads.remove(&thread) {
            self.update(worker, |(queued, _)| *queued -= 1);
        }
    }
}

impl Ready {
    pub(super) fn of(by_time: &[(u32, At)], begin: u64) -> Ready {
        let mut ready = ReadySet::default();
        let mut running: HashMap<u32, u32> = HashMap::new();
        let mut steps = vec![(begin, Work::None)];
        for (worker, at) in by_time {
            let here = *worker as usize;
            match at.event {
                event if event.makes_ready() => {
                    let target = unpack(at.b).0;
                    ready.add(at.a, (target != u8::MAX).then_some(target.into()));
                }
                Event::Switch => {
                    let stopped = StopReason::of_number(unpack(at.b).0);
                    if let Some(before) = running.insert(*worker, at.a).filter(|before| *before != 0) {
                        // A waiting thread may have been woken already, before it had left its stack.
                        if stopped.is_ready() {
                            ready.add(before, Some(here));
                        } else if stopped == StopReason::Exit {
                            ready.remove(before);
                        }
                    }
                    ready.remove(at.a);
                    if at.a != 0 {
                        ready.update(here, |(_, is_idle)| *is_idle = false);
                    }
                }
                // It stays idle until it runs something: a thread handed to it is still in transit.
                Event::IdleBegin => ready.update(here, |(_, is_idle)| *is_idle = true),
                _ => continue,
            }
            let now = (at.ns.max(begin), ready.work());
            match steps.last_mut() {
                Some(last) if last.0 == now.0 => last.1 = now.1,
                Some(last) if last.1 == now.1 => (),
                _ => steps.push(now),
            }
        }
        Ready { steps }
    }

    /// Divides `begin..end` into intervals: length, and which threads were ready.
    fn intervals(&self, begin: u64, end: u64) -> Vec<(u64, Work)> {
        let mut place = self.steps.partition_point(|(ns, _)| *ns <= begin).saturating_sub(1);
        let (mut from, mut out): (u64, Vec<(u64, Work)>) = (begin, Vec::new());
        while from < end {
            let work = self.steps.get(place).map_or(Work::None, |(_, work)| *work);
            let next = self.steps.get(place + 1).map_or(end, |(ns, _)| *ns).clamp(from, end);
            match out.last_mut() {
                Some((ns, before)) if *before == work => *ns += next - from,
                _ if next > from => out.push((next - from, work)),
                _ => (),
            }
            from = next;
            place += 1;
            if place >= self.steps.len() {
                break;
            }
        }
        if from < end {
            out.push((end - from, self.steps.last().map_or(Work::None, |(_, work)| *work)));
        }
        out
    }
}

/// Divides each gap into classes, and says what ended it.
pub(super) fn classify(
    workers: &mut [WorkerTime],
    by_time: &[(u32, At)],
    ready: &Ready,
    placements: &Placements,
) {
    let readied = ReadiedThreads::of(by_time);
    let queued = Queued::of(workers, &readied, placements);
    for worker in workers {
        let number = worker.number;
        for gap in &mut worker.gaps {
            let last = readied.before(gap.after, gap.end_ns);
            gap.ended_by = last.map_or(EndedBy::Unknown, |last| last.ended(gap.begin_ns));
            gap.parts = parts(gap, last.filter(|last| last.by != number), ready, &queued);
        }
    }
}

/// A thread waited in a queue, and then ran.
struct Queue {
    ready_ns: u64,
    ran_at_ns: u64,
    ran_ns: u64,
    /// Whether no other worker may have it.
    stays: bool,
}

/// All waits in queues.
struct Queued {
    /// By the time when the thread ran.
    waits: Vec<Queue>,
    /// Of each, when the first of it and those after it was ready.
    first_ready: Vec<u64>,
}

impl Queued {
    /// How many waits that last beyond a gap are looked at: more of them than this do not fit into one.
    const BEYOND_MAX: usize = 4096;

    /// Only steals ask for them.
    fn of(workers: &[WorkerTime], readied: &ReadiedThreads, placements: &Placements) -> Queued {
        let steals = workers.iter().flat_map(|worker| &worker.gaps).any(|gap| gap.stole);
        let slices = workers.iter().filter(|_| steals).flat_map(|worker| &worker.slices);
        let waits = slices.filter_map(|slice| {
            let last = readied.before(slice.thread, slice.begin_ns)?;
            let stays = match placements.freedom(slice.thread) {
                Freedom::Placed => true,
                Freedom::UntilBegun => last.way != Way::Spawned,
                Freedom::Always | Freedom::Unsaid => false,
            };
            Some(Queue { ready_ns: last.ns, ran_at_ns: slice.begin_ns, ran_ns: slice.ns(), stays })
        });
        let mut waits: Vec<Queue> = waits.collect();
        waits.sort_unstable_by_key(|wait| wait.ran_at_ns);
        let mut first_ready: Vec<u64> = waits.iter().map(|wait| wait.ready_ns).collect();
        for place in (1..first_ready.len()).rev() {
            first_ready[place - 1] = first_ready[place - 1].min(first_ready[place]);
        }
        Queued { waits, first_ready }
    }

    /// For how much of this time another worker could have run at once what waited then; at most `most`: what it may
    /// steal, or what stays where it is.
    fn runnable_ns(&self, begin: u64, end: u64, most: u64, stays: bool) -> u64 {
        let first = self.waits.partition_point(|wait| wait.ran_at_ns <= begin);
        let (mut sum, mut beyond) = (0, 0);
        for (wait, first_ready) in self.waits[first..].iter().zip(&self.first_ready[first..]) {
            if sum >= most || *first_ready >= end || beyond > Queued::BEYOND_MAX {
                break;
            }
            beyond += usize::from(wait.ran_at_ns > end);
            let waited = wait.ran_at_ns.min(end).saturating_sub(wait.ready_ns.max(begin));
            sum += if wait.stays == stays { waited.min(wait.ran_ns) } else { 0 };
        }
        sum.min(most)
    }
}

/// The classes of a gap; `last` made ready what ran after it, if another worker or an OS thread did that.
///
/// A gap may end with a steal although the thief has waited for something else: for the wake of a thread that it then
/// took from its waker. Only what could be stolen all the time, or was made to be taken, was waiting for the thief.
fn parts(gap: &Gap, last: Option<Readied>, ready: &Ready, queued: &Queued) -> Vec<(Class, u64)> {
    let made = last.map_or(gap.end_ns, |last| last.ns.clamp(gap.begin_ns, gap.end_ns));
    let waits_for_thief = last.is_some_and(|last| last.way != Way::Woken || last.ns <= gap.begin_ns);
    let mut parts: Vec<(Class, u64)> = Vec::new();
    let mut put = |class, ns| match parts.last_mut() {
        Some((before, sum)) if *before == class => *sum += ns,
        _ if ns > 0 => parts.push((class, ns)),
        _ => (),
    };
    let runnable = |stays| queued.runnable_ns(gap.begin_ns, made, made - gap.begin_ns, stays);
    let (mut stealable, mut stays) = if gap.stole { (runnable(false), runnable(true)) } else { (0, 0) };
    for (ns, work) in ready.intervals(gap.begin_ns, made) {
        match work {
            Work::None => put(Class::Starved, ns),
            Work::InTransit => put(Class::HandOff, ns),
            Work::Queued if gap.stole => {
                let stealing = ns.min(stealable);
                stealable -= stealing;
                put(Class::Stealing, stealing);
                let misplaced = (ns - stealing).min(stays);
                stays -= misplaced;
                put(Class::Misplaced, misplaced);
                put(Class::Starved, ns - stealing - misplaced);
            }
            Work::Queued => put(Class::Misplaced, ns),
        }
    }
    put(if gap.stole && waits_for_thief { Class::Stealing } else { Class::HandOff }, gap.end_ns - made);
    parts
}
