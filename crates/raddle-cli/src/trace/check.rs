//! Owns: the checks of `raddle trace check`.
//! May use: `raddle-trace`.
//! Never: a repair; more than a part of the trace in memory.
//!
//! A trace is checked in parts of so many records. The times of each part must add up; the counts are of all parts.

use std::fmt::Write as _;
use std::io;

use raddle_trace::analysis::{Class, duration, times};
use raddle_trace::event::unpack;
use raddle_trace::file::ReadError;
use raddle_trace::log::{At, Log};
use raddle_trace::trace::{Progress, Trace};
use raddle_trace::{Event, StopReason};

use super::Report;

/// How many records are in memory at once, about.
const RECORDS_PER_PART: u64 = 1 << 19;

/// What a worker did, added up.
#[derive(Default)]
struct Sums {
    number: u32,
    /// Its time in parts: running, idle by any cause, overhead.
    sum_ns: u64,
    kernel_ns: u64,
    gaps: u64,
    gaps_by_length: u64,
    samples: u64,
    records: Records,
    unknown: u64,
    lost: u64,
    counters: Vec<(String, u64)>,
}

/// What its records say.
struct Records {
    /// How many there are of each event, by its number.
    counts: [u64; 256],
    exits: u64,
    idle_incidents: u64,
    idle_ns: u64,
    idle_since: Option<u64>,
}

impl Default for Records {
    fn default() -> Self {
        Records { counts: [0; 256], exits: 0, idle_incidents: 0, idle_ns: 0, idle_since: None }
    }
}

/// The errors in a trace, and other findings.
pub(super) fn findings(trace: &Trace<'_>, progress: Progress<'_>) -> Result<Report, ReadError> {
    findings_by(RECORDS_PER_PART, trace, progress)
}

/// As [`findings`], with about so many records in memory.
fn findings_by(records: u64, trace: &Trace<'_>, progress: Progress<'_>) -> Result<Report, ReadError> {
    let (mut wrong, mut text) = (0, String::new());
    let (workers, wall_ns, damage) = add_up(records, trace, progress)?;
    for damage in damage {
        wrong += 1;
        let _ = writeln!(text, "wrong: {damage}");
    }
    for worker in &workers {
        if worker.sum_ns.abs_diff(wall_ns) * 100 > wall_ns {
            wrong += 1;
            let (sum, wall) = (duration(worker.sum_ns), duration(wall_ns));
            let _ = writeln!(text, "wrong: worker {}: its times add up to {sum} of {wall}", worker.number);
        }
    }
    if trace.about_line("whole") == Some("yes") {
        let are_made = |worker: &Sums| worker.counted("promoted") > 0 || worker.counted("children_open") > 0;
        let forks = workers.iter().any(are_made);
        for worker in workers.iter().filter(|worker| worker.lost == 0) {
            for differs in worker.disagreements(wall_ns, forks) {
                wrong += 1;
                let _ = writeln!(text, "wrong: worker {}: {differs}", worker.number);
            }
        }
    }
    if !trace.ended() {
        let _ = writeln!(text, "note: the program did not complete its trace: it was killed, or still runs");
    }
    for worker in workers.iter().filter(|worker| worker.lost > 0) {
        let _ =
            writeln!(text, "note: worker {}: {} older records were overwritten", worker.number, worker.lost);
    }
    for worker in workers.iter().filter(|worker| worker.unknown > 0) {
        let _ =
            writeln!(text, "note: worker {}: {} records of a newer raddle", worker.number, worker.unknown);
    }
    let events: u64 =
        workers.iter().map(|worker| worker.records.counts.iter().sum::<u64>() + worker.samples).sum();
    let _ = writeln!(
        text,
        "{events} events of {} workers in {}: {}",
        workers.len(),
        duration(wall_ns),
        if wrong == 0 { "sound".to_owned() } else { format!("{wrong} things are wrong") }
    );
    Ok(Report { text, well: wrong == 0 })
}

/// What each worker did, how long the trace is, and what of it could not be read.
fn add_up(
    records: u64,
    trace: &Trace<'_>,
    progress: Progress<'_>,
) -> Result<(Vec<Sums>, u64, Vec<String>), ReadError> {
    let mut workers: Vec<Sums> = Vec::new();
    let (mut wall_ns, mut damage) = (0, Vec::new());
    let parts = trace.parts(records)?;
    for (place, (from, until)) in parts.iter().enumerate() {
        let log = trace.part(*from, *until, &mut |_, _| ())?;
        wall_ns += log.wall_ns();
        if place == 0 {
            damage = log.damage.iter().map(ToString::to_string).collect();
            workers = sums_of(trace, &log)?;
        }
        add_part(&mut workers, &log);
        progress(place as u64 + 1, parts.len() as u64);
    }
    Ok((workers, wall_ns, damage))
}

