//! Plausible traces, damaged behind their checksums: read, whole and in parts, judged and converted without a panic,
//! within bounded memory.
//!
//! `hostile.rs` has what is damaged before them, which costs a chunk. Here the sums are put right again, so that every
//! lie reaches the analysis. `RADDLE_FUZZ_ROUNDS=1000000` makes it a long run, `RADDLE_FUZZ_FROM=5000` begins there;
//! each round's seed is its number.
#![cfg(not(loom))]
#![allow(clippy::print_stderr, reason = "the watchdog's last words")]

#[path = "../../raddle-core/tests/support/peak.rs"]
mod peak;
#[path = "../../raddle-core/tests/support/watch.rs"]
mod watch;

use raddle_trace::analysis::{Analysis, diff, json, report, times};
use raddle_trace::clock::Reading;
use raddle_trace::event::StopReason;
use raddle_trace::export::{ExportOptions, Format, export};
use raddle_trace::file::{HEADER_BYTES, MAGIC, Sample, Whereabouts, Writer};
use raddle_trace::log::Log;
use raddle_trace::trace::Trace;
use raddle_trace::view::page;
use raddle_trace::{Event, Record};
use std::sync::atomic::{AtomicU64, Ordering};
use watch::{Progress, Watchdog};

#[global_allocator]
static HEAP: peak::Heap = peak::Heap::new();

const ROUNDS: u64 = 1500;
/// What one byte of a file may cost, and what any file may: tables, and the page with its script.
const BYTES_PER_BYTE_MAX: usize = 1000;
const BYTES_MAX: usize = 8 << 20;

/// xorshift64*, Vigna 2016.
struct Dice(u64);

