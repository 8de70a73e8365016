//! Damaged and forged files: each is refused or read in part, without a panic and in bounded time.

use raddle_trace::analysis::{Analysis, json, report};
use raddle_trace::clock::Reading;
use raddle_trace::export::{ExportOptions, Format, export};
use raddle_trace::file::{ReadError, Sample, Whereabouts, Writer};
use raddle_trace::log::Log;
use raddle_trace::view::page;
use raddle_trace::{Event, Record};

fn good() -> Vec<u8> {
    let mut writer = Writer::begin(Vec::new(), [("program", "p"), ("workers", "2")]).unwrap();
    let at = |ns| Reading { ticks: ns, monotonic_ns: ns, realtime_ns: ns };
    writer.clock(&[at(0), at(100_000)]).unwrap();
    writer.strings([(1, "main"), (2, "stage 1")]).unwrap();
    for worker in 0..2 {
        let records: Vec<Record> = (0..200_u32)
            .map(|n| {
                let event = Event::of_number((n % 12) as u8).unwrap_or(Event::Switch);
                Record::new(u64::from(n) * 400, event, n % 5, n << 22)
            })
            .collect();
        writer.records(worker, 0, &records).unwrap();
        writer.counters(worker, [("spawns", 7)]).unwrap();
    }
    let outside = |n: u32| Record::new(u64::from(n) * 900, Event::WakeOutside, n % 5, (n << 24) | (n % 4));
    writer.outside(0, &(0..90).map(outside).collect::<Vec<_>>()).unwrap();
    writer.end().unwrap()
}

/// Reads and analyses it, as `raddle trace stats` does.
fn analysed(bytes: &[u8]) -> Result<String, ReadError> {
    let log = Log::read(bytes)?;
    Ok(report(&log, &Analysis::of(&log)))
}

/// A linear congruential generator, the same on every machine.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

#[test]
fn what_is_no_trace_is_refused_with_a_reason() {
    assert_eq!(Log::read(b"").unwrap_err(), ReadError::NoTrace);
    assert_eq!(Log::read(b"#!/bin/sh\necho hello\n").unwrap_err(), ReadError::NoTrace);
    assert_eq!(Log::read(&good()[..8]).unwrap_err(), ReadError::Empty);
    let error = Log::read(b"text").unwrap_err().to_string();
    assert!(error.contains("not a Raddle trace"), "{error}");
}

#[test]
fn a_trace_that_was_cut_off_anywhere_is_read_up_to_there() {
    let whole = good();
    let mut most = 0;
    for end in 0..whole.len() {
        if let Ok(log) = Log::read(&whole[..end]) {
            let events = log.workers.iter().map(|worker| worker.events.len()).sum();
            assert!(events >= most, "a longer file holds less");
            most = events;
            assert!(!log.ended);
        }
    }
    assert!(Log::read(&whole).unwrap().ended);
}

#[test]
fn damage_in_the_middle_costs_one_chunk() {
    let mut bytes = good();
    let place = bytes.windows(4).position(|four| four == b"RECS").unwrap() + 100;
    bytes[place] ^= 0x10;
    let log = Log::read(&bytes).unwrap();
    assert_eq!(log.damage.len(), 1);
    assert_eq!(log.workers.len(), 2, "the counters of worker 0 and all of worker 1 are there");
    assert!(log.workers[0].events.is_empty() && !log.workers[1].events.is_empty());
}

#[test]
fn changed_bytes_never_make_it_panic() {
    let (whole, mut random) = (good(), Lcg(1));
    for _ in 0..3000 {
        let mut bytes = whole.clone();
        for _ in 0..=random.below(8) {
            let place = random.below(bytes.len());
            bytes[place] = random.below(256) as u8;
        }
        bytes.truncate(random.below(bytes.len()) + 1);
        let _ = analysed(&bytes);
    }
}

