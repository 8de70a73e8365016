//! Owns: why workers were idle, and for how long by decade.
//! May use: `timeline`, `log`.
//! Never: the length of a gap as proof of its cause.
//!
//! A gap is cut where the number of ready threads, on all workers together, changes from none to some:
//!
//! | class | the part of a gap in which |
//! |---|---|
//! | hand-off | the thread that ends it had been woken by another worker or OS thread, and was on its way |
//! | stealing | ready threads were elsewhere, and this worker got one of them by its own doing |
//! | misplaced | ready threads were elsewhere, and this worker did not get any |
//! | starved | no thread was ready anywhere |
//!
//! What the kernel took is found by `kernel`.

use super::timeline::WorkerTime;
use crate::event::{Event, StopReason, unpack};
use crate::log::At;
use std::collections::{HashMap, HashSet};

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

/// How many threads were ready, on all workers together, from which moment on.
#[derive(Debug)]
pub(super) struct Ready {
    steps: Vec<(u64, usize)>,
}

impl Ready {
    pub(super) fn of(by_time: &[(u32, At)], begin: u64) -> Ready {
        let mut ready: HashSet<u32> = HashSet::new();
        let mut running: HashMap<u32, u32> = HashMap::new();
        let mut steps = vec![(begin, 0)];
        for (worker, at) in by_time {
            match at.event {
                event if event.makes_ready() => {
                    ready.insert(at.a);
                }
                Event::Switch => {
                    let stopped = StopReason::of_number(unpack(at.b).0);
                    if let Some(before) = running.insert(*worker, at.a).filter(|before| *before != 0) {
                        // One that waits may have been woken already, before it had left its stack.
                        if stopped.is_ready() {
                            ready.insert(before);
                        } else if stopped == StopReason::Exit {
                            ready.remove(&before);
                        }
                    }
                    ready.remove(&at.a);
                }
                _ => continue,
            }
            let now = (at.ns.max(begin), ready.len());
            match steps.last_mut() {
                Some(last) if last.0 == now.0 => last.1 = now.1,
                Some(last) if last.1 == now.1 => (),
                _ => steps.push(now),
            }
        }
        Ready { steps }
    }

    /// The stretches of `begin..end`, each with whether a thread was ready.
    fn stretches(&self, begin: u64, end: u64) -> Vec<(u64, bool)> {
        let mut place = self.steps.partition_point(|(ns, _)| *ns <= begin).saturating_sub(1);
        let (mut from, mut out): (u64, Vec<(u64, bool)>) = (begin, Vec::new());
        while from < end {
            let some = self.steps.get(place).is_some_and(|(_, count)| *count > 0);
            let next = self.steps.get(place + 1).map_or(end, |(ns, _)| *ns).clamp(from, end);
            match out.last_mut() {
                Some((ns, before)) if *before == some => *ns += next - from,
                _ if next > from => out.push((next - from, some)),
                _ => (),
            }
            from = next;
            place += 1;
            if place >= self.steps.len() {
                break;
            }
        }
        if from < end {
            let some = self.steps.last().is_some_and(|(_, count)| *count > 0);
            out.push((end - from, some));
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
            for (ns, some_ready) in ready.stretches(gap.begin_ns, handed_at) {
                parts.push((if some_ready { Class::Misplaced } else { Class::Starved }, ns));
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