impl Dice {
    fn of(round: u64) -> Dice {
        Dice(round.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        ((self.roll() >> 33) as usize) % end
    }

    /// A number of any size.
    fn number(&mut self) -> u64 {
        match self.below(6) {
            0 => 0,
            1 => u64::MAX - self.roll() % 3,
            2 => self.roll() % 8,
            _ => self.roll() >> self.below(64),
        }
    }
}

/// A record as a worker would write it.
fn record(dice: &mut Dice, ns: u64) -> Record {
    let rows = Event::TABLE;
    let event = Event::of_number(rows[dice.below(rows.len())].number).unwrap_or(Event::Switch);
    let thread = dice.below(7) as u32;
    let (a, b) = match event {
        Event::Switch => (thread, (StopReason::ALL[dice.below(18)] as u32) << 24 | dice.below(6) as u32),
        Event::Spawn | Event::SpawnOutside | Event::Wake | Event::WakeOutside => {
            (thread + 1, (dice.below(3) as u32) << 24 | dice.below(6) as u32)
        }
        _ => (dice.below(6) as u32, dice.below(9) as u32),
    };
    Record::new(ns, event, a, b)
}

/// A trace of up to three workers, as a recorder would write it.
fn trace(dice: &mut Dice) -> Vec<u8> {
    let mut writer = Writer::begin(Vec::new(), [("program", "p"), ("workers", "2")]).unwrap();
    let at = |ns| Reading { ticks: ns * 3, monotonic_ns: ns, realtime_ns: 1 << 60 | ns };
    writer.clock(&[at(0), at(50_000), at(100_000)]).unwrap();
    let names =
        [(1, "main"), (2, "stage 1"), (3, "stage 2"), (4, "p.rs:7:3"), (5, "ring, index 4"), (6, "é")];
    writer.strings(names).unwrap();
    writer.threads((1..7).map(|thread| (thread, thread % 6))).unwrap();
    for worker in 0..1 + dice.below(3) as u32 {
        let mut ns = 0;
        let records: Vec<Record> = (0..dice.below(120))
            .map(|_| {
                ns += dice.below(900) as u64;
                record(dice, ns * 3)
            })
            .collect();
        writer.records(worker, dice.below(2) * 40, &records).unwrap();
        writer.counters(worker, [("spawns", 7), ("dispatches", 90)]).unwrap();
        let sample =
            |n: u64| Sample { ticks: n * 9000, worker, ready: 2, backlog_ns: 5000, kernel_wait_ns: n * 10 };
        writer.samples(&(0..9).map(sample).collect::<Vec<_>>()).unwrap();
        let (on_core_ns, kernel_wait_ns, place) = (dice.below(900) as u64, dice.below(90) as u64, 1);
        let whereabouts = |n: u64| {
            let (ticks, sleeps) = (n * 9000, !n.is_multiple_of(3));
            Whereabouts { ticks, worker, sleeps, place, on_core_ns: n * on_core_ns, kernel_wait_ns }
        };
        writer.whereabouts(&(0..9).map(whereabouts).collect::<Vec<_>>()).unwrap();
    }
    let outside = |n: u64| Record::new(n * 900, Event::WakeOutside, n as u32 % 7, (n as u32 % 3) << 24 | 4);
    writer.outside(0, &(0..dice.below(20) as u64).map(outside).collect::<Vec<_>>()).unwrap();
    writer.end().unwrap()
}

/// The pieces of a file, each a header and a payload.
fn chunks(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = &bytes[MAGIC.len()..];
    let mut chunks = Vec::new();
    while rest.len() >= HEADER_BYTES {
        let length = u32::from_le_bytes(rest[4..8].try_into().unwrap()) as usize;
        let padded = HEADER_BYTES + length.next_multiple_of(8);
        chunks.push(rest[..HEADER_BYTES + length].to_vec());
        rest = &rest[padded..];
    }
    chunks
}

/// Puts length and sum of a piece right, and pads it.
fn mended(mut chunk: Vec<u8>) -> Vec<u8> {
    let length = (chunk.len() - HEADER_BYTES) as u32;
    chunk[4..8].copy_from_slice(&length.to_le_bytes());
    let mut hash = crc32fast::Hasher::new();
    hash.update(&chunk[..4]);
    hash.update(&u64::from(length).to_le_bytes());
    hash.update(&chunk[12..]);
    let sum = hash.finalize();
    chunk[8..12].copy_from_slice(&sum.to_le_bytes());
    chunk.resize(chunk.len().next_multiple_of(8), 0);
    chunk
}

/// Lies in one piece: numbers of any size at any place, a part missing or twice.
fn falsify(chunk: &mut Vec<u8>, dice: &mut Dice) {
    let payload = chunk.len() - HEADER_BYTES;
    match dice.below(10) {
        0 => chunk[12..16].copy_from_slice(&(dice.number() as u32).to_le_bytes()),
        1 => chunk.truncate(HEADER_BYTES + dice.below(payload + 1)),
        2 => {
            let at = HEADER_BYTES + dice.below(payload + 1);
            let part = chunk[at..].to_vec();
            chunk.extend(part);
        }
        _ if payload == 0 => chunk.extend(dice.number().to_le_bytes()),
        3 => chunk[HEADER_BYTES + dice.below(payload)] ^= 1 << dice.below(8),
        4 => chunk[HEADER_BYTES + dice.below(payload)] = dice.roll() as u8,
        _ => {
            // Where numbers lie: at multiples of four.
            let at = HEADER_BYTES + dice.below(payload) / 4 * 4;
            let bytes = dice.number().to_le_bytes();
            let end = chunk.len().min(at + if dice.below(2) == 0 { 4 } else { 8 });
            chunk[at..end].copy_from_slice(&bytes[..end - at]);
        }
    }
}

fn mutated(dice: &mut Dice) -> Vec<u8> {
    let mut pieces = chunks(&trace(dice));
    for _ in 0..=dice.below(6) {
        let at = dice.below(pieces.len());
        match dice.below(12) {
            0 => {
                let copy = pieces[at].clone();
                pieces.insert(dice.below(pieces.len()), copy);
            }
            1 if pieces.len() > 2 => drop(pieces.remove(at)),
            2 => {
                let other = dice.below(pieces.len());
                pieces.swap(at, other);
            }
            3 => {
                let other = pieces[dice.below(pieces.len())][..4].to_vec();
                pieces[at][..4].copy_from_slice(&other);
            }
            _ => falsify(&mut pieces[at], dice),
        }
    }
    let mut file = MAGIC.to_vec();
    pieces.into_iter().for_each(|piece| file.extend(mended(piece)));
    file
}

/// What `raddle trace` does with a file without having all of it in memory: parts of any bounds, whatever the whole is
/// like; the parts into which `trace check` divides it, whose times are added up; each record by itself.
fn judged_in_parts(bytes: &[u8], dice: &mut Dice) {
    let Ok(trace) = Trace::open(&bytes, &mut |_, _| ()) else { return };
    let near = |dice: &mut Dice| if trace.end_ns() > 0 { dice.number() % trace.end_ns() } else { 0 };
    for _ in 0..3 {
        let from = if dice.below(3) == 0 { dice.number() } else { near(dice) };
        let until = if dice.below(3) == 0 { dice.number() } else { from.saturating_add(near(dice)) };
        let part = trace.part(from, until, &mut |_, _| ()).expect("memory can be read");
        assert!(part.begin_ns <= part.end_ns && part.end_ns <= trace.end_ns());
        for worker in part.workers.iter().chain([&part.outside]) {
            // What it did at the beginning began before.
            let late = worker.events.iter().skip(1).filter(|at| at.ns < from || at.ns > until).count();
            let apart = worker.events.windows(2).filter(|pair| pair[0].ns > pair[1].ns).count();
            assert!(
                late == 0 && apart == 0,
                "{late} of another time, {apart} in no order: {from} to {until}"
            );
        }
        if dice.below(4) == 0 {
            assert!(!report(&part, &Analysis::of(&part)).is_empty());
        }
    }
    let parts = trace.parts(1 + dice.number() % 64).expect("memory can be read");
    let mut next = 0;
    for (from, until) in parts {
        assert!(from == next && until >= from, "{from} to {until} after {next}");
        let log = trace.part(from, until, &mut |_, _| ()).expect("memory can be read");
        let _sums: Vec<u64> = times(&log).iter().map(|time| time.running_ns + time.overhead_ns).collect();
        next = until;
    }
    assert_eq!(next, trace.end_ns(), "the parts are not all of it");
    let count = |place| {
        let mut before = 0;
        let look = trace.each(place, &mut |at| {
            assert!(before <= at.ns, "{} after {before}", at.ns);
            before = at.ns;
        });
        look.expect("memory can be read");
    };
    (0..trace.workers()).for_each(count);
}

/// Everything that `raddle trace` does with a file; the number of events that it has.
fn judged(bytes: &[u8], dice: &mut Dice) -> usize {
    judged_in_parts(bytes, dice);
    let Ok(log) = Log::read(bytes) else { return 0 };
    let analysis = Analysis::of(&log);
    assert!(!report(&log, &analysis).is_empty() && json(&log, &analysis).is_object());
    let options = match dice.below(3) {
        0 => ExportOptions { from_ns: dice.number(), until_ns: dice.number(), time_scale: dice.number() },
        _ => ExportOptions::default(),
    };
    let (_, format) = Format::NAMES[dice.below(3)];
    let _file = export(&log, &analysis, format, options);
    if dice.below(16) == 0 {
        assert!(!page(&log, &analysis, "mutated").is_empty());
        let other = Log::read(&trace(dice)).unwrap();
        let other_analysis = Analysis::of(&other);
        let both = [(&log, &analysis), (&other, &other_analysis)];
        for (one, two) in [(both[0], both[1]), (both[1], both[0])] {
            let _words = diff(one.1, two.1).with_forecast(one, two).to_string();
        }
    }
    log.workers.iter().map(|worker| worker.events.len()).sum()
}

#[test]
fn whatever_a_trace_claims_it_is_judged_in_bounded_memory() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let from = number("RADDLE_FUZZ_FROM").unwrap_or(1);
    let rounds = number("RADDLE_FUZZ_ROUNDS").unwrap_or(ROUNDS);
    static ROUND: AtomicU64 = AtomicU64::new(0);
    let progress = Progress::default();
    let last = || format!("in round {}", ROUND.load(Ordering::Relaxed));
    let _dog = Watchdog::new("damaged traces".to_owned(), progress.clone(), last);
    let (mut read, mut most) = (0, 0);
    for round in from..from + rounds {
        ROUND.store(round, Ordering::Relaxed);
        let mut dice = Dice::of(round);
        let bytes = mutated(&mut dice);
        let judge = || std::panic::catch_unwind(move || (judged(&bytes, &mut dice), bytes.len()));
        let (judged, peak) = HEAP.most_during(judge);
        let (events, length) = judged.unwrap_or_else(|_| panic!("round {round}"));
        assert!(peak <= BYTES_MAX + length * BYTES_PER_BYTE_MAX, "round {round}: {peak} bytes for {length}");
        read += u64::from(events > 0);
        most = most.max(peak);
        progress.note();
    }
    eprintln!("{rounds} rounds, {read} with events, at most {most} bytes at once");
    assert!(read * 4 > rounds * 3, "{read} of {rounds} have events left: the test tests little");
}