#[test]
fn records_of_nonsense_are_judged_without_a_panic() {
    let mut random = Lcg(2);
    for _ in 0..300 {
        let mut writer = Writer::begin(Vec::new(), []).unwrap();
        let mut reading = || {
            let mut word = || (random.below(1 << 30) as u64) << random.below(34);
            Reading { ticks: word(), monotonic_ns: word(), realtime_ns: word() }
        };
        writer.clock(&[reading(), reading(), reading()]).unwrap();
        for _ in 0..4 {
            let records: Vec<Record> = (0..50)
                .map(|_| {
                    let bytes: [u8; 16] = std::array::from_fn(|_| random.below(256) as u8 >> random.below(8));
                    Record::of_bytes(&bytes)
                })
                .collect();
            writer.records(random.below(4) as u32, random.below(100), &records).unwrap();
        }
        analysed(&writer.end().unwrap()).unwrap();
    }
}

#[test]
fn a_file_made_of_false_beginnings_is_read_in_time() {
    let mut bytes = good();
    let header: [u8; 16] = [b'R', b'E', b'C', b'S', 0, 0, 8, 0, 1, 2, 3, 4, 0, 0, 0, 0];
    (0..200_000).for_each(|_| bytes.extend(header));
    let log = Log::read(&bytes).unwrap();
    assert_eq!(log.damage.len(), 1);
}

fn reading(ticks: u64, monotonic_ns: u64) -> Reading {
    Reading { ticks, monotonic_ns, realtime_ns: u64::MAX }
}

#[test]
fn clocks_at_the_end_of_all_numbers_are_judged_without_a_panic() {
    let most = u64::MAX;
    for readings in [[reading(0, 0), reading(1, most)], [reading(most - 1, most), reading(most, 0)]] {
        let mut writer = Writer::begin(Vec::new(), []).unwrap();
        writer.clock(&readings).unwrap();
        let sample =
            |ticks| Sample { ticks, worker: 0, ready: 1, backlog_ns: most, kernel_wait_ns: most - ticks };
        writer.samples(&[sample(0), sample(1), sample(most)]).unwrap();
        let (worker, sleeps, place) = (0, true, u32::MAX);
        let whereabouts = |ticks| Whereabouts {
            ticks,
            worker,
            sleeps,
            place,
            on_core_ns: most - ticks,
            kernel_wait_ns: ticks,
        };
        writer.whereabouts(&[whereabouts(0), whereabouts(1), whereabouts(most)]).unwrap();
        writer.records(0, 0, &[Record::new(most, Event::Switch, 1, 0)]).unwrap();
        analysed(&writer.end().unwrap()).unwrap();
    }
}

#[test]
fn times_that_add_up_to_more_than_fits_are_judged_without_a_panic() {
    const THREADS: u32 = 5000;
    let mut writer = Writer::begin(Vec::new(), []).unwrap();
    writer.clock(&[reading(0, 0), reading(1, 1 << 54)]).unwrap();
    let wake = Record::new(0, Event::Wake, 1, 0);
    let stops = (1..=THREADS).map(|n| Record::new(0, Event::Switch, n, 3 << 24));
    let begins: Vec<Record> = std::iter::repeat_n(wake, THREADS as usize).chain(stops).collect();
    writer.records(0, 0, &begins).unwrap();
    let ends: Vec<Record> =
        (1..=THREADS).map(|n| Record::new(u64::from(n), Event::Switch, n, 3 << 24)).collect();
    writer.records(1, 0, &ends).unwrap();
    let bytes = writer.end().unwrap();
    analysed(&bytes).unwrap();
    let log = Log::read(&bytes).unwrap();
    assert!(!page(&log, &Analysis::of(&log), "hostile").is_empty());
}

#[test]
fn a_file_of_more_workers_than_there_can_be_is_read_in_time() {
    let mut writer = Writer::begin(Vec::new(), []).unwrap();
    writer.clock(&[reading(0, 0), reading(1 << 20, 1 << 20)]).unwrap();
    for n in 0..100_000_u32 {
        writer.records(n, 0, &[Record::new(u64::from(n), Event::Switch, n, 0)]).unwrap();
    }
    let sample =
        |n: u32| Sample { ticks: u64::from(n), worker: n, ready: 1, backlog_ns: 0, kernel_wait_ns: 0 };
    writer.samples(&(0..100_000).map(sample).collect::<Vec<_>>()).unwrap();
    let bytes = writer.end().unwrap();
    let log = Log::read(&bytes).unwrap();
    assert!(log.workers.len() <= 1024 && !log.damage.is_empty());
    analysed(&bytes).unwrap();
}

