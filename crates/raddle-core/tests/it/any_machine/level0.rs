//! What is counted without a trace: idle times, and how much waited, sampled as the program runs.

use crate::runtime;
use crate::watch::{Progress, Watchdog};
use raddle::csp;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn what_waits_is_sampled_while_something_runs() {
    let rt = Arc::new(runtime(2));
    let of_dog = rt.clone();
    let _dog = Watchdog::new("samples".into(), Progress::default(), move || format!("{:?}", of_dog.loads()));
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
            // All samples so far may be of a time in which their spawner had no processor.
            let is_sampled = |loads: Vec<raddle::Load>| {
                loads.iter().all(|load| load.samples() >= 3) && loads.iter().any(|load| load.most_ready > 10)
            };
            while !is_sampled(rt.loads()) {
                csp::yield_now();
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
    let loads = rt.loads();
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
