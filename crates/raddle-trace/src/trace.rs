//! Owns: `Trace`: an open file, of which any part can be read into a `Log`.
//! May use: `clock`, `event`, `file`, `log`.
//! Never: all records in memory, unless all are asked for.
//!
//! Opening reads the file once, checks its sums and keeps names, samples and where the records are. Then a part of the
//! time takes memory in proportion to its records, and each record can be looked at without being kept.

use crate::clock::Scale;
use crate::event::{Event, Record, StopReason, unpack};
use crate::file::{self, Contents, ReadError, RecordRange, Sample, Source, Whereabouts};
use crate::log::{At, Log, OUTSIDE, Whereabout, Worker};
use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The longest trace: 104 days in nanoseconds. A file that claims more has a damaged clock; sums must still fit.
const NS_MAX: u64 = 1 << 53;

/// Converts ticks to nanoseconds of the trace.
fn ns_of(scale: &Scale, ticks: u64) -> u64 {
    u64::try_from(scale.ns(ticks)).unwrap_or(0).min(NS_MAX)
}

/// Is told how much of some work has been done, and of how much.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// A trace in a file, or in memory.
///
/// ```
/// use raddle_trace::clock::Reading;
/// use raddle_trace::file::Writer;
/// use raddle_trace::trace::Trace;
/// use raddle_trace::{Event, Record};
///
/// let mut writer = Writer::begin(Vec::new(), [("program", "example")])?;
/// let reading = |ns| Reading { ticks: ns, monotonic_ns: ns, realtime_ns: ns };
/// writer.clock(&[reading(0), reading(1000)])?;
/// writer.records(0, 0, &[100, 200, 300].map(|ns| Record::new(ns, Event::Switch, 1, 0)))?;
/// let bytes = writer.end()?;
///
/// let source = &bytes[..];
/// let trace = Trace::open(&source, &mut |_, _| ())?;
/// assert_eq!((trace.records(), trace.end_ns()), (3, 1000));
/// // The part from 150 on, and what ran at its beginning.
/// assert_eq!(trace.part(150, 250, &mut |_, _| ())?.workers[0].events.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Trace<'a> {
    source: &'a dyn Source,
    scale: Scale,
    contents: Contents,
    names: Arc<BTreeMap<u32, String>>,
    strings: Arc<BTreeMap<u32, String>>,
    workers: Vec<Recorded>,
    outside: Recorded,
    end_ns: u64,
}

/// What is known of a worker without its records.
#[derive(Default)]
struct Recorded {
    number: u32,
    /// Where its records are, in their order and each once.
    runs: Vec<RecordRange>,
    /// Records that are in no chunk.
    missing: u64,
    /// The samples, as events, by time.
    samples: Vec<At>,
    whereabouts: Vec<Whereabout>,
    counters: Vec<(String, u64)>,
}