#[test]
fn a_name_cannot_command_the_terminal() {
    let mut writer = Writer::begin(Vec::new(), [("program", "p\x1b[2J")]).unwrap();
    writer.clock(&[reading(0, 0), reading(1000, 1000)]).unwrap();
    writer.strings([(1, "thread \x1b]0;title\x07 1"), (2, "thread \u{9b}2J 2")]).unwrap();
    writer.threads([(1, 1), (2, 2)]).unwrap();
    let switch = |ns, to| Record::new(ns, Event::Switch, to, 3 << 24);
    writer
        .records(0, 0, &[switch(0, 1), switch(100, 2), switch(200, 1), switch(300, 2), switch(400, 0)])
        .unwrap();
    let text = analysed(&writer.end().unwrap()).unwrap();
    assert!(text.contains("thread"), "{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
}

#[test]
fn a_name_cannot_turn_the_direction_of_the_text_around_it() {
    let turns = "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\
                 \u{200e}\u{200f}\u{61c}\u{2028}\u{feff}";
    let name = format!("thread {turns} 1");
    let mut writer = Writer::begin(Vec::new(), [("program", name.as_str())]).unwrap();
    writer.clock(&[reading(0, 0), reading(1000, 1000)]).unwrap();
    writer.strings([(1, name.as_str()), (2, "main")]).unwrap();
    writer.threads([(1, 1), (2, 2)]).unwrap();
    let record = |ns, event, a, b| Record::new(ns, event, a, b);
    let first = [
        record(0, Event::Switch, 1, 0),
        record(10, Event::Operation, 1, 0),
        record(20, Event::Wake, 2, 1 << 24),
        record(100, Event::Site, 1, 0),
        record(100, Event::Switch, 0, 3 << 24),
        record(900, Event::Switch, 1, 0),
    ];
    writer.records(0, 0, &first).unwrap();
    writer.records(1, 0, &[record(50, Event::Switch, 2, 0), record(90, Event::Switch, 0, 3 << 24)]).unwrap();
    writer.counters(0, [(name.as_str(), 7)]).unwrap();
    let bytes = writer.end().unwrap();
    let log = Log::read(&bytes).unwrap();
    let analysis = Analysis::of(&log);
    let csv = String::from_utf8(export(&log, &analysis, Format::Csv, ExportOptions::default())).unwrap();
    for text in [report(&log, &analysis), json(&log, &analysis).to_string(), csv, page(&log, &analysis, "t")]
    {
        assert!(!text.chars().any(|c| turns.contains(c)), "{text:?}");
    }
    assert!(report(&log, &analysis).contains("thread \u{fffd}"));
}

#[test]
fn losses_and_shares_that_add_up_to_more_than_fits_are_judged_without_a_panic() {
    let mut writer = Writer::begin(Vec::new(), []).unwrap();
    writer.clock(&[reading(0, 0), reading(1000, 1000)]).unwrap();
    for worker in 0..4 {
        let mut records = vec![
            Record::new(0, Event::Switch, worker + 1, 0),
            Record::new(400, Event::Sample, 1, 0),
            Record::new(900, Event::Sample, 1, 0),
        ];
        records.extend((0..5000).map(|_| Record::new(900, Event::KernelTook, u32::MAX, 0)));
        writer.records(worker, usize::MAX - 6000, &records).unwrap();
    }
    let bytes = writer.end().unwrap();
    let log = Log::read(&bytes).unwrap();
    assert_eq!(log.lost(), u64::MAX);
    let analysis = Analysis::of(&log);
    assert!(report(&log, &analysis).contains(&format!("{} records were overwritten", u64::MAX)));
    assert!(json(&log, &analysis)["lost"] == u64::MAX);
    for worker in &analysis.workers {
        assert!(worker.running_ns + worker.kernel_ns <= analysis.wall_ns, "time is conserved");
    }
}
