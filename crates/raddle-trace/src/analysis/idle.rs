//! Owns: why workers were idle, and for how long by decade.
//! May use: `timeline`, `log`.
//! Never: the length of a gap as proof of its cause.
//!
//! A gap is cut where it changes what there is to run, on all workers together:
//!
//! | class | the part of a gap in which |
//! |---|---|
//! | hand-off | the thread that ends it had been woken by another worker or OS thread, and was on its way |
//! | hand-off | all that was ready was on its way to idle workers: nothing else could be done before it was there |
//! | stealing | ready threads waited elsewhere, and this worker got one of them by its own doing |
//! | misplaced | ready threads waited for their turn elsewhere, and this worker did not get any |
//! | starved | no thread was ready anywhere |
//!
//! What the kernel took is found by `kernel`.

use super::timeline::WorkerTime;
use crate::event::{Event, StopReason, unpack};
use crate::log::At;
use std::collections::HashMap;

/// Why a worker did not run anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Its next thread was on its way from the worker that woke it.
    HandOff,
    /// Ready threads were at other workers, and stayed there.
    Misplaced,
    /// There was nothing to run anywhere.
    Starved,
    /// It was fetching work from another worker.
    Stealing,
    /// The kernel gave the core to somebody else.
    Kernel,
}

impl Class {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Class; 5] =
        [Class::HandOff, Class::Misplaced, Class::Starved, Class::Stealing, Class::Kernel];

    /// In a few words.
    pub fn words(self) -> &'static str {
        match self {
            Class::HandOff => "hand-off between threads on different workers",
            Class::Misplaced => "idle while threads were ready on other workers",
            Class::Starved => "idle for lack of ready threads",
            Class::Stealing => "fetching work from other workers",
            Class::Kernel => "taken by the kernel for others",
        }
    }

    /// In one word, for tables and machines.
    pub fn name(self) -> &'static str {
        match self {
            Class::HandOff => "hand-off",
            Class::Misplaced => "misplaced",
            Class::Starved => "starved",
            Class::Stealing => "stealing",
            Class::Kernel => "kernel",
        }
    }
}

/// Idle incidents by decade of their length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decades {
    /// How many.
    pub incidents: [u64; Decades::COUNT],
    /// Their nanoseconds together.
    pub ns: [u64; Decades::COUNT],
}

impl Decades {
    /// How many decades there are.
    pub const COUNT: usize = 8;
    /// What they are called.
    pub const NAMES: [&'static str; Decades::COUNT] =
        ["0-10 us", "10-100 us", "100 us-1 ms", "1-10 ms", "10-100 ms", "100 ms-1 s", "1-10 s", ">= 10 s"];

    /// Of idle times in nanoseconds.
    pub fn of(lengths: impl Iterator<Item = u64>) -> Decades {
        let mut decades = Decades::default();
        lengths.for_each(|ns| decades.add(ns));
        decades
    }

    /// Adds one idle time.
    pub fn add(&mut self, ns: u64) {
        let place = Decades::place(ns);
        self.incidents[place] += 1;
        self.ns[place] += ns;
    }

    /// The decade of a length.
    pub fn place(ns: u64) -> usize {
        let tens_of_us = ns / 10_000;
        tens_of_us.checked_ilog10().map_or(0, |log| log as usize + 1).min(Decades::COUNT - 1)
    }

    /// How many incidents there were.
    pub fn total(&self) -> u64 {
        self.incidents.iter().sum()
    }
}

/// What there was to run, beside what ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Nothing.
    None,
    /// Idle workers were about to run all of it.
    OnItsWay,
    /// Some of it waited at a worker that ran something else, or that had more than one thread to run.
    Waits,
}

/// What there was to run, on all workers together, from which moment on.
#[derive(Debug)]
pub(super) struct Ready {
    steps: Vec<(u64, Work)>,
}

/// What is ready, and where, as events are read in the order of time.
#[derive(Default)]
struct Reading {
    /// Where each ready thread is queued; at none that is known, if any worker may take it.
    threads: HashMap<u32, Option<usize>>,
    /// Of each worker: how many are queued there, and whether it is idle.
    workers: Vec<(usize, bool)>,
    /// How many wait at workers that have others to run.
    waiting: usize,
}