impl<'a> Trace<'a> {
    /// Opens a trace. `progress` is told how many bytes have been read, and of how many.
    ///
    /// # Errors
    /// [`ReadError`], if it is none, or cannot be read.
    pub fn open(source: &'a dyn Source, progress: Progress<'_>) -> Result<Trace<'a>, ReadError> {
        let mut contents = file::read(source, progress)?;
        let scale = Scale::new(std::mem::take(&mut contents.clock)).ok_or(ReadError::Empty)?;
        let mut workers: BTreeMap<u32, Recorded> = BTreeMap::new();
        for (number, counters) in std::mem::take(&mut contents.counters) {
            workers.entry(number).or_default().counters = counters;
        }
        for run in std::mem::take(&mut contents.runs) {
            workers.entry(run.worker).or_default().runs.push(run);
        }
        let mut waited: BTreeMap<u32, u64> = BTreeMap::new();
        for sample in std::mem::take(&mut contents.samples) {
            if let Some(worker) = workers.get_mut(&sample.worker) {
                let before = waited.insert(sample.worker, sample.kernel_wait_ns);
                worker.add_sample(&sample, before.unwrap_or(sample.kernel_wait_ns), &scale);
            }
        }
        for of in std::mem::take(&mut contents.whereabouts) {
            if let Some(worker) = workers.get_mut(&of.worker) {
                let Whereabouts { sleeps, place, on_core_ns, kernel_wait_ns, .. } = of;
                let ns = ns_of(&scale, of.ticks);
                worker.whereabouts.push(Whereabout { ns, sleeps, place, on_core_ns, kernel_wait_ns });
            }
        }
        let mut outside =
            Recorded { number: OUTSIDE, runs: std::mem::take(&mut contents.outside), ..Recorded::default() };
        let mut end_ns = ns_of(&scale, scale.last().ticks);
        for (number, worker) in &mut workers {
            worker.number = *number;
            worker.settle();
            let last = worker.runs.iter().map(|run| ns_of(&scale, run.ticks_max)).max();
            end_ns = end_ns.max(last.unwrap_or(0)).max(worker.samples.last().map_or(0, |at| at.ns));
        }
        outside.settle();
        let strings = std::mem::take(&mut contents.strings);
        let names = std::mem::take(&mut contents.threads);
        let names = names.iter().filter_map(|(thread, string)| Some((*thread, strings.get(string)?.clone())));
        Ok(Trace {
            source,
            names: Arc::new(names.collect()),
            strings: Arc::new(strings),
            workers: workers.into_values().collect(),
            scale,
            contents,
            outside,
            end_ns,
        })
    }

    /// How many records of workers it holds.
    pub fn records(&self) -> u64 {
        self.workers.iter().map(Recorded::records).sum()
    }

    /// How many workers have something in it.
    pub fn workers(&self) -> usize {
        self.workers.len()
    }

    /// How many events the samples of the `place`th worker are.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn samples(&self, place: usize) -> u64 {
        self.workers[place].samples.len() as u64
    }

    /// Whether the program completed it.
    pub fn ended(&self) -> bool {
        self.contents.ended
    }

    /// The value of a line about the program.
    pub fn about_line(&self, key: &str) -> Option<&str> {
        self.contents.about.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// How long it is, in nanoseconds.
    pub fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// All of it. `progress` is told how many records have been read, and of how many.
    ///
    /// # Errors
    /// [`ReadError::Refused`].
    pub fn whole(&self, progress: Progress<'_>) -> Result<Log, ReadError> {
        self.part(0, u64::MAX, progress)
    }

    /// What happened from one time until another, in nanoseconds; and what ran, or was idle, at the beginning. What
    /// happened before is unknown: of a wait that began before, the log holds the end.
    ///
    /// # Errors
    /// [`ReadError::Refused`].
    pub fn part(&self, from_ns: u64, until_ns: u64, progress: Progress<'_>) -> Result<Log, ReadError> {
        let (total, mut done) = (self.records() + self.outside.records(), 0);
        let mut read = |recorded: &Recorded| -> io::Result<Worker> {
            let worker =
                self.worker(recorded, (from_ns, until_ns), &mut |count| progress(done + count, total));
            done += recorded.records();
            progress(done, total);
            worker
        };
        let workers = self.workers.iter().map(&mut read).collect::<io::Result<Vec<Worker>>>()?;
        let mut outside = read(&self.outside)?;
        outside.events.retain(|at| at.event.is_outside());
        let late = self.workers.iter().chain([&self.outside]).filter_map(|of| of.late_ns(&self.scale)).max();
        let late = late.unwrap_or(0);
        let end_ns = self.end_ns.min(until_ns);
        Ok(Log {
            about: self.about(from_ns > 0 || until_ns < self.end_ns),
            names: self.names.clone(),
            strings: self.strings.clone(),
            begin_ns: late.max(from_ns).min(end_ns),
            end_ns,
            started_at_ns: self.scale.origin().realtime_ns,
            ended: self.contents.ended,
            damage: self.contents.damage.clone(),
            workers,
            outside,
        })
    }

    /// What the program was; a part of a trace does not agree with what was counted in all of it.
    fn about(&self, is_part: bool) -> Vec<(String, String)> {
        let about = self.contents.about.iter().filter(|(key, _)| !is_part || key != "whole");
        about.cloned().collect()
    }

    /// Looks at each event of the `place`th worker, in order, but for samples; then tells how many records are of a
    /// newer version, and how many were lost.
    ///
    /// # Errors
    /// Those of the source.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn each(&self, place: usize, take: &mut dyn FnMut(&At)) -> io::Result<(u64, u64)> {
        let recorded = &self.workers[place];
        let mut worker = Worker { lost: recorded.missing, ..Worker::default() };
        let mut before = 0;
        for run in &recorded.runs {
            file::each_record(self.source, run.at, run.count, &mut |record| {
                before = self.later(before, &record);
                worker.push(before, record);
                worker.events.drain(..).for_each(|at| take(&at));
                ControlFlow::Continue(())
            })?;
        }
        Ok((worker.unknown, worker.lost))
    }

    /// Times that divide the trace into parts of about so many records: begin and end of each.
    ///
    /// # Errors
    /// Those of the source.
    pub fn parts(&self, records: u64) -> io::Result<Vec<(u64, u64)>> {
        let step = (records / 8).max(1);
        let mut steps: Vec<(u64, u64)> = Vec::new();
        for run in self.workers.iter().flat_map(|worker| &worker.runs) {
            for place in (0..run.count).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
                steps.push((self.ns_at(run, place)?, step.min(run.count - place)));
            }
        }
        steps.sort_unstable();
        let (mut parts, mut begin, mut sum) = (Vec::new(), 0, 0);
        for (ns, count) in steps {
            if sum + count > records && ns > begin && ns < self.end_ns {
                parts.push((begin, ns));
                (begin, sum) = (ns, 0);
            }
            sum += count;
        }
        parts.push((begin, self.end_ns));
        Ok(parts)
    }

    /// The time of a record.
    fn ns_at(&self, run: &RecordRange, place: u64) -> io::Result<u64> {
        let mut bytes = [0; Record::BYTES];
        self.source.read_at(run.at + place * Record::BYTES as u64, &mut bytes)?;
        Ok(ns_of(&self.scale, Record::of_bytes(&bytes).ticks()))
    }

    /// The time of a record that comes after another. What is no event has none that counts.
    fn later(&self, before: u64, record: &Record) -> u64 {
        if file::is_event(record) { before.max(ns_of(&self.scale, record.ticks())) } else { before }
    }

    /// The first record that is not before `ns`.
    fn first_from(&self, run: &RecordRange, ns: u64) -> io::Result<u64> {
        let (mut low, mut high) = (0, run.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.ns_at(run, middle)? < ns { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// What a worker did from one time until another. `progress` is told how many of its records are done.
    fn worker(
        &self,
        recorded: &Recorded,
        (from, until): (u64, u64),
        progress: &mut dyn FnMut(u64),
    ) -> io::Result<Worker> {
        let Recorded { number, missing: lost, .. } = *recorded;
        let counters = recorded.counters.clone();
        let mut worker = Worker { number, lost, counters, ..Worker::default() };
        let is_whole = from == 0 && until >= self.end_ns;
        let (mut done, mut before, mut at_begin) = (0, from, is_whole);
        let as_it_begins = |at: At| At { ns: at.ns.min(from), ..at };
        if is_whole {
            // A file may claim more than there is.
            worker
                .events
                .reserve_exact(usize::try_from(recorded.records()).unwrap_or(0) + recorded.samples.len());
        }
        for (place, run) in recorded.runs.iter().enumerate() {
            let (mut first, mut end) = (0, run.count);
            if !is_whole {
                if ns_of(&self.scale, run.ticks_max) < from || ns_of(&self.scale, run.ticks_first) > until {
                    done += run.count;
                    continue;
                }
                (first, end) = (self.first_from(run, from)?, self.first_from(run, until.saturating_add(1))?);
            }
            if !std::mem::replace(&mut at_begin, true) {
                let state = self.state_before(&recorded.runs[..=place], first)?;
                worker.events.extend(state.map(as_it_begins));
            }
            file::each_record(
                self.source,
                run.at + first * Record::BYTES as u64,
                end.saturating_sub(first),
                &mut |record| {
                    // A worker's own clock may step back a little between cores: its order is what counts. In a
                    // damaged file it does so at will, and the search above has found anything.
                    before = self.later(before, &record);
                    if before > until {
                        return ControlFlow::Break(());
                    }
                    worker.push(before, record);
                    done += 1;
                    if done % (1 << 16) == 0 {
                        progress(done);
                    }
                    ControlFlow::Continue(())
                },
            )?;
        }
        if !at_begin {
            worker.events.extend(self.state_at(&recorded.runs, from)?.map(as_it_begins));
        }
        let within = |ns: u64| (from..=until).contains(&ns);
        worker.events.extend(recorded.samples.iter().filter(|at| within(at.ns)));
        worker.events.sort_by_key(|at| at.ns);
        let last = recorded.whereabouts.partition_point(|of| of.ns < from).saturating_sub(1);
        let notes = recorded.whereabouts[last..].iter().take_while(|of| of.ns <= until);
        worker.whereabouts = notes.copied().collect();
        Ok(worker)
    }

    /// The event that says what a worker did at a time in which none of these runs lies.
    fn state_at(&self, runs: &[RecordRange], ns: u64) -> io::Result<Option<At>> {
        let before = runs.iter().rposition(|run| ns_of(&self.scale, run.ticks_max) < ns);
        before.map_or(Ok(None), |last| self.state_before(&runs[..=last], runs[last].count))
    }

    /// The last event before the `end`th record of the last run that says what the worker does: it runs something, is
    /// idle, or schedules.
    fn state_before(&self, runs: &[RecordRange], end: u64) -> io::Result<Option<At>> {
        const STEP: u64 = 256;
        for (distance, run) in runs.iter().rev().enumerate() {
            let mut end = if distance == 0 { end } else { run.count };
            while end > 0 {
                let first = end.saturating_sub(STEP);
                let (mut last, at) = (None, run.at + first * Record::BYTES as u64);
                file::each_record(self.source, at, end - first, &mut |record| {
                    let event = Event::of_number(record.number());
                    if let Some(event @ (Event::Switch | Event::IdleBegin | Event::IdleEnd)) = event {
                        let ns = ns_of(&self.scale, record.ticks());
                        last = Some(At { ns, event, a: record.a, b: why_unknown(event, record.b) });
                    }
                    ControlFlow::Continue(())
                })?;
                if last.is_some() {
                    return Ok(last);
                }
                end = first;
            }
        }
        Ok(None)
    }
}

impl Log {
    /// Reads a whole `.rdt` that is in memory.
    ///
    /// # Errors
    /// [`ReadError`], if it is none.
    pub fn read(bytes: &[u8]) -> Result<Log, ReadError> {
        Trace::open(&bytes, &mut |_, _| ())?.whole(&mut |_, _| ())
    }
}

/// Why the thread before it stopped belongs to a time that the part does not hold.
fn why_unknown(event: Event, b: u32) -> u32 {
    if event == Event::Switch { crate::event::pack(StopReason::None as u8, unpack(b).1) } else { b }
}

impl Recorded {
    /// The time before the first record of a worker that lost its oldest ones is unknown: until when.
    fn late_ns(&self, scale: &Scale) -> Option<u64> {
        let first = self.runs.first().filter(|_| self.missing > 0)?;
        let record = ns_of(scale, first.ticks_first);
        Some(self.samples.first().map_or(record, |sample| record.min(sample.ns)))
    }

    fn records(&self) -> u64 {
        self.runs.iter().map(|run| run.count).sum()
    }

    /// Turns a sample into events.
    fn add_sample(&mut self, sample: &Sample, waited_before: u64, scale: &Scale) {
        let ns = ns_of(scale, sample.ticks);
        let most = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        self.samples.push(At { ns, event: Event::Sample, a: sample.ready, b: most(sample.backlog_ns) });
        let more = most(sample.kernel_wait_ns.saturating_sub(waited_before));
        if more > 0 {
            self.samples.push(At { ns, event: Event::KernelTook, a: more, b: 0 });
        }
    }

    /// Brings all into its order; leaves out what is there twice, and counts what is missing.
    fn settle(&mut self) {
        self.samples.sort_by_key(|at| at.ns);
        self.whereabouts.sort_by_key(|of| of.ns);
        self.runs.sort_by_key(|run| run.first);
        let mut next = 0_u64;
        for run in &mut self.runs {
            self.missing = self.missing.saturating_add(run.first.saturating_sub(next));
            let twice = next.saturating_sub(run.first).min(run.count);
            next = next.max(run.first.saturating_add(run.count));
            run.first = run.first.saturating_add(twice);
            run.count -= twice;
            run.at += twice * Record::BYTES as u64;
        }
        self.runs.retain(|run| run.count > 0);
    }
}
