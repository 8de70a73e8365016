//! Writes a trace of as many events as one likes: `long EVENTS FILE`. With it, one measures how much memory and time
//! `raddle trace` takes: docs/TRACE.md.
//!
//! On two workers, 2000 threads named `stage 0` to `stage 1999` pass messages on; each thousandth step, a worker is
//! idle. All times and threads come from the number of the step, so that each run writes the same file.

use raddle_trace::clock::Reading;
use raddle_trace::event::{IdleCause, pack};
use raddle_trace::file::Writer;
use raddle_trace::{Event, Record, StopReason};
use std::fs::File;
use std::io::{self, BufWriter};

const THREADS: u32 = 2000;
/// How many records a chunk has, as in the file of a stream.
const CHUNK: usize = 1 << 16;

/// The records of one step of a worker: a thread wakes the next one and waits; at times the worker is idle after that.
fn step(worker: u32, number: u64, ns: &mut u64, records: &mut Vec<Record>) {
    let half = THREADS / 2;
    let thread = |number: u64| worker * half + (number % u64::from(half)) as u32 + 1;
    *ns += 60 + number * 31 % 17;
    records.push(Record::new(*ns, Event::Wake, thread(number + 1), pack(worker as u8, 7)));
    *ns += 20 + number * 7919 % 41;
    if number % 1000 == 999 {
        records.push(Record::new(*ns, Event::Switch, 0, pack(StopReason::Receive as u8, 7)));
        records.push(Record::new(*ns + 20, Event::IdleBegin, 0, 0));
        *ns += 5_000;
        records.push(Record::new(*ns, Event::IdleEnd, IdleCause::Mail as u32, 0));
        *ns += 20;
        records.push(Record::new(*ns, Event::Switch, thread(number + 1), 0));
    } else {
        records.push(Record::new(*ns, Event::Switch, thread(number + 1), pack(StopReason::Receive as u8, 7)));
    }
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [events, file] = &words[..] else { return Err(io::Error::other("write: long EVENTS FILE")) };
    let events: u64 = events.parse().map_err(io::Error::other)?;
    let mut writer = Writer::begin(BufWriter::new(File::create(file)?), [("program", "long")])?;
    let reading = |ns| Reading { ticks: ns, monotonic_ns: ns, realtime_ns: ns };
    writer.clock(&[reading(0)])?;
    let names: Vec<String> = (0..THREADS).map(|number| format!("stage {number}")).collect();
    writer.strings((1..).zip(names.iter().map(String::as_str)))?;
    writer.threads((1..=THREADS).map(|thread| (thread, thread)))?;
    let mut workers = [(0, 0_u64, 0_u64, Vec::new()), (1, 0, 0, Vec::new())];
    let mut written = 0;
    while written < events {
        for (worker, number, ns, records) in &mut workers {
            let first = records.len();
            while records.len() < first + CHUNK {
                step(*worker, *number, ns, records);
                *number += 1;
            }
        }
        for (worker, number, _, records) in &mut workers {
            let first = *number as usize * 2 + *number as usize / 1000 * 3 - records.len();
            writer.records(*worker, first, records)?;
            written += records.len() as u64;
            records.clear();
        }
    }
    writer.clock(&[reading(workers[0].2.max(workers[1].2))])?;
    writer.end()?;
    Ok(())
}
