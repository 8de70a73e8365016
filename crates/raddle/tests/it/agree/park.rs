use super::*;
use std::time::{Duration, Instant};

#[test]
fn a_token_that_is_there_ends_the_park_at_once() {
    everywhere(|| {
        thread::current().unpark();
        thread::park();
        let thread = thread::spawn(|| {
            thread::current().unpark();
            thread::park();
        });
        thread.join().unwrap();
    });
}

#[test]
fn unpark_wakes_what_waits_for_a_condition() {
    everywhere(|| {
        let gate = Gate::default();
        let there = gate.clone();
        let sleeper = thread::spawn(move || {
            while !there.is_open() {
                thread::park();
            }
        });
        thread::yield_now();
        gate.open();
        sleeper.thread().unpark();
        sleeper.join().unwrap();
    });
}

#[test]
fn what_was_done_before_the_unpark_is_seen_after_the_park() {
    everywhere(|| {
        let (turn, number) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let maker = thread::current();
        let thread = thread::spawn({
            let (turn, number) = (turn.clone(), number.clone());
            move || {
                for round in 1..=200 {
                    while turn.load(Ordering::Relaxed) != 2 * round - 1 {
                        thread::park();
                    }
                    assert_eq!(number.load(Ordering::Relaxed), round);
                    turn.store(2 * round, Ordering::Relaxed);
                    maker.unpark();
                }
            }
        });
        for round in 1..=200 {
            number.store(round, Ordering::Relaxed);
            turn.store(2 * round - 1, Ordering::Release);
            thread.thread().unpark();
            while turn.load(Ordering::Acquire) != 2 * round {
                thread::park();
            }
        }
        thread.join().unwrap();
    });
}

#[test]
fn every_handle_of_a_thread_unparks_it() {
    everywhere(|| {
        let rounds = Arc::new(AtomicUsize::new(0));
        let there = rounds.clone();
        let sleeper = thread::spawn(move || {
            while there.load(Ordering::Acquire) < 3 {
                thread::park();
            }
        });
        let handles = [sleeper.thread().clone(), sleeper.thread().clone(), sleeper.thread().clone()];
        for handle in handles {
            rounds.fetch_add(1, Ordering::Release);
            handle.unpark();
        }
        sleeper.join().unwrap();
    });
}

#[test]
fn a_park_with_a_deadline_returns() {
    everywhere(|| {
        thread::park_timeout(Duration::ZERO);
        thread::park_timeout(Duration::from_millis(2));
        thread::spawn(|| thread::park_timeout(Duration::from_millis(2))).join().unwrap();
        let until = Instant::now() + Duration::from_millis(5);
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            thread::park_timeout(left);
        }
    });
}

#[test]
fn an_unpark_ends_a_park_whose_deadline_is_far() {
    everywhere(|| {
        let gate = Gate::default();
        let there = gate.clone();
        let sleeper = thread::spawn(move || {
            while !there.is_open() {
                thread::park_timeout(Duration::MAX);
            }
        });
        thread::yield_now();
        gate.open();
        sleeper.thread().unpark();
        sleeper.join().unwrap();
    });
}

#[test]
fn an_unpark_that_comes_too_late_does_nothing() {
    everywhere(|| {
        let ended = thread::spawn(|| ());
        let handle = ended.thread().clone();
        ended.join().unwrap();
        handle.unpark();
        let next = thread::spawn(|| thread::park_timeout(Duration::from_millis(1)));
        handle.unpark();
        next.join().unwrap();
    });
}
