//! Time-outs that are taken for impossible, for an answer, or begin anew each time.

use super::{Mended, Plant, Planted, Way};
use raddle::channel::{RecvTimeoutError, after, at, bounded, select, tick, unbounded};
use raddle::explore::{Kind, Options, now};
use raddle::thread;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// A time-out, after which the same channel is asked again: what comes may be the late answer to the first question.
#[test]
fn a_late_answer_is_taken_for_the_next_one() {
    fn program(way: Way) {
        let (ask, asked) = unbounded::<u32>();
        let (answer, answers) = unbounded();
        let server = thread::spawn(move || {
            for question in asked {
                thread::sleep(5 * MS);
                let _ = answer.send((question, question * 10));
            }
        });
        for question in 1..=2 {
            ask.send(question).unwrap();
            let deadline = now() + 8 * MS;
            let answer = loop {
                match answers.recv_deadline(deadline) {
                    Ok((to, _)) if way == Mended && to != question => {}
                    other => break other,
                }
            };
            if let Ok((_, value)) = answer {
                assert_eq!(value, question * 10, "the answer to question {question}");
            }
        }
        drop(ask);
        server.join().unwrap();
    }
    let options = Options { early_alarms: true, ..Options::default() };
    Plant { program, kind: Kind::Panic, says: &["the answer to question 2"] }.check(&options);
}

/// Who waits for a result gives up in time, and the worker thinks that somebody always takes it.
#[test]
fn a_result_comes_after_the_time_out() {
    fn program(way: Way) {
        let (done, result) = bounded(1);
        let worker = thread::spawn(move || {
            thread::sleep(2 * MS);
            let sent = done.send(42);
            if way == Planted {
                sent.expect("somebody waits for the result");
            }
        });
        match result.recv_timeout(10 * MS) {
            Ok(value) => assert_eq!(value, 42),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => drop(result),
        }
        worker.join().unwrap();
    }
    let options = Options { early_alarms: true, ..Options::default() };
    Plant { program, kind: Kind::Panic, says: &["time.rs"] }.check(&options);
}

/// A time-out for the whole is made anew in each round, and a peer that says often that it lives never lets it ring.
#[test]
fn a_time_out_begins_anew_each_round() {
    fn program(way: Way) {
        let (alive, signs) = bounded(1);
        let peer = thread::spawn(move || {
            let beat = tick(5 * MS);
            while beat.recv().is_ok() && alive.send(()).is_ok() {}
        });
        let whole = at(now() + 20 * MS);
        loop {
            let time_out = if way == Planted { after(20 * MS) } else { whole.clone() };
            select! {
                recv(signs) -> _ => {}
                recv(time_out) -> _ => break,
            }
        }
        drop(signs);
        peer.join().unwrap();
    }
    let options = Options { turns_max: 2000, ..Options::default() };
    Plant { program, kind: Kind::Endless, says: &["2000"] }.check(&options);
}

/// A clock of ticks: work that takes longer than a tick loses those that came meanwhile.
#[test]
fn ticks_are_counted_as_time() {
    fn program(way: Way) {
        let (give, jobs) = unbounded();
        let gives = thread::spawn(move || [3, 25].into_iter().try_for_each(|ms: u32| give.send(ms)));
        let (began, beat, mut ticks) = (now(), tick(10 * MS), 0);
        for ms in jobs {
            thread::sleep(ms * MS);
            ticks += beat.try_iter().count() as u32;
        }
        gives.join().unwrap().unwrap();
        let elapsed = now() - began;
        let told = if way == Planted { ticks * 10 * MS } else { elapsed };
        assert!(elapsed - told < 10 * MS, "{elapsed:?} have passed, {told:?} are told");
    }
    Plant { program, kind: Kind::Panic, says: &["have passed"] }.check(&Options::default());
}
