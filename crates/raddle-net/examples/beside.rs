//! What the poll costs those who wait for no descriptor: the same work in three runtimes, in turn.
//!
//! ```console
//! $ beside 1     # on so many workers
//! ```
//!
//! | runtime | |
//! |---|---|
//! | none | no descriptor was ever waited for |
//! | idle | one was, and nobody waits now |
//! | one | somebody waits for one all the time: an idle worker sleeps in the poll |
#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use raddle::{Runtime, channel, csp};
use raddle_net::net::unix::UnixStream;
use std::io::{self, Read as _, Write as _};
use std::time::Instant;

const ROUNDS: usize = 15;

/// Nanoseconds for each message there and back.
fn ping_pong() -> f64 {
    const TIMES: usize = 100_000;
    let (mut ping, mut pinged) = csp::channel::<u64>();
    let (mut pong, mut ponged) = csp::channel::<u64>();
    let answers = csp::spawn(move || {
        for _ in 0..TIMES {
            let got = pinged.recv().expect("one sends");
            pong.send(got).expect("one receives");
        }
    });
    let began = Instant::now();
    for n in 0..TIMES as u64 {
        ping.send(n).expect("one receives");
        ponged.recv().expect("one sends");
    }
    let ns = began.elapsed().as_nanos() as f64 / TIMES as f64;
    answers.join().expect("it does not panic");
    ns
}

/// Nanoseconds for each hop in a line of 2000 that passes 50 messages on.
fn line() -> f64 {
    const LENGTH: usize = 2000;
    const MESSAGES: u64 = 50;
    let (mut first, mut end) = csp::channel::<u64>();
    for _ in 0..LENGTH {
        let (mut to, next) = csp::channel::<u64>();
        let mut from = std::mem::replace(&mut end, next);
        csp::spawn(move || while from.recv().is_ok_and(|n| to.send(n).is_ok()) {});
    }
    let began = Instant::now();
    let feeds = csp::spawn(move || (0..MESSAGES).for_each(|n| first.send(n).expect("one receives")));
    for n in 0..MESSAGES {
        assert_eq!(end.recv().expect("the line is whole"), n);
    }
    let ns = began.elapsed().as_nanos() as f64 / (LENGTH as u64 * MESSAGES) as f64;
    feeds.join().expect("it does not panic");
    ns
}

/// An OS thread asks a process, whose worker sleeps by then: nanoseconds there and back.
fn wake(runtime: &Runtime) -> f64 {
    const TIMES: u32 = 2_000;
    let ((ask, asked), (answer, answered)) = (channel::bounded(1), channel::bounded(1));
    let answers = runtime.spawn(move || asked.iter().for_each(|n: u32| answer.send(n).expect("one asks")));
    let began = Instant::now();
    for n in 0..TIMES {
        ask.send(n).expect("one answers");
        assert_eq!(answered.recv().expect("one answers"), n);
    }
    let ns = began.elapsed().as_nanos() as f64 / f64::from(TIMES);
    drop(ask);
    answers.join().expect("it does not panic");
    ns
}

/// Somebody waits for a descriptor, until what is returned goes.
fn wait_for_one(runtime: &Runtime) -> io::Result<UnixStream> {
    let (mut reader, writer) = UnixStream::pair()?;
    drop(runtime.spawn(move || reader.read(&mut [0])));
    Ok(writer)
}

fn main() -> io::Result<()> {
    let workers = std::env::args().nth(1).map_or(Ok(1), |word| word.parse()).map_err(io::Error::other)?;
    let build = || Runtime::builder().workers(workers).build().map_err(io::Error::other);
    let names = ["none", "idle", "one"];
    let runtimes = [build()?, build()?, build()?];
    wait_for_one(&runtimes[1])?.write_all(b"x")?;
    let kept = wait_for_one(&runtimes[2])?;
    let mut all = [const { [const { Vec::new() }; 3] }; 3];
    for round in 0..ROUNDS {
        for at in (0..3).map(|n| (n + round) % 3) {
            let runtime = &runtimes[at];
            let figures = [runtime.run(ping_pong), runtime.run(line), wake(runtime)];
            figures.into_iter().zip(&mut all).for_each(|(ns, of)| of[at].push(ns));
        }
    }
    drop(kept);
    for (what, of) in ["ping-pong", "line of 2000", "wake from outside"].into_iter().zip(&mut all) {
        let medians = of.each_mut().map(|figures| {
            figures.sort_unstable_by(f64::total_cmp);
            figures[figures.len() / 2]
        });
        print!("{what:18}");
        for (name, median) in names.into_iter().zip(medians) {
            print!("  {name} {median:8.1} ns ({:.3})", median / medians[0]);
        }
        println!();
    }
    Ok(())
}
