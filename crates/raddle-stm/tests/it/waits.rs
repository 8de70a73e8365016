//! Who retries is parked, wherever it runs, and goes on when what it has read is written.

use crate::runtime;
use raddle::cancel::Token;
use raddle::{csp, task, thread};
use raddle_stm::{Stop, TVar, atomically, atomically_until};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn take(place: &TVar<Option<u32>>) -> u32 {
    atomically(|tx| match tx.replace(place, None)? {
        Some(value) => Ok(value),
        None => tx.retry(),
    })
}

fn put(place: &TVar<Option<u32>>, value: u32) {
    atomically(|tx| {
        let there = tx.read(place)?;
        tx.check(there.is_none())?;
        tx.write(place, Some(value))
    });
}

fn until_empty(place: &TVar<Option<u32>>) {
    atomically(|tx| {
        let there = tx.read(place)?;
        tx.check(there.is_none())
    });
}

#[test]
fn processes_hand_over_on_one_worker_and_on_two() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let place = TVar::new(None);
            let other = place.clone();
            let taker = csp::spawn(move || (0..2000).map(|_| take(&other)).sum::<u32>());
            (0..2000).for_each(|value| put(&place, value));
            assert_eq!(taker.join().unwrap(), 1_999_000);
        });
    }
}

#[test]
fn os_threads_threads_and_processes_wait_for_each_other() {
    let rt = runtime(2);
    let (first, second, third) = (TVar::new(None), TVar::new(None), TVar::new(None));
    let (a, b, c) = (first.clone(), second.clone(), third.clone());
    let outside = std::thread::spawn(move || (0..300).for_each(|value| put(&a, value)));
    let (from, to) = (first, second.clone());
    let sum = rt.run(move || {
        let process = csp::spawn(move || (0..300).for_each(|_| put(&to, take(&from) + 1)));
        let thread = thread::spawn(move || (0..300).for_each(|_| put(&c, take(&b) + 1)));
        let sum = (0..300).map(|_| take(&third)).sum::<u32>();
        process.join().unwrap();
        thread.join().unwrap();
        sum
    });
    outside.join().unwrap();
    assert_eq!(sum, 300 * 299 / 2 + 600);
}

/// Each waits for a variable of its own: none runs again before that is written, and then once. Before it parks it runs
/// twice, if others are ready where it runs.
#[test]
fn a_change_wakes_who_waits_for_it_and_nobody_else() {
    const MANY: usize = 2000;
    const BEFORE: usize = 2;
    runtime(2).run(|| {
        let variables: Vec<_> =
            (0..MANY).map(|_| (TVar::new(false), Arc::new(AtomicUsize::new(0)))).collect();
        let wait_for = |(variable, runs): &(TVar<bool>, Arc<AtomicUsize>)| {
            let (variable, runs) = (variable.clone(), runs.clone());
            csp::spawn(move || {
                atomically(|tx| {
                    runs.fetch_add(1, Ordering::Relaxed);
                    let set = tx.read(&variable)?;
                    tx.check(set)
                });
            })
        };
        let waiting: Vec<_> = variables.iter().map(wait_for).collect();
        while variables.iter().any(|(_, runs)| runs.load(Ordering::Relaxed) == 0) {
            csp::yield_now();
        }
        for ((variable, runs), process) in variables.iter().zip(waiting) {
            let before = runs.load(Ordering::Relaxed);
            assert!(before <= BEFORE, "{before} runs before its variable was written");
            variable.store(true);
            process.join().unwrap();
            let in_all = runs.load(Ordering::Relaxed);
            assert!(in_all <= BEFORE + 1, "{in_all} runs until it was written once");
        }
    });
}

#[test]
fn a_wait_says_what_it_is_for_and_can_be_cancelled() {
    runtime(1).run(|| {
        let (ready, other) = (TVar::new(false), TVar::new(0));
        let token = Token::new();
        let region = token.clone();
        let writer = line!() + 1;
        other.store(1);
        let waiting = csp::spawn(move || {
            region.run(|| {
                atomically(|tx| {
                    tx.read(&other)?;
                    let ready = tx.read(&ready)?;
                    tx.check(ready)
                });
            })
        });
        let process = waiting.process().clone();
        let words = loop {
            csp::yield_now();
            // SAFETY: both are on one worker, on which this runs.
            if let Some(words) = unsafe { process.waits_for() } {
                break words;
            }
        };
        assert!(words.starts_with(&format!("waits in retry at {}", file!())), "{words}");
        assert!(words.contains(", in one of the variables made at "), "{words}");
        let (by, at) = (" (last written by #", format!(" at {}:{writer}:", file!()));
        assert!([by, &at, " (not written since)"].iter().all(|part| words.contains(part)), "{words}");
        token.cancel();
        assert!(waiting.join().unwrap().is_err());
    });
}

#[test]
fn a_task_runs_a_transaction_and_is_refused_to_wait() {
    let variable = TVar::new(0);
    let other = variable.clone();
    let refused = task::block_on(task::spawn(async move {
        atomically(|tx| tx.modify(&other, |n| n + 1));
        catch_unwind(AssertUnwindSafe(|| {
            atomically(|tx| {
                let n = tx.read(&other)?;
                tx.check(n == 7)
            });
        }))
    }));
    let refused = refused.expect("the task has caught it").expect_err("it must not wait");
    let words = refused.downcast::<String>().expect("words");
    assert!(words.contains("retry") && words.contains(".await"), "{words}");
    assert_eq!(variable.load(), 1);
}

#[test]
fn a_deadline_ends_the_wait() {
    let variable = TVar::new(0);
    let wait = |deadline| atomically_until(deadline, |tx| tx.read(&variable).and_then(|n| tx.check(n > 0)));
    assert!(wait(Instant::now() + Duration::from_millis(2)).is_err());
    runtime(1).run(|| {
        let deadline = Instant::now() + Duration::from_millis(2);
        let variable = TVar::new(0);
        assert!(atomically_until(deadline, |tx| tx.read(&variable).and_then(|n| tx.check(n > 0))).is_err());
    });
    variable.store(1);
    assert!(wait(Instant::now()).is_ok());
}

#[test]
fn to_wait_for_nothing_is_refused() {
    let panicked = catch_unwind(|| atomically(|tx| tx.retry::<()>()));
    let words = panicked.expect_err("it could never end").downcast::<String>().expect("words");
    assert!(words.contains("read nothing") && words.contains(file!()), "{words}");
}

/// Either of two: the wait is for what both alternatives have read.
#[test]
fn alternatives_wait_for_either() {
    runtime(1).run(|| {
        let places = [TVar::new(None), TVar::new(None)];
        let [first, second] = places.clone();
        let taker = csp::spawn(move || {
            let one = |place: TVar<Option<u32>>| {
                move |tx: &mut raddle_stm::Tx<'_>| -> Result<u32, Stop> {
                    match tx.replace(&place, None)? {
                        Some(value) => Ok(value),
                        None => tx.retry(),
                    }
                }
            };
            let either = || atomically(|tx| tx.or_else(one(first.clone()), one(second.clone())));
            [either(), either()]
        });
        csp::yield_now();
        put(&places[1], 2);
        until_empty(&places[1]);
        put(&places[0], 1);
        assert_eq!(taker.join().unwrap(), [2, 1]);
    });
}
