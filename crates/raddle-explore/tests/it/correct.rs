//! Correct programs: no report in a thousand seeds of each strategy.

use crate::seeds;
use raddle::explore::{Options, Strategy, explore};
use raddle::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RwLock, Semaphore};
use raddle::{channel, csp, task};
use std::collections::VecDeque;
use std::time::Duration;

pub(super) fn check(program: impl Fn() + Send + Sync + Copy + 'static) {
    for strategy in [Strategy::Random, Strategy::Pct { depth: 3 }] {
        explore(Options { strategy, iterations: seeds(), ..Options::default() }, program);
    }
}

#[test]
fn locks_in_one_order() {
    check(|| {
        let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
        let all: Vec<_> = (0..3)
            .map(|_| {
                let locks = locks.clone();
                csp::spawn(move || {
                    let mut first = locks.0.lock().unwrap();
                    *locks.1.lock().unwrap() += 1;
                    *first += 1;
                })
            })
            .collect();
        all.into_iter().for_each(|one| one.join().unwrap());
        assert_eq!((*locks.0.lock().unwrap(), *locks.1.lock().unwrap()), (3, 3));
    });
}

#[test]
fn a_queue_with_room_for_two() {
    check(|| {
        let queue = Arc::new((Mutex::new(VecDeque::new()), Condvar::new(), Condvar::new()));
        let sender = queue.clone();
        let sends = csp::spawn(move || {
            for number in 0..4 {
                let held = sender.0.lock().unwrap();
                let mut held = sender.1.wait_while(held, |queue| queue.len() == 2).unwrap();
                held.push_back(number);
                sender.2.notify_one();
            }
        });
        for number in 0..4 {
            let held = queue.0.lock().unwrap();
            let mut held = queue.2.wait_while(held, |queue| queue.is_empty()).unwrap();
            assert_eq!(held.pop_front(), Some(number));
            queue.1.notify_one();
        }
        sends.join().unwrap();
    });
}

#[test]
fn loops_that_poll_let_others_run() {
    check(|| {
        let (sender, receiver) = channel::unbounded();
        let done = Arc::new(OnceLock::new());
        let told = done.clone();
        let polls = csp::spawn(move || {
            let got = std::iter::from_fn(|| Some(receiver.try_recv())).find_map(Result::ok);
            told.set(got).unwrap();
        });
        let sends = csp::spawn(move || sender.send(7).unwrap());
        while done.get().is_none() {}
        assert_eq!(done.get(), Some(&Some(7)));
        polls.join().unwrap();
        sends.join().unwrap();
    });
}

#[test]
fn time_passes_beside_one_that_polls_when_nothing_else_can_run() {
    check(|| {
        let (mut to, mut from) = csp::channel();
        let sleeps = csp::spawn(move || {
            csp::sleep(Duration::from_secs(3600));
            to.send(8).unwrap();
        });
        let got = std::iter::from_fn(|| Some(from.try_recv())).find_map(Result::ok);
        assert_eq!(got, Some(8));
        sleeps.join().unwrap();
    });
}

#[test]
fn a_pipeline() {
    check(|| {
        let (mut first, mut end) = csp::channel();
        let source = csp::spawn(move || (0..3).for_each(|n| first.send(n).unwrap()));
        let mut all = vec![source];
        for _ in 0..2 {
            let (mut out, next) = csp::channel();
            let mut from = std::mem::replace(&mut end, next);
            all.push(csp::spawn(move || {
                while let Ok(n) = from.recv() {
                    out.send(n + 1).unwrap()
                }
            }));
        }
        assert_eq!(end.iter().collect::<Vec<i32>>(), [2, 3, 4]);
        all.into_iter().for_each(|one| one.join().unwrap());
    });
}

