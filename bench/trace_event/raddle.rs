//! Owns: the cost of recording: a record compared with a reading of the clock, a switch and a message with and without
//!     it.
//! May use: raddle, raddle-trace's ring and clock.
//! Never: a file.

use std::hint::black_box;
use std::process::ExitCode;

use bench_raddle::{joined, runtime};
use raddle::csp;
use raddle::trace::Level;
use raddle_measure::{Job, Sample, program};
use raddle_trace::clock::Source;
use raddle_trace::{Event, Record, Ring};

/// As many records as fill the ring of a worker, by default, a sixteenth.
const RECORDS: usize = 1 << 18;

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (count, plan) = (job.number("count")?, job.plan);
    let (source, ring) = (Source::of_this_machine(), Ring::new(RECORDS));
    match job.text("form")? {
        "stamp" => plan.time(count, || {
            (0..count).for_each(|_| {
                black_box(source.ticks());
            });
            count
        }),
        "record" => plan.time(count, || {
            (0..count)
                .for_each(|n| black_box(&ring).push(Record::new(source.ticks(), Event::Switch, n as u32, 0)));
            count
        }),
        form => {
            let runtime = runtime(job.workers)?;
            let level = Level::NAMES.get(usize::try_from(job.number("level")?).unwrap_or(usize::MAX));
            runtime.set_trace_level(level.ok_or("there are levels 0 to 3")?.1);
            let meets = form == "meet";
            runtime.run(move || plan.time(count, || if meets { messages(count) } else { yields(count) }))
        }
    }
}

/// One process hands `count` messages to another.
fn messages(count: u64) -> u64 {
    let (mut to, mut from) = csp::channel();
    let sender = csp::spawn(move || (0..count).for_each(|n| to.send(n).expect("somebody receives")));
    let receiver = csp::spawn(move || (0..count).for_each(|_| drop(from.recv().expect("somebody sends"))));
    [sender, receiver].into_iter().for_each(joined);
    count
}

/// Two processes that yield to each other; `count` switches together.
fn yields(count: u64) -> u64 {
    let yielder = move || (0..count / 2).for_each(|_| csp::yield_now());
    let two = [csp::spawn(yielder), csp::spawn(yielder)];
    two.into_iter().for_each(joined);
    count
}
