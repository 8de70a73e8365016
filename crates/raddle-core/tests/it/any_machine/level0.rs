//! What is counted without a trace: idle times, and how much waited, sampled as the program runs.

use crate::runtime;
use raddle::csp;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn what_waits_is_sampled_while_something_runs() {
    let rt = runtime(2);
    let stop = AtomicBool::new(false);
    rt.run(|| {
        csp::scope(|s| {
            for _ in 0..100 {
                s.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        csp::yield_now();
                    }
                });
            }
            while rt.loads().iter().any(|load| load.samples() < 3) {
                csp::yield_now();
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
    let loads = rt.loads();
    assert!(loads.iter().any(|load| load.most_ready > 10), "{loads:?}");
    assert!(loads.iter().all(|load| load.ready <= load.most_ready * load.samples()), "{loads:?}");
}

#[test]
fn the_histogram_of_idle_times_agrees_with_the_counters() {
    let rt = runtime(2);
    rt.run(|| (0..20).for_each(|_| csp::sleep(Duration::from_micros(200))));
    // A worker may be between the one count and the other: they agree as soon as both sleep.
    let agree = || {
        rt.stats().iter().zip(rt.idle_times()).all(|(stats, decades)| {
            let sum = decades.iter().fold((0, 0), |sum, d| (sum.0 + d.incidents, sum.1 + d.ns));
            sum == (stats.idle_incidents, stats.idle_ns)
        })
    };
    while !agree() {
        std::thread::yield_now();
    }
}
