//! Owns: hand-written traces, and the predictions expected from them.
//! May use: `analysis`, `event`, `log`.
//! Never: an expected figure that was not worked out on paper.

use super::*;
use crate::event::{Event, IdleCause, StopReason, pack};
use crate::log::tests::Script;

/// One worker: four stages pass two numbers on, 100 ns per stage.
fn line() -> Log {
    let mut script = Script::new(1, 1000);
    for thread in 1..=4 {
        script.name(thread, &format!("stage {}", thread - 1));
    }
    let mut ns = 0;
    // Stages in the order in which the numbers reach them: two numbers follow each other through the line.
    for (step, stage) in [1, 2, 1, 3, 2, 4, 3, 4].into_iter().enumerate() {
        // The source has more to do.
        let stopped = [StopReason::None, StopReason::Yield].get(step).copied().unwrap_or(StopReason::Receive);
        script.switch(0, ns, stopped, stage);
        if stage < 4 {
            script.wake(0, ns + 90, stage + 1, 0);
        }
        ns += 100;
    }
    script.switch(0, ns, StopReason::Exit, 0);
    script.log()
}

/// Two workers; the second one gets a thread `count` times, each `latency` ns after its wake.
fn wakes(count: u64, latency: u64) -> Log {
    let mut script = Script::new(2, count * 1000);
    script.name(1, "stage 9").name(2, "other");
    for step in 0..count {
        let ns = step * 1000;
        script.switch(0, ns, StopReason::None, 1).wake(0, ns + 50, 2, 1);
        script.switch(0, ns + 100, StopReason::Receive, 0).idle(0, ns + 100, ns + 1000, IdleCause::Mail);
        script.idle(1, ns, ns + 50 + latency, IdleCause::Mail).switch(
            1,
            ns + 50 + latency,
            StopReason::None,
            2,
        );
        script.switch(1, ns + 60 + latency, StopReason::Receive, 0);
    }
    script.log()
}

fn forecast(of: &Log, two: &Log, segments: &[(u64, u64)]) -> Range {
    let (one, other) = (Analysis::of(of), Analysis::of(two));
    placed((of, &one), (two, &other), "stage", segments).expect("it comes to its end").recorded
}

