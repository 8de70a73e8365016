//! Nobody who is ready waits for ever.

use crate::runtime;
use crate::watch::{Progress, Watchdog};
use raddle::csp::{self, Process};
use raddle::task;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// Two processes on one worker that wake each other until they are told to stop.
fn ping_pong(stop: &Arc<AtomicBool>) -> [csp::JoinHandle<()>; 2] {
    let (give, take) = mpsc::channel::<Process>();
    let (first_stop, second_stop) = (stop.clone(), stop.clone());
    let first = csp::spawn(move || {
        let peer = take.recv().unwrap();
        while !first_stop.load(Ordering::Relaxed) {
            peer.unpark();
            csp::park();
        }
        peer.unpark();
    });
    let peer = first.process();
    let second = csp::spawn(move || {
        while !second_stop.load(Ordering::Relaxed) {
            peer.unpark();
            csp::park();
        }
        peer.unpark();
    });
    give.send(second.process()).unwrap();
    [first, second]
}

fn tick(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn a_ping_pong_pair_starves_neither_the_fresh_nor_alarms_nor_what_is_injected() {
    let rt = runtime(1);
    let stop = Arc::new(AtomicBool::new(false));
    let seen = stop.clone();
    rt.run(move || ping_pong(&seen).map(drop));
    // Injected, while the pair runs.
    rt.run(|| {
        // Fresh, while the pair runs, and an alarm.
        csp::spawn(|| ()).join().unwrap();
        csp::sleep(Duration::from_millis(1));
        task::block_on(async { task::spawn(task::yield_now()).await.unwrap() });
    });
    stop.store(true, Ordering::Relaxed);
    assert_eq!(rt.shutdown(), 0);
}

/// Neither worker is idle: one yields in a loop, the other is in an endless slice, behind which wait those that the
/// first one waits for.
#[test]
fn what_waits_behind_an_endless_slice_is_taken_by_a_worker_that_only_yields() {
    let _dog = Watchdog::new(String::from("yielding"), Progress::default(), || String::from("they starve"));
    runtime(2).run(|| {
        let ended = Arc::new(AtomicUsize::new(0));
        let all = ended.clone();
        let endless = csp::spawn_on(1, move || {
            let one = |all: Arc<AtomicUsize>| csp::spawn(move || tick(&all));
            let waiting: Vec<_> = (0..4).map(|_| one(all.clone())).collect();
            while all.load(Ordering::Relaxed) < 4 {
                std::hint::spin_loop();
            }
            waiting.into_iter().for_each(|one| one.join().unwrap());
        });
        let yields = csp::spawn_on(0, move || {
            while ended.load(Ordering::Relaxed) < 4 {
                csp::yield_now();
            }
        });
        yields.join().unwrap();
        endless.join().unwrap();
    });
}

#[test]
fn two_that_yield_take_turns() {
    runtime(1).run(|| {
        let turns = Arc::new([const { AtomicUsize::new(0) }; 2]);
        let yielder = |me: usize| {
            let turns = turns.clone();
            csp::spawn(move || {
                turns[me].fetch_add(1, Ordering::Relaxed);
                // A fresh one waits for up to a quantum behind one that yields.
                while turns.iter().any(|t| t.load(Ordering::Relaxed) == 0) {
                    csp::yield_now();
                }
                for _ in 0..10_000 {
                    turns[me].fetch_add(1, Ordering::Relaxed);
                    csp::yield_now();
                    let both = [0, 1].map(|n| turns[n].load(Ordering::Relaxed));
                    assert!(both[0].abs_diff(both[1]) <= 2 || both.contains(&10_001), "{both:?}");
                }
            })
        };
        [0, 1].map(yielder).into_iter().for_each(|h| h.join().unwrap());
    });
}

#[test]
fn injection_does_not_starve_what_is_local() {
    let rt = Arc::new(runtime(1));
    let stop = Arc::new(AtomicBool::new(false));
    let injectors: Vec<_> = (0..2)
        .map(|_| {
            let (rt, stop) = (rt.clone(), stop.clone());
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    rt.run(|| ());
                }
            })
        })
        .collect();
    rt.run(|| {
        for _ in 0..1000 {
            csp::spawn(csp::yield_now).join().unwrap();
        }
    });
    stop.store(true, Ordering::Relaxed);
    injectors.into_iter().for_each(|i| i.join().unwrap());
}

#[test]
fn tasks_that_always_wake_themselves_starve_nobody() {
    let rt = runtime(1);
    let stop = Arc::new(AtomicBool::new(false));
    rt.run(|| {
        for _ in 0..3 {
            let stop = stop.clone();
            drop(task::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    task::yield_now().await;
                }
            }));
        }
        csp::spawn(|| csp::sleep(Duration::from_micros(100))).join().unwrap();
    });
    rt.run(|| ());
    stop.store(true, Ordering::Relaxed);
    assert_eq!(rt.shutdown(), 0);
}

#[test]
fn a_yield_with_nobody_else_returns() {
    runtime(1).run(|| (0..100_000).for_each(|_| csp::yield_now()));
}

/// A round of the batch takes longer than the quantum after which what is movable is laid out for thieves, and nobody
/// comes for it: it has its turns all the same.
#[test]
fn long_slices_do_not_keep_what_nobody_steals_from_running() {
    const SLICE: Duration = Duration::from_micros(20);
    for workers in [1, 2] {
        let _dog = Watchdog::new(format!("long slices, {workers} workers"), Progress::default(), || {
            String::from("the tasks starve")
        });
        runtime(workers).run(|| {
            let over = Arc::new(AtomicBool::new(false));
            let slices = |over: Arc<AtomicBool>| {
                move || {
                    while !over.load(Ordering::Relaxed) {
                        let begun = Instant::now();
                        while begun.elapsed() < SLICE {}
                        csp::yield_now();
                    }
                }
            };
            let busy: Vec<_> = (0..20).map(|_| csp::spawn(slices(over.clone()))).collect();
            let yields = || async {
                for _ in 0..20 {
                    task::yield_now().await;
                }
            };
            let tasks = [task::spawn(yields()), task::spawn(yields()), task::spawn(yields())];
            for task in tasks {
                task::block_on(task).unwrap();
            }
            over.store(true, Ordering::Relaxed);
            busy.into_iter().for_each(|process| process.join().unwrap());
        });
    }
}
