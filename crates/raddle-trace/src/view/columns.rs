//! Owns: the data of the page, as columns of variable-length numbers.
//! May use: `analysis`, `event`, `log`.
//! Never: a number that is not in the analysis.
//!
//! | per worker | columns |
//! |---|---|
//! | slices | begin since the last end, length, thread, why it stopped, where it stopped |
//! | gaps | begin since the last end, length, then a part of each class |
//! | sleep in slices | begin since the last end, length, how much of it |
//! | wakes | time since the last, thread, target worker |
//!
//! A thread is its index in the list of names. *Where* is its index in the list of strings plus 1, or 0 if unknown.
//!
//! Then the events of OS threads that are not workers: time since the last, thread, target worker, who (encoded as
//! *where* is), whether it spawned the thread.
//!
//! Then the program's own spans, marks and counters: time since the begin of the last, length or value, thread, name
//! (its index in the list of strings).
//!
//! Then messages between ranks, by their posting: time since the last posting, how long before it their exchange began,
//! how long until they were done, how long somebody waited for them, bytes, rank, what they carry, their exchange,
//! whether they were done; and the looks of the proxy: time since the begin of the last, length, how much they found,
//! whether the proxy's own OS thread looked.
//!
//! Each column is its count and then its numbers, seven bits per byte, the low ones first.

use crate::analysis::{Analysis, Class, Point};
use crate::event::{Event, unpack};
use crate::log::Log;
use std::collections::{BTreeSet, HashMap};

/// The threads that ran, by number. The page uses their index in this list.
pub(super) fn threads(analysis: &Analysis) -> Vec<u32> {
    let slices = analysis.workers.iter().flat_map(|worker| &worker.slices);
    slices.map(|slice| slice.thread).collect::<BTreeSet<u32>>().into_iter().collect()
}

/// The strings of the program's own events and of sites, by number. The page uses their index in this list.
pub(super) fn strings(log: &Log, analysis: &Analysis) -> Vec<u32> {
    let user = &analysis.user;
    let points = user.marks.iter().chain(&user.counters).map(|point| point.name);
    let slices = analysis.workers.iter().flat_map(|worker| &worker.slices);
    let sites = slices.map(|slice| slice.site).filter(|site| *site != 0);
    let outside = log.outside.events.iter().map(|at| unpack(at.b).1).filter(|who| *who != 0);
    let bars = analysis.messages.bars.iter().flat_map(|bar| [bar.name, bar.exchange]);
    let all = user.spans.iter().map(|span| span.name).chain(points).chain(sites).chain(outside).chain(bars);
    all.collect::<BTreeSet<u32>>().into_iter().collect()
}

/// The columns, written one after the other.
pub(super) struct Columns(Vec<u8>);

impl Columns {
    pub(super) fn of(log: &Log, analysis: &Analysis) -> Columns {
        let mut columns = Columns(Vec::new());
        let places: HashMap<u32, u64> = threads(analysis).into_iter().zip(0..).collect();
        let strings: HashMap<u32, u64> = strings(log, analysis).into_iter().zip(0..).collect();
        columns.number(analysis.workers.len() as u64);
        for (time, worker) in analysis.workers.iter().zip(&log.workers) {
            let slices = &time.slices;
            columns.number(u64::from(time.number));
            columns.since(slices.iter().map(|s| (s.begin_ns, s.end_ns)), log.begin_ns);
            columns.column(slices.iter().map(|slice| slice.ns()));
            columns.column(slices.iter().map(|slice| places.get(&slice.thread).copied().unwrap_or(0)));
            columns.column(slices.iter().map(|slice| slice.stopped as u64));
            columns.column(slices.iter().map(|slice| strings.get(&slice.site).map_or(0, |place| place + 1)));
            columns.since(time.gaps.iter().map(|g| (g.begin_ns, g.end_ns)), log.begin_ns);
            columns.column(time.gaps.iter().map(|gap| gap.ns()));
            for class in Class::ALL {
                let of_class = |parts: &[(Class, u64)]| {
                    parts.iter().filter(|(c, _)| *c == class).map(|(_, ns)| ns).sum()
                };
                columns.column(time.gaps.iter().map(|gap| of_class(&gap.parts)));
            }
            columns.since(time.asleep.iter().map(|(from, until, _)| (*from, *until)), log.begin_ns);
            columns.column(time.asleep.iter().map(|(from, until, _)| until - from));
            columns.column(time.asleep.iter().map(|(.., ns)| *ns));
            let wakes = || worker.events.iter().filter(|at| at.event == Event::Wake && at.ns >= log.begin_ns);
            let known = || wakes().filter(|at| places.contains_key(&at.a));
            columns.since(known().map(|at| (at.ns, at.ns)), log.begin_ns);
            columns.column(known().map(|at| places.get(&at.a).copied().unwrap_or(0)));
            columns.column(known().map(|at| u64::from(unpack(at.b).0)));
        }
        columns.outside(log, &places, &strings);
        columns.user(log, analysis, &places, &strings);
        columns.messages(log, analysis, &strings);
        columns
    }