#[test]
fn what_one_worker_did_takes_as_long_again_on_one_and_less_in_segments() {
    let (log, two) = (line(), wakes(10, 100));
    // 200 ns of the trace come after the last run.
    assert_eq!(forecast(&log, &log, &[(0, 3)]), Range::exactly(1000));
    // The second worker begins when the first number has come to stage 2, at 190, and has as much to do; or 100 later.
    let segments = [(0, 1), (2, 3)];
    assert_eq!(forecast(&log, &two, &segments), Range { least_ns: 790, most_ns: 890 });
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
    assert_eq!(forecast(&log, &log, &[(0, 0)]), Range::exactly(1000));
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

fn open(log: &Log, may_stay: bool) -> Range {
    open_to_all(log, &Analysis::of(log).workers, !may_stay).expect("it comes to its end").recorded
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
    let simulate = Simulation::of(&log, &workers);
    let free = Rules {
        workers: 2,
        keep_last: false,
        wake_latency: WakeLatency::default(),
        record_ns: 0,
        out_of_order_ns: 0,
    };
    // Free: 1 beside 2, then 3 beside 2 for four pieces: nine pieces on two workers.
    assert_eq!(simulate.length_ns(free, |_| Placement::Any), Some(5_000));
    // 2 begins on the one worker, 3 on the other one, when 1 has ended there.
    assert_eq!(simulate.length_ns(free, |_| Placement::WhereStarted), Some(5_000));
}

#[test]
fn what_the_trace_itself_says_is_forecast_from_it() {
    let log = line();
    let one = Analysis::of(&log);
    let forecast = |advice| followed(&log, &advice, &one.workers).map(|forecast| forecast.recorded);
    assert_eq!(forecast(Advice::Split("stage 0".to_owned(), 400)), Some(Range::exactly(1000)));
    assert_eq!(forecast(Advice::FewerWorkers(2)), Some(Range::exactly(500)));
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
    let said = |least_ns, most_ns| Range { least_ns, most_ns }.to_string();
    assert_eq!(said(40_000_000, 41_000_000), "40.5 ms");
    assert_eq!(said(40_000_000, 48_000_000), "40.0 ms to 48.0 ms");
}

/// A receiver is ten times as slow as its sender, which has something else to do at the end.
fn meeting(stopped: StopReason) -> Log {
    let mut script = Script::new(1, 1600);
    for step in 0..10 {
        let (ns, before) = (step * 110, if step == 0 { StopReason::None } else { stopped });
        script.switch(0, ns, before, 1).wake(0, ns + 9, 2, 0).switch(0, ns + 10, StopReason::Yield, 2);
    }
    script.switch(0, 1100, stopped, 1).switch(0, 1600, StopReason::Exit, 0);
    script.log()
}

#[test]
fn who_sends_at_a_meeting_does_not_run_ahead() {
    let of = |stopped| {
        let log = meeting(stopped);
        let rules = Rules {
            workers: 2,
            keep_last: false,
            wake_latency: WakeLatency::default(),
            record_ns: 0,
            out_of_order_ns: 0,
        };
        let simulate = Simulation::of(&log, &Analysis::of(&log).workers);
        simulate.length_ns(rules, |thread| Placement::At(thread as usize - 1)).expect("it comes to its end")
    };
    // What is sent is kept: the receiver ends last, after the first 9 ns and its own ten times 100.
    assert_eq!(of(StopReason::Receive), 1009);
    // It is not: the sender waits until the receiver comes for the last, at 909, and has 501 to do.
    assert_eq!(of(StopReason::MeetToReceive), 1410);
}

#[test]
fn what_records_took_is_left_out_and_owed_where_a_stretch_is_shorter() {
    let log = line();
    let workers = Analysis::of(&log).workers;
    let one = Rules {
        workers: 1,
        keep_last: false,
        wake_latency: WakeLatency::default(),
        record_ns: 0,
        out_of_order_ns: 0,
    };
    let simulate = Simulation::of(&log, &workers);
    let of =
        |record_ns| simulate.length_ns(Rules { record_ns, ..one }, |_| Placement::At(0)).expect("it ends");
    // Eight runs, six of them with a wake; 200 ns of the trace come after.
    assert_eq!(of(0) - of(10), 10 * (8 + 6));
    assert_eq!(of(1000), 200);
}

/// Two on the one worker take turns for ever, and one comes between from the other worker.
#[test]
fn what_comes_in_another_order_takes_longer() {
    let mut script = Script::new(1, 900);
    script.put(0, 0, Event::Spawn, 1, 0).put(0, 0, Event::Spawn, 2, 0).put(0, 0, Event::Spawn, 3, 0);
    for step in 0..9 {
        let (ns, stopped) = (step * 100, if step == 0 { StopReason::None } else { StopReason::Yield });
        script.switch(0, ns, stopped, step as u32 % 3 + 1);
    }
    script.switch(0, 900, StopReason::Exit, 0);
    let log = script.log();
    let simulate = Simulation::of(&log, &Analysis::of(&log).workers);
    let rules = |workers| Rules {
        workers,
        keep_last: false,
        wake_latency: WakeLatency::default(),
        record_ns: 0,
        out_of_order_ns: 7,
    };
    // As it was: each follows whom it followed in the trace.
    assert_eq!(simulate.length_ns(rules(1), |_| Placement::At(0)), Some(900));
    // 2 has a worker for itself, where it follows itself; 1 then follows 3 as before, and 3 follows 1 and not 2, which
    // costs nothing as it did so the first time, too.
    assert_eq!(simulate.length_ns(rules(2), |thread| Placement::At(usize::from(thread == 2))), Some(600));
    // All are free: who takes a thread follows another one each time.
    let any = simulate.length_ns(rules(2), |_| Placement::Any).expect("it ends");
    let free = Rules { out_of_order_ns: 0, ..rules(2) };
    assert!(any > simulate.length_ns(free, |_| Placement::Any).expect("it ends"), "{any}");
}

#[test]
fn what_the_scheduler_took_before_a_run_is_part_of_it() {
    let mut script = Script::new(1, 400);
    script.switch(0, 0, StopReason::None, 1).switch(0, 100, StopReason::Yield, 0);
    script.switch(0, 130, StopReason::None, 2).switch(0, 200, StopReason::Exit, 0);
    // Idleness is none of it.
    script.idle(0, 200, 300, IdleCause::Mail).switch(0, 320, StopReason::None, 1);
    script.switch(0, 400, StopReason::Exit, 0);
    let log = script.log();
    let workers = Analysis::of(&log).workers;
    let one = Rules {
        workers: 1,
        keep_last: false,
        wake_latency: WakeLatency::default(),
        record_ns: 0,
        out_of_order_ns: 0,
    };
    assert_eq!(Simulation::of(&log, &workers).length_ns(one, |_| Placement::At(0)), Some(100 + 30 + 70 + 80));
}

/// Four of a millisecond on worker 0, each of which goes twice, made with that freedom there; the other worker is idle.
fn four(freedom: Freedom) -> Log {
    let mut script = Script::new(2, 8 * MS);
    for thread in 1..=4 {
        script.name(thread, &format!("item {thread}"));
        script.put(0, 0, Event::Spawn, thread, pack(0, freedom as u32));
    }
    for step in 0..8 {
        let stopped = if step == 0 { StopReason::None } else { StopReason::Yield };
        script.switch(0, step * MS, stopped, step as u32 % 4 + 1);
    }
    script.switch(0, 8 * MS, StopReason::Exit, 0).idle(1, 0, 8 * MS, IdleCause::Stop);
    script.log()
}

const MS: u64 = 1_000_000;

#[test]
fn what_is_open_to_all_is_what_the_program_lets_move() {
    let of = |freedom, becomes_movable| {
        let log = four(freedom);
        open_to_all(&log, &Analysis::of(&log).workers, becomes_movable).expect("it ends").recorded
    };
    // What is placed stays, whatever becomes of the rest.
    assert_eq!([of(Freedom::Placed, false), of(Freedom::Placed, true)], [Range::exactly(8 * MS); 2]);
    // Four on either; or the last is left to the worker that has made it ready, which has five.
    assert_eq!(of(Freedom::Always, false).least_ns, 4 * MS + WAY);
    assert!(of(Freedom::Always, false).most_ns <= 5 * MS);
    // Two begin on either worker, and stay there: the same, if it goes well.
    assert_eq!(of(Freedom::UntilBegun, false).least_ns, 4 * MS + WAY);
    assert_eq!(of(Freedom::UntilBegun, true), of(Freedom::Always, true), "it becomes movable");
}

#[test]
fn what_is_placed_on_one_worker_is_spread_in_turn() {
    let log = four(Freedom::Placed);
    let of = |label| spread(&log, &Analysis::of(&log).workers, label).expect("it ends").recorded;
    // Two on either, dealt or taken: the second worker comes to its own a latency later.
    assert_eq!(of("item"), Range::exactly(4 * MS + WAY));
    assert_eq!(of("other"), Range::exactly(8 * MS), "of another label nothing is moved");
}

/// A thread that is done in no time waits behind a long one, beside a worker that may not have it.
#[test]
fn where_moving_brings_nothing_the_long_one_is_to_be_split() {
    let mut script = Script::new(2, 50_000_000);
    script.name(1, "sorter").put(0, 0, Event::Spawn, 2, 0).switch(0, 0, StopReason::None, 1);
    script.switch(0, 49_999_000, StopReason::Exit, 2).switch(0, 50_000_000, StopReason::Exit, 0);
    script.idle(1, 0, 50_000_000, IdleCause::Stop);
    let analysis = Analysis::of(&script.log());
    assert!(analysis.idle_ns(Class::Misplaced) > 49_000_000, "{}", analysis.verdict);
    assert!(matches!(analysis.verdict.worst, Some((Class::Starved, _))), "{}", analysis.verdict);
    assert_eq!(analysis.verdict.advice, Advice::Split("sorter".to_owned(), 49_999_000));
    assert_eq!(
        analysis.predicted.map(|forecast| forecast.recorded.least_ns),
        Some(50_000_000 - 49_999_000 / 2)
    );
}

/// Each time that it ran alone somebody else has to be woken, who has been idle meanwhile: a wake of a quiet machine.
#[test]
fn who_is_split_wakes_others_each_time() {
    let mut script = Script::new(2, 1_000_000);
    script.name(1, "sorter").name(2, "part 1").name(3, "part 2");
    script.switch(0, 0, StopReason::None, 1).switch(0, 400_000, StopReason::Yield, 2);
    script.switch(0, 600_000, StopReason::Exit, 1).switch(0, 1_000_000, StopReason::Exit, 0);
    script.idle(1, 0, 400_000, IdleCause::Own).switch(1, 400_000, StopReason::None, 3);
    script.switch(1, 600_000, StopReason::Exit, 0).idle(1, 600_000, 1_000_000, IdleCause::Stop);
    let log = script.log();
    let split = Advice::Split("sorter".to_owned(), 800_000);
    let forecast = followed(&log, &split, &Analysis::of(&log).workers).expect("it is forecast");
    assert_eq!(forecast.recorded, Range::of(600_000, 600_000 + 2 * kernel::WAKE_NS));
}

/// Clocks that disagree have two threads each begun by the other one.
#[test]
fn who_waits_for_each_other_for_ever_has_no_forecast() {
    let mut script = Script::new(2, 100);
    script.switch(0, 10, StopReason::None, 1).wake(0, 10, 2, 1).switch(0, 50, StopReason::Exit, 0);
    script.switch(1, 10, StopReason::None, 2).wake(1, 10, 1, 0).switch(1, 50, StopReason::Exit, 0);
    let log = script.log();
    let simulate = Simulation::of(&log, &Analysis::of(&log).workers);
    let rules = Rules {
        workers: 2,
        keep_last: false,
        wake_latency: WakeLatency::default(),
        record_ns: 0,
        out_of_order_ns: 0,
    };
    assert_eq!(simulate.length_ns(rules, |_| Placement::Any), None);
}

/// What it takes without a trace is said where the trace knows what its clock takes.
#[test]
fn a_forecast_without_a_trace_needs_the_price_of_a_reading() {
    let mut log = misplaced(&[8_000_000; 10]);
    let of =
        |log: &Log| followed(log, &Advice::FewerWorkers(1), &Analysis::of(log).workers).expect("it ends");
    assert_eq!(of(&log), Forecast { recorded: Range::exactly(80_000_000), bare: None });
    log.about.push(("stamp_ns".to_owned(), "9.0".to_owned()));
    // Ten spawns, eleven switches and what the other worker was idle, at 1.1 and 2 readings.
    let records = log.workers.iter().map(|worker| worker.events.len() as u64).sum::<u64>();
    let bare = Range { least_ns: 80_000_000 - records * 18, most_ns: 80_000_000 - records * 10 };
    assert_eq!(of(&log), Forecast { recorded: Range::exactly(80_000_000), bare: Some(bare) });
    let said = of(&log).to_string();
    assert_eq!(said, "80.0 ms", "both are the same");
}
