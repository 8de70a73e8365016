//! Parts of a trace: each holds what the whole has at that time, and what ran at its beginning; together they are the
//! whole. All are read from chunks that overlap and come in any order.

use raddle_trace::analysis::times;
use raddle_trace::clock::Reading;
use raddle_trace::event::{IdleCause, pack};
use raddle_trace::export::{ExportOptions, Format, export, write_table};
use raddle_trace::file::{ReadError, Sample, Writer};
use raddle_trace::log::{At, Log};
use raddle_trace::trace::Trace;
use raddle_trace::{Event, Record, StopReason};

const STEP_NS: u64 = 10;
const WORKERS: u32 = 3;
const RECORDS: u64 = 600;

/// The `n`th record of a worker: it runs two threads in turn, is idle now and then, and wakes threads.
fn record(worker: u32, n: u64) -> Record {
    let (ns, thread) = (n * STEP_NS + u64::from(worker), worker * 2 + (n / 8 % 2) as u32 + 1);
    match n % 8 {
        0 => Record::new(ns, Event::Switch, thread, pack(StopReason::None as u8, 0)),
        5 => Record::new(ns, Event::Switch, 0, pack(StopReason::Receive as u8, thread)),
        6 => Record::new(ns, Event::IdleBegin, 0, 0),
        7 => Record::new(ns, Event::IdleEnd, IdleCause::Mail as u32, 0),
        _ => Record::new(ns, Event::Wake, thread, pack(worker as u8, 0)),
    }
}

/// A trace in chunks of 50 records, each with ten of the one before; the later ones first.
fn written() -> Vec<u8> {
    let mut writer = Writer::begin(Vec::new(), [("program", "parts"), ("whole", "yes")]).unwrap();
    let reading = |ns| Reading { ticks: ns, monotonic_ns: ns, realtime_ns: ns };
    writer.clock(&[reading(0), reading(RECORDS * STEP_NS)]).unwrap();
    for first in (0..RECORDS / 50).rev().map(|chunk| chunk * 50) {
        for worker in 0..WORKERS {
            let from = first.saturating_sub(10);
            let records: Vec<Record> = (from..first + 50).map(|n| record(worker, n)).collect();
            writer.records(worker, from as usize, &records).unwrap();
        }
    }
    let sample = |ns| Sample { ticks: ns, worker: 1, ready: 2, backlog_ns: 3, kernel_wait_ns: ns / 100 };
    writer.samples(&[sample(1000), sample(2000), sample(4000)]).unwrap();
    writer.outside(0, &[1500, 3500].map(|ns| Record::new(ns, Event::WakeOutside, 1, 0))).unwrap();
    writer.end().unwrap()
}

fn part(trace: &Trace<'_>, from: u64, until: u64) -> Log {
    trace.part(from, until, &mut |_, _| ()).unwrap()
}

#[test]
fn a_part_holds_what_the_whole_has_at_that_time_and_what_ran_before() {
    let bytes = written();
    let source = &bytes[..];
    let trace = Trace::open(&source, &mut |_, _| ()).unwrap();
    let whole = trace.whole(&mut |_, _| ()).unwrap();
    assert_eq!(whole, Log::read(&bytes).unwrap());
    assert_eq!((trace.records(), trace.workers()), (RECORDS * u64::from(WORKERS), 3));
    assert_eq!((whole.about("whole"), part(&trace, 1, 9).about("whole")), (Some("yes"), None));
    for from in (0..RECORDS * STEP_NS).step_by(37) {
        let until = from + from * 31 % 700;
        let part = part(&trace, from, until);
        assert_eq!((part.begin_ns, part.end_ns), (from, until.min(whole.end_ns)), "{from}");
        assert_eq!(
            part.outside.events.len(),
            whole.outside.events.iter().filter(|at| (from..=until).contains(&at.ns)).count()
        );
        for (part, whole) in part.workers.iter().zip(&whole.workers) {
            let within: Vec<At> =
                whole.events.iter().copied().filter(|at| (from..=until).contains(&at.ns)).collect();
            let before = part.events.len() - within.len();
            assert_eq!(part.events[before..], within, "{from} to {until}");
            let says = |at: &&At| matches!(at.event, Event::Switch | Event::IdleBegin | Event::IdleEnd);
            let state = whole.events.iter().take_while(|at| at.ns < from).filter(says).last();
            let what = |at: &At| (at.ns, at.event, at.a);
            assert_eq!(
                part.events[..before].iter().map(what).collect::<Vec<_>>(),
                state.map(what).as_slice()
            );
        }
    }
}