    fn messages(&mut self, log: &Log, analysis: &Analysis, strings: &HashMap<u32, u64>) {
        let bars = || analysis.messages.bars.iter().filter(|bar| bar.posted_ns >= log.begin_ns);
        let string = |name: &u32| strings.get(name).copied().unwrap_or(0);
        self.since(bars().map(|bar| (bar.posted_ns, bar.posted_ns)), log.begin_ns);
        self.column(bars().map(|bar| bar.posted_ns.saturating_sub(bar.started_ns)));
        self.column(bars().map(|bar| bar.done_ns.saturating_sub(bar.posted_ns)));
        self.column(bars().map(|bar| bar.waited_ns));
        self.column(bars().map(|bar| bar.bytes.into()));
        self.column(bars().map(|bar| bar.peer.into()));
        self.column(bars().map(|bar| string(&bar.name)));
        self.column(bars().map(|bar| string(&bar.exchange)));
        self.column(bars().map(|bar| bar.is_done.into()));
        let looks = || analysis.messages.looks.iter().filter(|look| look.begin_ns >= log.begin_ns);
        self.since(looks().map(|look| (look.begin_ns, look.begin_ns)), log.begin_ns);
        self.column(looks().map(|look| look.end_ns.saturating_sub(look.begin_ns)));
        self.column(looks().map(|look| look.found.into()));
        self.column(looks().map(|look| look.by_keeper.into()));
    }

    fn outside(&mut self, log: &Log, places: &HashMap<u32, u64>, strings: &HashMap<u32, u64>) {
        let events = || log.outside.events.iter().filter(|at| at.ns >= log.begin_ns);
        let known = || events().filter(|at| places.contains_key(&at.a));
        self.since(known().map(|at| (at.ns, at.ns)), log.begin_ns);
        self.column(known().map(|at| places.get(&at.a).copied().unwrap_or(0)));
        self.column(known().map(|at| u64::from(unpack(at.b).0)));
        self.column(known().map(|at| strings.get(&unpack(at.b).1).map_or(0, |place| place + 1)));
        self.column(known().map(|at| u64::from(at.event == Event::SpawnOutside)));
    }

    fn user(
        &mut self,
        log: &Log,
        analysis: &Analysis,
        places: &HashMap<u32, u64>,
        strings: &HashMap<u32, u64>,
    ) {
        let user = &analysis.user;
        let spans =
            user.spans.iter().map(|s| (s.begin_ns, s.end_ns - s.begin_ns, s.thread, s.name)).collect();
        let points = |points: &[Point]| {
            points.iter().map(|p| (p.ns, u64::from(p.value), p.thread, p.name)).collect::<Vec<_>>()
        };
        let kinds: [Vec<(u64, u64, u32, u32)>; 3] = [spans, points(&user.marks), points(&user.counters)];
        for all in kinds {
            let seen =
                || all.iter().filter(|(ns, _, thread, _)| *ns >= log.begin_ns && places.contains_key(thread));
            self.since(seen().map(|(ns, ..)| (*ns, *ns)), log.begin_ns);
            self.column(seen().map(|(_, value, ..)| *value));
            self.column(seen().map(|(_, _, thread, _)| places.get(thread).copied().unwrap_or(0)));
            self.column(seen().map(|(.., name)| strings.get(name).copied().unwrap_or(0)));
        }
    }

    pub(super) fn bytes(self) -> Vec<u8> {
        self.0
    }

    fn number(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.0.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }

    fn column(&mut self, numbers: impl Iterator<Item = u64>) {
        let numbers: Vec<u64> = numbers.collect();
        self.number(numbers.len() as u64);
        numbers.into_iter().for_each(|n| self.number(n));
    }

    /// Writes begin times, each relative to the end of the one before.
    fn since(&mut self, stretches: impl Iterator<Item = (u64, u64)>, begin: u64) {
        let mut last = begin;
        self.column(stretches.map(|(from, to)| {
            let since = from.saturating_sub(last);
            last = to;
            since
        }));
    }
}