/// What the records of all parts say, without their times.
fn sums_of(trace: &Trace<'_>, first: &Log) -> io::Result<Vec<Sums>> {
    let workers = first.workers.iter().enumerate();
    let of_worker = |(place, worker): (usize, &raddle_trace::log::Worker)| {
        let mut records = Records::default();
        let (unknown, lost) = trace.each(place, &mut |at| records.add(at))?;
        let (number, counters, samples) = (worker.number, worker.counters.clone(), trace.samples(place));
        Ok(Sums { number, records, unknown, lost, counters, samples, ..Sums::default() })
    };
    workers.map(of_worker).collect()
}

/// Adds the times of a part.
fn add_part(workers: &mut [Sums], log: &Log) {
    for (sums, time) in workers.iter_mut().zip(times(log)) {
        let idle: u64 = Class::ALL.into_iter().map(|class| time.idle_ns(class)).sum();
        sums.sum_ns += time.running_ns + idle + time.overhead_ns;
        sums.kernel_ns += time.idle_ns(Class::Kernel);
        sums.gaps += time.gaps.len() as u64;
        sums.gaps_by_length += time.decades.total();
    }
}

impl Records {
    fn add(&mut self, at: &At) {
        self.counts[at.event as usize] += 1;
        match at.event {
            Event::Switch => {
                self.exits += u64::from(StopReason::of_number(unpack(at.b).0) == StopReason::Exit)
            }
            Event::IdleBegin => self.idle_since = Some(at.ns),
            Event::IdleEnd => {
                if let Some(since) = self.idle_since.take() {
                    self.idle_incidents += 1;
                    self.idle_ns += at.ns - since;
                }
            }
            _ => (),
        }
    }
}

impl Sums {
    /// A counter of the worker; 0 if there is none of that name.
    fn counted(&self, name: &str) -> u64 {
        self.counters.iter().find(|(counter, _)| counter == name).map_or(0, |(_, counted)| *counted)
    }

    /// Differences of more than a hundredth between a worker's counters and its records.
    ///
    /// Things that counters count differently are not compared: turns, the processes of a virtual machine, and spawns
    /// where there are forks, since taking a fork makes a process without a spawn. Idle times may differ by a hundredth
    /// of the whole, and by the kernel's share: the kernel may take the core between two readings of the clock.
    fn disagreements(&self, wall_ns: u64, forks: bool) -> Vec<String> {
        let counted = |name: &str| self.counted(name);
        let records = &self.records;
        let recorded = |event: Event| records.counts[event as usize];
        let engine = counted("spawns") == 0 && counted("exits") == 0;
        let spawns = match (forks, engine) {
            (true, _) => counted("spawns"),
            (false, true) => 0,
            (false, false) => recorded(Event::Spawn),
        };
        let histogram: u64 = raddle_trace::analysis::Decades::NAMES
            .into_iter()
            .map(|decade| counted(&format!("idle {decade}")))
            .fold(0, u64::saturating_add);
        let compared = [
            ("spawns", counted("spawns"), spawns),
            ("ends", counted("exits"), if engine { 0 } else { records.exits }),
            ("wakes", counted("local_wakes").saturating_add(counted("remote_wakes")), recorded(Event::Wake)),
            ("migrations", counted("migrations"), recorded(Event::Migrate)),
            ("steals", counted("steals"), recorded(Event::Steal)),
            ("idle incidents", counted("idle_incidents"), records.idle_incidents),
            ("idle incidents in its histogram", counted("idle_incidents"), histogram),
            ("gaps in the trace's histogram", self.gaps, self.gaps_by_length),
        ];
        // What a damaged file has counted may be any number.
        let differ =
            |one: u64, other: u64| one.abs_diff(other) > 2 && one.abs_diff(other) > one.max(other) / 100;
        let mut said: Vec<String> = compared
            .into_iter()
            .filter(|(_, one, other)| differ(*one, *other))
            .map(|(what, one, other)| format!("{one} {what} were counted, {other} recorded"))
            .collect();
        if counted("idle_ns").abs_diff(records.idle_ns) > wall_ns / 100 + self.kernel_ns {
            let (one, other) = (duration(counted("idle_ns")), duration(records.idle_ns));
            said.push(format!("{one} of idle time were counted, {other} recorded"));
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_trace::Record;
    use raddle_trace::analysis::Decades;
    use raddle_trace::clock::Reading;
    use raddle_trace::file::{Sample, Writer};

    /// As a damaged or forged file may have them.
    #[test]
    fn counters_that_add_up_to_more_than_fits_are_compared_without_a_panic() {
        let mut writer = Writer::begin(Vec::new(), [("whole", "yes")]).expect("memory takes it");
        let reading = |ns| Reading { ticks: ns, monotonic_ns: ns, realtime_ns: ns };
        writer.clock(&[reading(0), reading(1000)]).expect("memory takes it");
        let decades = Decades::NAMES.map(|decade| format!("idle {decade}"));
        let names =
            ["promoted", "children_open", "local_wakes", "remote_wakes", "spawns", "exits", "idle_ns"];
        let all = decades.iter().map(String::as_str).chain(names).map(|name| (name, u64::MAX));
        writer.counters(0, all).expect("memory takes it");
        let bytes = writer.end().expect("memory takes it");
        let source = &bytes[..];
        let trace = Trace::open(&source, &mut |_, _| ()).expect("it is a trace");
        let report = findings(&trace, &mut |_, _| ()).expect("memory can be read");
        assert!(!report.well && report.text.contains("wakes were counted"), "{}", report.text);
    }

    /// xorshift64*, Vigna 2016.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self) -> u64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
        }

        /// A number of any size.
        fn number(&mut self) -> u64 {
            match self.roll() >> 61 {
                0 => 0,
                1 => u64::MAX - self.roll() % 3,
                2 => self.roll() % 8,
                _ => self.roll() >> (self.roll() >> 58),
            }
        }
    }