#[test]
fn many_senders_and_receivers() {
    check(|| {
        let (sender, receiver) = channel::bounded(1);
        let mut all = Vec::new();
        for number in 0..3 {
            let sender = sender.clone();
            all.push(csp::spawn(move || sender.send(number).unwrap()));
        }
        drop(sender);
        let takers: Vec<_> = (0..2)
            .map(|_| {
                let receiver = receiver.clone();
                csp::spawn(move || receiver.iter().sum::<i32>())
            })
            .collect();
        let sum: i32 = takers.into_iter().map(|taker| taker.join().unwrap()).sum();
        assert_eq!(sum, 3);
        all.into_iter().for_each(|one| one.join().unwrap());
    });
}

#[test]
fn a_selection_that_finishes_its_work() {
    check(|| {
        let ((work, jobs), (stop, quit)) = (channel::unbounded(), channel::bounded(1));
        let worker = csp::spawn(move || {
            let mut done = 0;
            loop {
                channel::select! {
                    recv(jobs) -> _ => done += 1,
                    recv(quit) -> _ => return done + jobs.try_iter().count(),
                }
            }
        });
        (0..3).for_each(|job| work.send(job).unwrap());
        stop.send(()).unwrap();
        assert_eq!(worker.join().unwrap(), 3);
    });
}

#[test]
fn phases_and_readers() {
    check(|| {
        let (barrier, table) = (Arc::new(Barrier::new(3)), Arc::new(RwLock::new(0)));
        let all: Vec<_> = (0..3)
            .map(|_| {
                let (barrier, table) = (barrier.clone(), table.clone());
                csp::spawn(move || {
                    *table.write().unwrap() += 1;
                    let leads = barrier.wait().is_leader();
                    assert_eq!(*table.read().unwrap(), 3);
                    leads
                })
            })
            .collect();
        assert_eq!(
            all.into_iter().filter(|_| true).map(|one| u32::from(one.join().unwrap())).sum::<u32>(),
            1
        );
    });
}

#[test]
fn deadlines_that_are_kept() {
    check(|| {
        let permits = Arc::new(Semaphore::new(1));
        let other = permits.clone();
        let holds = csp::spawn(move || {
            let _permit = other.acquire().unwrap();
            csp::sleep(Duration::from_millis(10));
        });
        while permits.available_permits() == 1 && !holds.is_finished() {
            csp::yield_now();
        }
        if let Ok(permit) = permits.acquire_timeout(Duration::from_millis(9)) {
            assert!(holds.is_finished());
            drop(permit);
        }
        holds.join().unwrap();
        assert_eq!(permits.available_permits(), 1);
    });
}

#[test]
fn tasks_and_forks() {
    check(|| {
        let once = Arc::new(OnceLock::new());
        let tasks: Vec<_> = (0..3)
            .map(|number| {
                let once = once.clone();
                task::spawn(async move {
                    task::yield_now().await;
                    task::sleep(Duration::from_millis(number)).await;
                    *once.get_or_init(|| 7)
                })
            })
            .collect();
        let (left, right) = raddle::join(
            || raddle::join(|| 1, || *once.get_or_init(|| 7)),
            || {
                csp::yield_now();
                2
            },
        );
        assert_eq!((left, right), ((1, 7), 2));
        tasks.into_iter().for_each(|task| assert_eq!(task::block_on(task).unwrap(), 7));
    });
}

#[test]
fn forks_that_wait_for_each_other() {
    check(|| {
        let (sender, receiver) = channel::bounded(0);
        // Who waits lets go of its forks, so that the other one runs.
        let (got, sent) = raddle::join(|| receiver.recv(), || sender.send(1));
        assert_eq!((got, sent), (Ok(1), Ok(())));
    });
}

#[test]
fn scopes_that_borrow() {
    check(|| {
        let mut numbers = vec![1, 2, 3, 4];
        csp::scope(|scope| {
            for number in &mut numbers {
                scope.spawn(move || {
                    csp::yield_now();
                    *number *= 2;
                });
            }
        });
        raddle::scope(|scope| {
            for number in &mut numbers {
                scope.spawn(move |_| *number += 1);
            }
        });
        assert_eq!(numbers, [3, 5, 7, 9]);
    });
}
