//! Owns: traces made by hand, and what must be forecast from them.
//! May use: the script of `log`.
//! Never: a number that was not worked out on paper.

use super::*;
use crate::event::{Event, IdleCause, StopReason};
use crate::log::tests::Script;

/// One worker: four stages hand two numbers on, 100 ns a stage.
fn line() -> Log {
    let mut script = Script::new(1, 1000);
    for thread in 1..=4 {
        script.name(thread, &format!("stage {}", thread - 1));
    }
    let mut ns = 0;
    // Stages in the order in which the numbers reach them: two numbers follow each other through the line.
    for (step, stage) in [1, 2, 1, 3, 2, 4, 3, 4].into_iter().enumerate() {
        let stopped = if step == 0 { StopReason::None } else { StopReason::Receive };
        script.switch(0, ns, stopped, stage);
        if stage < 4 {
            script.wake(0, ns + 90, stage + 1, 0);
        }
        if step == 0 {
            // The source wakes the first stage again.
            script.wake(0, ns + 95, 1, 0);
        }
        ns += 100;
    }
    script.switch(0, ns, StopReason::Exit, 0);
    script.log()
}

/// Two workers, the second of which gets a thread so many times, each `way` ns after its wake.
fn wakes(count: u64, way: u64) -> Log {
    let mut script = Script::new(2, count * 1000);
    script.name(1, "stage 9").name(2, "other");
    for step in 0..count {
        let ns = step * 1000;
        script.switch(0, ns, StopReason::None, 1).wake(0, ns + 50, 2, 1);
        script.switch(0, ns + 100, StopReason::Receive, 0).idle(0, ns + 100, ns + 1000, IdleCause::Mail);
        script.idle(1, ns, ns + 50 + way, IdleCause::Mail).switch(1, ns + 50 + way, StopReason::None, 2);
        script.switch(1, ns + 60 + way, StopReason::Receive, 0);
    }
    script.log()
}

fn forecast(of: &Log, two: &Log, segments: &[(u64, u64)]) -> Forecast {
    let (one, other) = (Analysis::of(of), Analysis::of(two));
    placed((of, &one), (two, &other), "stage", segments)
}

#[test]
fn what_one_worker_did_takes_as_long_again_on_one_and_less_in_segments() {
    let (log, two) = (line(), wakes(10, 100));
    // 200 ns of the trace come after the last run.
    assert_eq!(forecast(&log, &log, &[(0, 3)]), Forecast::exactly(1000));
    // The second worker begins when the first number has come to stage 2, at 190, and has as much to do; or 100 later.
    let segments = [(0, 1), (2, 3)];
    assert_eq!(forecast(&log, &two, &segments), Forecast { least_ns: 790, most_ns: 890 });
}

#[test]
fn what_is_not_placed_runs_where_the_second_trace_has_it() {
    let mut script = Script::new(1, 1000);
    script.name(1, "stage 0").name(2, "other").put(0, 0, Event::Spawn, 1, 0).put(0, 0, Event::Spawn, 2, 0);
    script.switch(0, 0, StopReason::None, 1).switch(0, 400, StopReason::Exit, 2);
    script.switch(0, 1000, StopReason::Exit, 0);
    let log = script.log();
    // With the only stage on the first worker, the other one has the second for itself.
    assert_eq!(forecast(&log, &wakes(10, 100), &[(0, 0)]).least_ns, 600);
    assert_eq!(forecast(&log, &log, &[(0, 0)]), Forecast::exactly(1000));
}

/// The other worker has slept before its first piece.
const WAY: u64 = kernel::WAKE_NS;