    /// A trace with right sums in which little else is right: times that go back, counts and numbers of any size,
    /// chunks that overlap, workers that lost what they have not.
    fn forged(dice: &mut Dice) -> Vec<u8> {
        let whole = if dice.roll() >> 62 > 0 { "yes" } else { "no" };
        let mut writer = Writer::begin(Vec::new(), [("program", "p"), ("whole", whole)]).expect("memory");
        let at = |ns: u64| Reading { ticks: ns, monotonic_ns: ns, realtime_ns: ns };
        let end = if dice.roll() >> 62 > 0 { 100_000 } else { dice.number() };
        writer.clock(&[at(0), at(end)]).expect("memory");
        for _ in 0..1 + dice.roll() % 5 {
            let worker = (dice.roll() % 3) as u32;
            let mut ns = 0_u64;
            let mut record = |_| {
                ns =
                    if dice.roll() >> 59 == 0 { dice.number() } else { ns.saturating_add(dice.roll() % 900) };
                let rows = Event::TABLE;
                let row = rows[(dice.roll() % rows.len() as u64) as usize].number;
                let event = Event::of_number(row).unwrap_or(Event::Switch);
                Record::new(ns, event, dice.number() as u32, dice.number() as u32)
            };
            let records: Vec<Record> = (0..60).map(&mut record).collect();
            let first =
                if dice.roll() >> 61 == 0 { dice.number() as usize } else { (dice.roll() % 90) as usize };
            writer.records(worker, first, &records).expect("memory");
            let counters = ["spawns", "exits", "idle_ns", "promoted"].map(|name| (name, dice.number()));
            writer.counters(worker, counters).expect("memory");
            let mut sample = |_| Sample {
                ticks: dice.number(),
                worker,
                ready: 2,
                backlog_ns: dice.number(),
                kernel_wait_ns: dice.number(),
            };
            writer.samples(&(0..5).map(&mut sample).collect::<Vec<_>>()).expect("memory");
        }
        writer.end().expect("memory")
    }

    #[test]
    fn whatever_a_trace_claims_it_is_checked_in_parts_as_in_one() {
        let mut divided = 0;
        for round in 1..=800_u64 {
            let dice = &mut Dice(round.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
            let bytes = forged(dice);
            let source = &bytes[..];
            let trace = Trace::open(&source, &mut |_, _| ()).expect("it has right sums");
            let in_one = findings_by(u64::MAX, &trace, &mut |_, _| ()).expect("memory can be read");
            let mut parts = 0;
            let in_parts = findings_by(1 + dice.roll() % 64, &trace, &mut |_, of| parts = of);
            let in_parts = in_parts.expect("memory can be read");
            divided += u64::from(parts > 1);
            let events = |report: &Report| {
                let last = report.text.lines().last().unwrap_or_default();
                last.split(" workers in").next().map(str::to_owned)
            };
            assert_eq!(events(&in_one), events(&in_parts), "round {round}");
        }
        assert!(divided > 400, "only {divided} were in parts");
    }
}
