//! A line of 2000 threads, each of which receives a number from its left, adds 1 and sends it to its right: the case
//! that ThreadScope's authors traced. `line [STAGES [MESSAGES [SEGMENTS]]]`; segments are placed on two workers
//! alternately: with 2 of them few numbers cross workers, and with as many segments as stages every number does.
//!
//! ```console
//! $ raddle trace run -o one.rdt -- --workers 1 examples/line.rs
//! $ raddle trace run -o two.rdt -- --workers 2 examples/line.rs
//! $ raddle trace diff one.rdt two.rdt
//! ```
//!
//! At `--level user` the trace also shows a mark, a span and a counter of the program.

#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use raddle::csp::{self, Builder, Receiver, Sender};
use raddle::trace;

fn stage(mut left: Receiver<u64>, mut right: Sender<u64>) {
    while let Ok(number) = left.recv() {
        if right.send(number + 1).is_err() {
            break;
        }
    }
}

#[raddle::main]
fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().expect("a number"));
    let stages = arguments.next().unwrap_or(2000);
    let messages = arguments.next().unwrap_or(500);
    let segments = arguments.next().unwrap_or(0);
    let (mut first, mut last) = csp::channel();
    for place in 0..stages {
        let (right, next) = csp::channel();
        let left = std::mem::replace(&mut last, next);
        let mut builder = Builder::new().name(format!("stage {place}"));
        if segments > 0 {
            builder = builder.worker((place * segments / stages % 2) as usize);
        }
        builder.spawn(move || stage(left, right)).expect("there is memory for a stage");
    }
    let begun = std::time::Instant::now();
    let pump = Builder::new().name("pump");
    pump.spawn(move || (0..messages).for_each(|n| first.send(n).expect("the line runs"))).expect("as above");
    trace::mark!("the line stands");
    let on_their_way = trace::span!("messages on their way");
    let arrive = |n| {
        trace::counter!("arrived", n as u32);
        last.recv().expect("the line runs")
    };
    let sum: u64 = (0..messages).map(arrive).sum();
    drop(on_their_way);
    assert_eq!(sum, messages * stages + messages * messages.saturating_sub(1) / 2);
    println!("{stages} stages, {messages} messages: {:.1} ms", begun.elapsed().as_secs_f64() * 1e3);
}
