//! Owns: `Log`: the records of all workers in their order, in nanoseconds, with the names of things.
//! May use: `event`, `file`.
//! Never: interpretation; that is `analysis`.
//!
//! `trace` reads it from a file: all of it, or a part.

use crate::event::{Event, Record, unpack};
use crate::file::{Damage, NO_WORKER};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

/// An event of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// Nanoseconds since the trace began.
    pub ns: u64,
    /// What happened.
    pub event: Event,
    /// Its first word.
    pub a: u32,
    /// Its second word.
    pub b: u32,
}

/// Stands for the worker's number in events of OS threads that are not workers.
pub const OUTSIDE: u32 = NO_WORKER;

/// Where a worker's OS thread was until one moment, and at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whereabout {
    /// Nanoseconds since the trace began.
    pub ns: u64,
    /// Whether it slept in the kernel, although its worker was not idle.
    pub sleeps: bool,
    /// The string of the call and the place in the program, 0 if that is not known.
    pub place: u32,
    /// How long it has been on a core, in total.
    pub on_core_ns: u64,
    /// How long it has been runnable without a core, in total.
    pub kernel_wait_ns: u64,
}

/// One worker's events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worker {
    /// Its number.
    pub number: u32,
    /// What happened there, in order.
    pub events: Vec<At>,
    /// Where its OS thread was, by time.
    pub whereabouts: Vec<Whereabout>,
    /// Records that were overwritten before they could be written out.
    pub lost: u64,
    /// Records of events that this version does not know.
    pub unknown: u64,
    /// Its counters at the end: level 0.
    pub counters: Vec<(String, u64)>,
}

/// A trace as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// What the program was and where it ran.
    pub about: Vec<(String, String)>,
    /// The workers, by number.
    pub workers: Vec<Worker>,
    /// What OS threads did that are not workers; only `events` and `lost` are used.
    pub outside: Worker,
    /// The names of threads: as the program named them, else where they were spawned.
    pub(crate) names: Arc<BTreeMap<u32, String>>,
    /// The strings of the file.
    pub(crate) strings: Arc<BTreeMap<u32, String>>,
    /// The time from which on the records of all workers are complete.
    pub begin_ns: u64,
    /// The end of the trace.
    pub end_ns: u64,
    /// Nanoseconds since 1970 at time 0.
    pub started_at_ns: u64,
    /// Whether the program completed the trace.
    pub ended: bool,
    /// What could not be read.
    pub damage: Vec<Damage>,
}

impl Log {
    /// How many records of workers were overwritten before they could be written out; what a damaged file says may be
    /// more than fits.
    pub fn lost(&self) -> u64 {
        self.workers.iter().fold(0, |sum, worker| sum.saturating_add(worker.lost))
    }

    /// The name of a thread.
    pub fn name(&self, thread: u32) -> String {
        match self.names.get(&thread) {
            Some(name) => name.clone(),
            None if thread == 0 => "nothing".to_owned(),
            None => format!("thread {thread}"),
        }
    }

    /// The string with this number.
    pub fn string(&self, number: u32) -> String {
        self.strings.get(&number).cloned().unwrap_or_else(|| format!("string {number}"))
    }

    /// The name of the OS thread that did this: an event for which [`Event::is_outside`] is true.
    pub fn os_thread(&self, at: &At) -> String {
        match unpack(at.b).1 {
            0 => "an OS thread".to_owned(),
            name => format!("OS thread {}", self.string(name)),
        }
    }

    /// The value of a line about the program.
    pub fn about(&self, key: &str) -> Option<&str> {
        self.about.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// The length of the time for which the records of all workers are complete.
    pub fn wall_ns(&self) -> u64 {
        self.end_ns - self.begin_ns
    }

    /// All events with their workers' numbers, by time; those of one worker keep their order. OS threads that are not
    /// workers have the number [`OUTSIDE`]; their events come before others of the same time. [`Log::in_order`] needs
    /// no memory for them.
    pub fn by_time(&self) -> Vec<(u32, At)> {
        let count = self.workers.iter().chain([&self.outside]).map(|worker| worker.events.len()).sum();
        let mut all = Vec::with_capacity(count);
        all.extend(self.in_order());
        all
    }

    /// The same events one by one.
    pub fn in_order(&self) -> impl Iterator<Item = (u32, At)> + '_ {
        let all: Vec<&Worker> = [&self.outside].into_iter().chain(&self.workers).collect();
        let mut next = vec![0; all.len()];
        let firsts = all.iter().enumerate();
        let firsts = firsts.filter_map(|(place, worker)| Some(Reverse((worker.events.first()?.ns, place))));
        let mut heads: BinaryHeap<Reverse<(u64, usize)>> = firsts.collect();
        std::iter::from_fn(move || {
            let mut head = heads.peek_mut()?;
            let place = head.0.1;
            let (worker, at) = (all[place], all[place].events[next[place]]);
            next[place] += 1;
            match worker.events.get(next[place]) {
                Some(after) => head.0.0 = after.ns,
                None => {
                    std::collections::binary_heap::PeekMut::pop(head);
                }
            }
            Some((worker.number, at))
        })
    }
}

impl Worker {
    /// Adds what a record says.
    pub(crate) fn push(&mut self, ns: u64, record: Record) {
        match Event::of_number(record.number()) {
            Some(Event::Lost) => self.lost = self.lost.saturating_add(u64::from(record.a)),
            Some(event) => self.events.push(At { ns, event, a: record.a, b: record.b }),
            None => self.unknown += 1,
        }
    }

