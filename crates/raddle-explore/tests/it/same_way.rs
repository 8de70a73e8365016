//! One seed, one schedule; and time that passes only when nothing can run.

use crate::seeds;
use raddle::explore::{self, Options, Strategy, try_explore};
use raddle::sync::{Arc, Barrier, Condvar, Mutex, RwLock, Semaphore};
use raddle::{Runtime, channel, csp, task};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A bit of everything; its sum depends on nothing but the schedule.
fn all_sorts() {
    let count = Arc::new((Mutex::new(0_u32), Condvar::new()));
    let (sender, receiver) = channel::bounded(1);
    let (mut one, mut other) = csp::channel();
    let permits = Arc::new(Semaphore::new(1));
    let (barrier, table) = (Arc::new(Barrier::new(2)), Arc::new(RwLock::new(0)));
    let mut all = Vec::new();
    for number in 0..3 {
        let (count, sender, permits) = (count.clone(), sender.clone(), permits.clone());
        all.push(csp::spawn(move || {
            let _permit = permits.acquire().unwrap();
            *count.0.lock().unwrap() += number;
            count.1.notify_one();
            sender.send(number).unwrap();
            csp::sleep(Duration::from_millis(10 * u64::from(number)));
        }));
    }
    drop(sender);
    all.push(csp::spawn(move || one.send(7).unwrap()));
    let (met, read) = (barrier.clone(), table.clone());
    let reader = csp::spawn(move || {
        met.wait();
        let _ = *read.read().unwrap();
    });
    let task = task::spawn(async move {
        task::sleep(Duration::from_millis(5)).await;
        task::yield_now().await;
        11
    });
    let mut got = 0;
    while let Ok(number) = channel::select! {
        recv(receiver) -> number => number,
        default(Duration::from_millis(3)) => Ok(0),
    } {
        got += number;
    }
    barrier.wait();
    *table.write().unwrap() += 1;
    assert_eq!(other.recv(), Ok(7));
    assert_eq!(task::block_on(task).unwrap(), 11);
    let (a, b) = raddle::join(|| count.0.lock().map(|c| *c).unwrap(), || got);
    assert!(a <= 3 && b == 3);
    all.into_iter().chain([reader]).for_each(|one| one.join().unwrap());
}

fn way(seed: u64) -> u64 {
    let runtime = Runtime::builder().seed(seed).build().expect("a runtime");
    runtime.run(all_sorts);
    runtime.schedule_hash().expect("it follows a seed")
}

#[test]
fn the_same_seed_goes_the_same_way_a_thousand_times() {
    let first = way(42);
    assert!((1..seeds()).all(|_| way(42) == first));
}

#[test]
fn other_seeds_go_other_ways() {
    let tried = u64::from(seeds() / 10);
    let ways: HashSet<u64> = (0..tried).map(way).collect();
    assert!(ways.len() as u64 >= tried - 1, "{} of {tried}", ways.len());
}

#[test]
fn a_seed_is_one_worker_whatever_else_is_asked() {
    let runtime = Runtime::builder().workers(4).seed(1).build().expect("a runtime");
    assert_eq!(runtime.workers(), 1);
    assert_eq!(Runtime::builder().workers(1).build().expect("a runtime").schedule_hash(), None);
}

#[test]
fn time_passes_only_when_nothing_can_run() {
    explore::check_random(
        || {
            let start = explore::now();
            let (sender, receiver) = channel::unbounded::<()>();
            let sleeper = csp::spawn(move || {
                csp::sleep(Duration::from_secs(3600));
                sender.send(()).unwrap();
            });
            assert!(receiver.recv_timeout(Duration::from_secs(3599)).is_err());
            assert_eq!(explore::now() - start, Duration::from_secs(3599));
            receiver.recv().unwrap();
            assert_eq!(explore::now() - start, Duration::from_secs(3600));
            sleeper.join().unwrap();
        },
        100,
    );
}

#[test]
fn what_differs_from_run_to_run_is_noticed() {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let options = Options { iterations: 3, ..Options::default() };
    let failure = try_explore(options, || {
        let times = RUNS.fetch_add(1, Ordering::Relaxed);
        let others: Vec<_> = (0..2 + times).map(|_| csp::spawn(csp::yield_now)).collect();
        others.into_iter().for_each(|other| other.join().unwrap());
    })
    .unwrap_err();
    assert_eq!(failure.kind(), explore::Kind::Nondeterminism);
    let text = failure.to_string();
    assert!(text.starts_with("[seed 2] not deterministic: "), "{text}");
}

#[test]
fn every_strategy_runs_a_process_that_waits_in_a_loop() {
    for strategy in [Strategy::Mixed, Strategy::Random, Strategy::Pct { depth: 3 }] {
        let options = Options { iterations: 50, strategy, ..Options::default() };
        explore::explore(options, || {
            let flag = Arc::new(AtomicU64::new(0));
            let other = flag.clone();
            let setter = csp::spawn(move || other.store(1, Ordering::Relaxed));
            while flag.load(Ordering::Relaxed) == 0 {
                csp::yield_now();
            }
            setter.join().unwrap();
        });
    }
}

/// Where a run without an end is cut does not depend on when the worker first looked for it: its order and its first
/// process come from another OS thread, one after the other.
#[test]
fn a_run_without_an_end_ends_at_the_same_turn() {
    let options = Options { iterations: 1, turns_max: 60, ..Options::default() };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..8 {
                    // Shrinking one takes three hundred runs.
                    let failure = try_explore(options.clone(), || {
                        let endless = || {
                            csp::spawn(|| {
                                loop {
                                    csp::yield_now()
                                }
                            })
                        };
                        let (one, _other) = (endless(), endless());
                        one.join().unwrap();
                    })
                    .unwrap_err();
                    assert_eq!(failure.kind(), explore::Kind::Endless, "{failure}");
                }
            });
        }
    });
}