impl Reading {
    fn work(&self) -> Work {
        match (self.waiting, self.threads.len()) {
            (_, 0) => Work::None,
            (0, _) => Work::OnItsWay,
            _ => Work::Waits,
        }
    }

    /// Changes what is known of a worker.
    fn at(&mut self, worker: usize, change: impl FnOnce(&mut (usize, bool))) {
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
            self.at(worker, |(queued, _)| *queued += 1);
        }
    }

    fn remove(&mut self, thread: u32) {
        if let Some(Some(worker)) = self.threads.remove(&thread) {
            self.at(worker, |(queued, _)| *queued -= 1);
        }
    }
}

impl Ready {
    pub(super) fn of(by_time: &[(u32, At)], begin: u64) -> Ready {
        let mut reading = Reading::default();
        let mut running: HashMap<u32, u32> = HashMap::new();
        let mut steps = vec![(begin, Work::None)];
        for (worker, at) in by_time {
            let here = *worker as usize;
            match at.event {
                event if event.makes_ready() => {
                    let target = unpack(at.b).0;
                    reading.add(at.a, (target != u8::MAX).then_some(target.into()));
                }
                Event::Switch => {
                    let stopped = StopReason::of_number(unpack(at.b).0);
                    if let Some(before) = running.insert(*worker, at.a).filter(|before| *before != 0) {
                        // One that waits may have been woken already, before it had left its stack.
                        if stopped.is_ready() {
                            reading.add(before, Some(here));
                        } else if stopped == StopReason::Exit {
                            reading.remove(before);
                        }
                    }
                    reading.remove(at.a);
                    if at.a != 0 {
                        reading.at(here, |(_, is_idle)| *is_idle = false);
                    }
                }
                // Until it runs something: what ends its idleness is still on its way.
                Event::IdleBegin => reading.at(here, |(_, is_idle)| *is_idle = true),
                _ => continue,
            }
            let now = (at.ns.max(begin), reading.work());
            match steps.last_mut() {
                Some(last) if last.0 == now.0 => last.1 = now.1,
                Some(last) if last.1 == now.1 => (),
                _ => steps.push(now),
            }
        }
        Ready { steps }
    }

    /// The stretches of `begin..end`, each with what there was to run.
    fn stretches(&self, begin: u64, end: u64) -> Vec<(u64, Work)> {
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

/// Says of each gap why it was.
pub(super) fn classify(workers: &mut [WorkerTime], by_time: &[(u32, At)], ready: &Ready) {
    let wakes = wakes_by_thread(by_time);
    for worker in workers {
        let number = worker.number;
        for gap in &mut worker.gaps {
            let woken = gap_ending_wake(&wakes, gap.after, number, gap.end_ns);
            let handed_at = woken.map_or(gap.end_ns, |ns| ns.max(gap.begin_ns));
            let mut parts: Vec<(Class, u64)> = Vec::new();
            for (ns, work) in ready.stretches(gap.begin_ns, handed_at) {
                let class = match work {
                    Work::None => Class::Starved,
                    Work::OnItsWay => Class::HandOff,
                    Work::Waits => Class::Misplaced,
                };
                parts.push((class, ns));
            }
            if handed_at < gap.end_ns {
                parts.push((Class::HandOff, gap.end_ns - handed_at));
            }
            if gap.stole
                && let Some(last) = parts.last_mut().filter(|(class, _)| *class != Class::Starved)
            {
                last.0 = Class::Stealing;
            }
            gap.parts = parts;
        }
    }
}

/// When, and on which worker, each thread was woken.
fn wakes_by_thread(by_time: &[(u32, At)]) -> HashMap<u32, Vec<(u64, u32)>> {
    let mut wakes: HashMap<u32, Vec<(u64, u32)>> = HashMap::new();
    for (worker, at) in by_time {
        if at.event.makes_ready() {
            wakes.entry(at.a).or_default().push((at.ns, *worker));
        }
    }
    wakes
}

/// When the thread that ran after a gap of `worker` was last woken, if it was not this worker that did it.
fn gap_ending_wake(
    wakes: &HashMap<u32, Vec<(u64, u32)>>,
    thread: u32,
    worker: u32,
    before: u64,
) -> Option<u64> {
    let wakes = wakes.get(&thread)?;
    let place = wakes.partition_point(|(ns, _)| *ns <= before);
    let (ns, by) = *wakes.get(place.checked_sub(1)?)?;
    (by != worker).then_some(ns)
}