    /// A counter's value.
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters.iter().find(|(n, _)| n == name).map(|(_, value)| *value)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::clock::Reading;
    use crate::event::{IdleCause, StopReason, pack};
    use crate::file::{Sample, Whereabouts, Writer};

    /// A hand-written trace, in nanoseconds.
    pub(crate) struct Script {
        records: BTreeMap<u32, Vec<Record>>,
        names: Vec<(u32, String)>,
        pub(crate) samples: Vec<Sample>,
        pub(crate) whereabouts: Vec<Whereabouts>,
        outside: Vec<Record>,
        pub(crate) about: Vec<(&'static str, &'static str)>,
        end_ns: u64,
    }

    impl Script {
        pub(crate) fn new(workers: u32, end_ns: u64) -> Script {
            let records = (0..workers).map(|w| (w, Vec::new())).collect();
            Script {
                records,
                names: Vec::new(),
                samples: Vec::new(),
                whereabouts: Vec::new(),
                outside: Vec::new(),
                about: vec![("program", "script")],
                end_ns,
            }
        }

        pub(crate) fn put(&mut self, worker: u32, ns: u64, event: Event, a: u32, b: u32) -> &mut Script {
            self.records.entry(worker).or_default().push(Record::new(ns, event, a, b));
            self
        }

        /// The worker switches to `next`; the thread before it stopped for `why`.
        pub(crate) fn switch(&mut self, worker: u32, ns: u64, why: StopReason, next: u32) -> &mut Script {
            self.put(worker, ns, Event::Switch, next, pack(why as u8, 0))
        }

        pub(crate) fn wake(&mut self, worker: u32, ns: u64, woken: u32, target: u8) -> &mut Script {
            self.put(worker, ns, Event::Wake, woken, pack(target, 0))
        }

        /// An OS thread wakes a thread; its name is the `name`th that was given, from 1.
        pub(crate) fn wake_outside(&mut self, ns: u64, name: u32, woken: u32, target: u8) -> &mut Script {
            self.outside.push(Record::new(ns, Event::WakeOutside, woken, pack(target, name)));
            self
        }

        pub(crate) fn idle(&mut self, worker: u32, from: u64, to: u64, cause: IdleCause) -> &mut Script {
            self.put(worker, from, Event::IdleBegin, 0, 0);
            self.put(worker, to, Event::IdleEnd, cause as u32, 0)
        }

        pub(crate) fn name(&mut self, thread: u32, name: &str) -> &mut Script {
            self.names.push((thread, name.to_owned()));
            self
        }

        pub(crate) fn bytes(&self) -> Vec<u8> {
            let mut writer = Writer::begin(Vec::new(), self.about.iter().copied()).unwrap();
            let at = |ns| Reading {
                ticks: ns,
                monotonic_ns: 5_000 + ns,
                realtime_ns: 1_700_000_000_000_000_000 + ns,
            };
            writer.clock(&[at(0)]).unwrap();
            writer.strings((1..).zip(self.names.iter().map(|(_, name)| name.as_str()))).unwrap();
            writer.threads(self.names.iter().map(|(thread, _)| *thread).zip(1..)).unwrap();
            writer.samples(&self.samples).unwrap();
            writer.whereabouts(&self.whereabouts).unwrap();
            for (worker, records) in &self.records {
                let mut records = records.clone();
                records.sort_by_key(|record| record.ticks());
                writer.records(*worker, 0, &records).unwrap();
            }
            writer.outside(0, &self.outside).unwrap();
            writer.clock(&[at(self.end_ns)]).unwrap();
            writer.end().unwrap()
        }

        pub(crate) fn log(&self) -> Log {
            Log::read(&self.bytes()).unwrap()
        }
    }

    #[test]
    fn a_log_has_names_times_and_order() {
        let mut script = Script::new(2, 1000);
        script.name(1, "main").switch(0, 10, StopReason::None, 1).wake(0, 50, 2, 1);
        script.switch(1, 70, StopReason::None, 2);
        let log = script.log();
        assert_eq!((log.begin_ns, log.end_ns, log.wall_ns()), (0, 1000, 1000));
        assert_eq!((log.name(1), log.name(2)), ("main".to_owned(), "thread 2".to_owned()));
        let order: Vec<_> = log.by_time().iter().map(|(worker, at)| (*worker, at.ns)).collect();
        assert_eq!(order, [(0, 10), (0, 50), (1, 70)]);
        assert!(log.ended && log.damage.is_empty());
        assert_eq!(log.about("program"), Some("script"));
    }

    #[test]
    fn lost_records_are_counted_and_the_time_begins_where_all_is_there() {
        let mut writer = Writer::begin(Vec::new(), []).unwrap();
        let at = |ns| Reading { ticks: ns, monotonic_ns: ns, realtime_ns: ns };
        writer.clock(&[at(0), at(900)]).unwrap();
        let record = |ns| Record::new(ns, Event::Switch, 1, 0);
        writer.records(0, 100, &[record(400), record(500)]).unwrap();
        writer.records(0, 101, &[record(500), record(600)]).unwrap();
        writer.records(0, 110, &[record(700)]).unwrap();
        let log = Log::read(&writer.end().unwrap()).unwrap();
        let worker = &log.workers[0];
        assert_eq!(worker.events.iter().map(|at| at.ns).collect::<Vec<_>>(), [400, 500, 600, 700]);
        assert_eq!((worker.lost, log.begin_ns, log.end_ns), (107, 400, 900));
    }
}