/// Threads on worker 0 that take so long, one after the other, and nobody takes any.
fn misplaced(lengths: &[u64]) -> Log {
    let all: u64 = lengths.iter().sum();
    let mut script = Script::new(2, all);
    for thread in 1..=lengths.len() as u32 {
        script.put(0, 0, Event::Spawn, thread, 0);
    }
    let mut ns = 0;
    for (thread, length) in (1..).zip(lengths) {
        script.switch(0, ns, if thread == 1 { StopReason::None } else { StopReason::Exit }, thread);
        ns += length;
    }
    script.switch(0, ns, StopReason::Exit, 0).idle(1, 0, all, IdleCause::Stop);
    script.log()
}

fn open(log: &Log, may_stay: bool) -> Forecast {
    open_to_all(log, &Analysis::of(log).workers, !may_stay)
}

#[test]
fn what_was_misplaced_is_dealt_to_all_workers_as_they_become_free() {
    let ms = |n: u64| n * 1_000_000;
    // Ten equal pieces: five each. Who takes the last is left to chance, and then there are six on one.
    let ten = open(&misplaced(&[ms(8); 10]), true);
    assert_eq!((ten.least_ns, ten.most_ns), (ms(40) + WAY, ms(48)));
    // A long one at the end is where it begins, whoever has it: half of the misplaced time was never to be had.
    let long = misplaced(&[ms(8), ms(8), ms(8), ms(56)]);
    let forecast = open(&long, true);
    assert_eq!((forecast.least_ns, forecast.most_ns), (ms(64) + WAY, ms(72)));
}

/// Two threads begin beside a third, and go on in pieces: they stay together, or one of them moves.
#[test]
fn what_has_begun_may_stay_where_it_is() {
    let mut script = Script::new(2, 9_000);
    for thread in 1..=3 {
        script.put(0, 0, Event::Spawn, thread, 0);
    }
    let order = [1, 2, 3, 2, 3, 2, 3, 2, 3];
    for (step, thread) in (0..).zip(order) {
        let stopped = match step {
            0 => StopReason::None,
            1 => StopReason::Exit,
            _ => StopReason::Yield,
        };
        script.switch(0, step * 1000, stopped, thread);
    }
    script.switch(0, 9000, StopReason::Exit, 0).idle(1, 0, 9_000, IdleCause::Stop);
    let log = script.log();
    let workers = Analysis::of(&log).workers;
    let replay = Replay::of(&log, &workers);
    let free = Rules { workers: 2, ..Rules::default() };
    // Free: 1 beside 2, then 3 beside 2 for four pieces: nine pieces on two workers.
    assert_eq!(replay.clone().finish(free, |_| Place::Any), 5_000);
    assert!(replay.finish(free, |_| Place::WhereBegun) >= 5_000);
}

#[test]
fn what_the_trace_itself_says_is_forecast_from_it() {
    let log = line();
    let one = Analysis::of(&log);
    let forecast = |advice| followed(&log, &advice, &one.workers);
    assert_eq!(forecast(Advice::Split("stage 0".to_owned(), 400)), Some(Forecast::exactly(1000)));
    assert_eq!(forecast(Advice::FewerWorkers(2)), Some(Forecast::exactly(500)));
    assert_eq!(forecast(Advice::MoreWork), None);
}

#[test]
fn what_the_kernel_took_is_no_part_of_a_forecast() {
    let mut log = misplaced(&[8_000_000; 10]);
    log.workers[0].events.push(crate::log::At { ns: 80_000_000, event: Event::Sample, a: 0, b: 0 });
    log.workers[0].events.push(crate::log::At {
        ns: 80_000_000,
        event: Event::KernelTook,
        a: 16_000_000,
        b: 0,
    });
    let forecast = open(&log, false);
    assert_eq!((forecast.least_ns, forecast.most_ns), (32_000_000 + WAY, 38_400_000));
}

#[test]
fn a_forecast_is_a_figure_where_it_is_no_range() {
    let said = |least_ns, most_ns| Forecast { least_ns, most_ns }.to_string();
    assert_eq!(said(40_000_000, 41_000_000), "40.5 ms");
    assert_eq!(said(40_000_000, 48_000_000), "40.0 ms to 48.0 ms");
}
