//! Park and unpark.

use crate::runtime;
use raddle::csp::{self, Process};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[test]
fn a_token_before_the_park_ends_it_at_once_and_tokens_do_not_add_up() {
    runtime(1).run(|| {
        let me = csp::current().unwrap();
        me.unpark();
        me.unpark();
        csp::park();
        let begun = Instant::now();
        csp::park_timeout(Duration::from_millis(5));
        assert!(begun.elapsed() >= Duration::from_millis(5), "two unparks are one token");
    });
}

#[test]
fn an_unpark_wakes_on_the_same_worker_and_across() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            for round in 0..500 {
                let flag = Arc::new(AtomicBool::new(false));
                let seen = flag.clone();
                let waits = move || {
                    while !seen.load(Ordering::Relaxed) {
                        csp::park();
                    }
                };
                let parked = csp::spawn_on(round % workers, waits);
                if round % 2 == 0 {
                    csp::yield_now();
                }
                // Relaxed: an unpark publishes what came before it.
                flag.store(true, Ordering::Relaxed);
                parked.process().unpark();
                parked.join().unwrap();
            }
        });
    }
}

#[test]
fn many_unparkers_wake_once_each_round() {
    runtime(2).run(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let me = csp::current().unwrap();
        let bump = |_| {
            let (count, me) = (count.clone(), me.clone());
            csp::spawn(move || {
                count.fetch_add(1, Ordering::Relaxed);
                me.unpark();
            })
        };
        let all: Vec<_> = (0..100).map(bump).collect();
        while count.load(Ordering::Relaxed) < 100 {
            csp::park();
        }
        all.into_iter().for_each(|h| h.join().unwrap());
    });
}

#[test]
fn a_stale_handle_does_not_wake_the_blocks_next_process() {
    runtime(1).run(|| {
        let ended: Vec<Process> = (0..64)
            .map(|_| {
                let child = csp::spawn(|| ());
                let process = child.process();
                child.join().unwrap();
                process
            })
            .collect();
        // Its block has been used before, by one of those.
        let parked = csp::spawn(|| {
            let begun = Instant::now();
            csp::park_timeout(Duration::from_millis(10));
            begun.elapsed()
        });
        for _ in 0..100 {
            csp::yield_now();
            ended.iter().for_each(Process::unpark);
        }
        assert!(parked.join().unwrap() >= Duration::from_millis(10));
    });
}

#[test]
fn a_park_with_a_time_out_ends_either_way_and_leaves_no_token() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let begun = Instant::now();
            csp::park_timeout(Duration::from_millis(3));
            assert!(begun.elapsed() >= Duration::from_millis(3));
            let parked = csp::spawn(|| csp::park_timeout(Duration::from_secs(1000)));
            csp::yield_now();
            parked.process().unpark();
            parked.join().unwrap();
            let begun = Instant::now();
            csp::park_timeout(Duration::from_millis(2));
            assert!(begun.elapsed() >= Duration::from_millis(2), "the time-out left a token");
            csp::park_timeout(Duration::ZERO);
        });
    }
}

#[test]
fn time_outs_and_unparks_race_without_loss() {
    runtime(2).run(|| {
        for round in 0..2000_u64 {
            let flag = Arc::new(AtomicBool::new(false));
            let seen = flag.clone();
            let parked = csp::spawn_on(1, move || {
                while !seen.load(Ordering::Relaxed) {
                    csp::park_timeout(Duration::from_micros(round % 60));
                }
            });
            let process = parked.process();
            let waker = csp::spawn_on(0, move || {
                (0..round % 17).for_each(|_| csp::yield_now());
                flag.store(true, Ordering::Relaxed);
                process.unpark();
            });
            parked.join().unwrap();
            waker.join().unwrap();
        }
    });
}

#[test]
fn os_threads_park_as_std_does() {
    let begun = Instant::now();
    csp::park_timeout(Duration::from_millis(2));
    assert!(begun.elapsed() <= Duration::from_secs(1000));
    std::thread::current().unpark();
    csp::park();
    csp::yield_now();
}