#[test]
fn the_times_of_parts_add_up_to_those_of_the_whole() {
    let bytes = written();
    let source = &bytes[..];
    let trace = Trace::open(&source, &mut |_, _| ()).unwrap();
    let parts = trace.parts(200).unwrap();
    assert!(parts.len() >= 8, "{parts:?}");
    assert_eq!((parts[0].0, parts[parts.len() - 1].1), (0, trace.end_ns()));
    assert!(parts.windows(2).all(|two| two[0].1 == two[1].0), "{parts:?}");
    let sum = |log: &Log| -> Vec<[u64; 3]> {
        let figures = times(log).into_iter();
        figures
            .map(|time| [time.running_ns + time.kernel_ns, time.idle_total_ns(), time.overhead_ns])
            .collect()
    };
    let whole = sum(&trace.whole(&mut |_, _| ()).unwrap());
    let mut added = vec![[0; 3]; whole.len()];
    for (from, until) in parts {
        for (all, of_part) in added.iter_mut().zip(sum(&part(&trace, from, until))) {
            all.iter_mut().zip(of_part).for_each(|(all, more)| *all += more);
        }
    }
    assert_eq!(added, whole);
}

#[test]
fn each_event_is_looked_at_once_and_in_order() {
    let bytes = written();
    let source = &bytes[..];
    let trace = Trace::open(&source, &mut |_, _| ()).unwrap();
    for worker in 0..WORKERS {
        let mut seen = Vec::new();
        assert_eq!(trace.each(worker as usize, &mut |at| seen.push(at.ns)).unwrap(), (0, 0));
        assert_eq!(seen, (0..RECORDS).map(|n| n * STEP_NS + u64::from(worker)).collect::<Vec<_>>());
    }
}

#[test]
fn a_table_in_parts_is_the_table() {
    let bytes = written();
    let source = &bytes[..];
    let trace = Trace::open(&source, &mut |_, _| ()).unwrap();
    let log = Log::read(&bytes).unwrap();
    for (from_ns, until_ns) in [(0, u64::MAX), (1234, 4321), (5000, 5000)] {
        let options = ExportOptions { from_ns, until_ns, time_scale: 3 };
        let (mut table, mut done) = (Vec::new(), Vec::new());
        write_table(&trace, options, &mut table, &mut |now, of| done.push((now, of))).unwrap();
        let whole = export(&log, &raddle_trace::analysis::Analysis::of(&log), Format::Csv, options);
        assert_eq!(String::from_utf8_lossy(&table), String::from_utf8_lossy(&whole), "{from_ns}");
        assert!(
            done.iter().zip(1..).all(|(done, n)| *done == (n, done.1))
                && done.last().is_some_and(|(n, of)| n == of)
        );
    }
}

#[test]
fn what_cannot_be_read_is_refused_and_progress_ends_at_the_end() {
    struct Broken(Vec<u8>);
    impl raddle_trace::file::Source for Broken {
        fn length(&self) -> std::io::Result<u64> {
            Ok(self.0.len() as u64)
        }
        fn read_at(&self, at: u64, into: &mut [u8]) -> std::io::Result<()> {
            if at > 1000 {
                Err(std::io::Error::other("the disk is gone"))
            } else {
                (&self.0[..]).read_at(at, into)
            }
        }
    }
    let bytes = written();
    let refused = Trace::open(&Broken(bytes.clone()), &mut |_, _| ()).err();
    assert_eq!(refused, Some(ReadError::Refused("the disk is gone".to_owned())));
    let mut last = (0, 0);
    Trace::open(&&bytes[..], &mut |done, of| {
        assert!(done >= last.0 && done <= of && of == bytes.len() as u64);
        last = (done, of);
    })
    .unwrap();
    assert!(last.0 > last.1 / 2, "{last:?}");
}
