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
/// comes for it: it has its turns all the same. So it has where each slice takes longer than that, and threads join the
/// batch after each.
#[test]
fn long_slices_do_not_keep_what_nobody_steals_from_running() {
    for (workers, slice_us) in [(1, 20), (2, 20), (1, 200), (2, 200)] {
        let slice = Duration::from_micros(slice_us);
        let _dog = Watchdog::new(format!("long slices, {workers} workers"), Progress::default(), || {
            String::from("the tasks starve")
        });
        runtime(workers).run(|| {
            let over = Arc::new(AtomicBool::new(false));
            let slices = |over: Arc<AtomicBool>| {
                move || {
                    while !over.load(Ordering::Relaxed) {
                        let begun = Instant::now();
                        while begun.elapsed() < slice {}
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

/// How those of a tree wait for their children.
#[derive(Clone, Copy, Debug)]
enum Waits {
    /// They join them in order.
    Joins,
    /// At the end of a scope.
    Scope,
}

/// A tree of `size` leaves, each node of which makes ten children. `[live, most]` counts who has begun and not ended.
fn tree(waits: Waits, size: usize, counts: &[AtomicUsize; 2]) -> usize {
    let live = counts[0].fetch_add(1, Ordering::Relaxed) + 1;
    counts[1].fetch_max(live, Ordering::Relaxed);
    let sum = AtomicUsize::new(usize::from(size == 1));
    if size > 1 {
        let child = || {
            sum.fetch_add(tree(waits, size / 10, counts), Ordering::Relaxed);
        };
        csp::scope(|s| {
            let children: Vec<_> = (0..10).map(|_| s.spawn(child)).collect();
            match waits {
                Waits::Joins => children.into_iter().for_each(|child| child.join().unwrap()),
                Waits::Scope => {}
            }
        });
    }
    counts[0].fetch_sub(1, Ordering::Relaxed);
    sum.into_inner()
}

/// Else all of a level would begin before any of the next: 1111 parents would wait at a time.
#[test]
fn a_tree_whose_parents_wait_for_their_children_is_walked_depth_first() {
    for workers in [1, 2] {
        for waits in [Waits::Joins, Waits::Scope] {
            let case = format!("{waits:?}, {workers} workers");
            let _dog = Watchdog::new(case.clone(), Progress::default(), String::new);
            let counts = [AtomicUsize::new(0), AtomicUsize::new(0)];
            let rt = runtime(workers);
            let begun = Instant::now();
            let sum = rt.run(|| tree(waits, 10_000, &counts));
            assert_eq!(sum, 10_000, "{case}");
            let most = counts[1].load(Ordering::Relaxed) as u128;
            // Once in half a millisecond one more branch, which is four deep, has its turn; and if a thief is at work.
            let bound = 100 + 4 * (begun.elapsed().as_micros() / 500);
            assert!(most < bound, "{case}: {most} at a time, not below {bound}");
        }
    }
}

/// Children of others who wait may be passed by, but not for ever: a server that joins one child after the other lets
/// its elder sister begin.
#[test]
fn who_is_passed_by_for_children_that_are_waited_for_has_its_turn() {
    let _dog = Watchdog::new(String::from("passed by"), Progress::default(), || String::from("it starves"));
    runtime(1).run(move || {
        let has_begun = Arc::new(AtomicBool::new(false));
        let seen = has_begun.clone();
        let server = csp::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                csp::spawn(|| ()).join().unwrap();
            }
        });
        let sister = csp::spawn(move || has_begun.store(true, Ordering::Relaxed));
        server.join().unwrap();
        sister.join().unwrap();
    });
}

/// Many of them soon have it, if they are no trees of their own: not only one now and then.
#[test]
fn many_that_are_passed_by_begin_while_few_are_waited_for() {
    const DETACHED: usize = 5000;
    let _dog =
        Watchdog::new(String::from("many passed by"), Progress::default(), || String::from("they starve"));
    runtime(1).run(move || {
        let begun = Arc::new(AtomicUsize::new(0));
        let seen = begun.clone();
        let server = csp::spawn(move || {
            let mut joined = 0;
            while seen.load(Ordering::Relaxed) < DETACHED {
                csp::spawn(|| ()).join().unwrap();
                joined += 1;
            }
            joined
        });
        for _ in 0..DETACHED {
            let begun = begun.clone();
            drop(csp::spawn(move || tick(&begun)));
        }
        let joined = server.join().unwrap();
        assert!(joined < 100 * DETACHED, "{joined} were joined before {DETACHED} others had begun");
    });
}

/// Nor do all of them hold a stack at once, if each waits for a child of its own, which stands behind all others.
#[test]
fn those_that_are_passed_by_and_join_a_child_end_as_they_begin() {
    const DETACHED: usize = 5000;
    let _dog =
        Watchdog::new(String::from("many that join"), Progress::default(), || String::from("they starve"));
    runtime(1).run(move || {
        let (ended, under_way, most) = <(Arc<AtomicUsize>, Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        let seen = ended.clone();
        let server = csp::spawn(move || {
            let mut joined = 0;
            while seen.load(Ordering::Relaxed) < DETACHED {
                csp::spawn(|| ()).join().unwrap();
                joined += 1;
            }
            joined
        });
        for _ in 0..DETACHED {
            let (ended, under_way, most) = (ended.clone(), under_way.clone(), most.clone());
            drop(csp::spawn(move || {
                most.fetch_max(under_way.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                csp::spawn(|| ()).join().unwrap();
                under_way.fetch_sub(1, Ordering::Relaxed);
                tick(&ended);
            }));
        }
        let joined = server.join().unwrap();
        assert!(joined < 100 * DETACHED, "{joined} were joined before {DETACHED} others had ended");
        let most = most.load(Ordering::Relaxed);
        assert!(most < DETACHED / 2, "{most} of {DETACHED} were under way at once");
    });
}

/// Who is not waited for is passed by by nobody: else a loop of one such and one that is joined would make more and
/// more of them.
#[test]
fn nobody_is_passed_by_who_is_not_waited_for() {
    type Makes = fn(&Arc<AtomicUsize>);
    let makes: [(&str, Makes); 4] = [
        ("a process", |begun| {
            let begun = begun.clone();
            drop(csp::spawn(move || tick(&begun)));
        }),
        ("a process of one that has ended", |begun| {
            let begun = begun.clone();
            csp::spawn(move || drop(csp::spawn(move || tick(&begun)))).join().unwrap();
        }),
        ("a task", |begun| {
            let begun = begun.clone();
            drop(task::spawn(async move { tick(&begun) }));
        }),
        ("a thread", |begun| {
            let begun = begun.clone();
            drop(raddle::thread::spawn(move || tick(&begun)));
        }),
    ];
    let waits: [(&str, fn()); 3] = [
        ("join", || csp::spawn(|| ()).join().unwrap()),
        ("scope", || csp::scope(|s| drop(s.spawn(|| ())))),
        ("tree", || {
            csp::spawn(|| (0..3).for_each(|_| csp::spawn(|| ()).join().unwrap())).join().unwrap();
        }),
    ];
    for (what, make) in makes {
        for (how, wait) in waits {
            let _dog = Watchdog::new(format!("{what}, {how}"), Progress::default(), String::new);
            runtime(1).run(move || {
                let begun = Arc::new(AtomicUsize::new(0));
                for made in 1..=3000 {
                    make(&begun);
                    wait();
                    let waiting = made - begun.load(Ordering::Relaxed);
                    assert!(waiting < 100, "{what}, {how}: {waiting} of {made} have not begun");
                }
            });
        }
    }
}

/// Children of one parent begin in the order in which they were spawned, whichever is waited for: one may even spin
/// until an elder one has done something.
#[test]
fn no_child_goes_before_an_elder_one() {
    let waits: [fn(csp::JoinHandle<()>); 2] =
        [|child| child.join().unwrap(), |child| csp::scope(|_| child.join().unwrap())];
    for (number, wait) in waits.into_iter().enumerate() {
        let _dog = Watchdog::new(format!("elder {number}"), Progress::default(), || String::from("it spins"));
        runtime(1).run(move || {
            csp::spawn(move || {
                let flag = Arc::new(AtomicBool::new(false));
                let (sets, spins) = (flag.clone(), flag);
                let elder = csp::spawn(move || sets.store(true, Ordering::Relaxed));
                wait(csp::spawn(move || while !spins.load(Ordering::Relaxed) {}));
                elder.join().unwrap();
            })
            .join()
            .unwrap();
        });
    }
}

/// A slice of 20 us, which is a long one.
fn compute() {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_micros(20) {
        std::hint::spin_loop();
    }
}

/// So many that compute and yield, each of which counts its slices, until it is over.
fn computing(count: usize, over: &Arc<AtomicBool>) -> (Vec<csp::JoinHandle<()>>, Vec<Arc<AtomicUsize>>) {
    let slices: Vec<Arc<AtomicUsize>> = (0..count).map(|_| Arc::default()).collect();
    let spawn = |slices: &Arc<AtomicUsize>| {
        let (slices, over) = (slices.clone(), over.clone());
        csp::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                compute();
                slices.fetch_add(1, Ordering::Relaxed);
                csp::yield_now();
            }
        })
    };
    (slices.iter().map(spawn).collect(), slices)
}

#[test]
fn who_is_woken_where_slices_are_long_has_the_next_turn() {
    runtime(1).run(|| {
        let (over, sleeper) = (Arc::new(AtomicBool::new(false)), csp::current().expect("a process"));
        let (burners, slices) = computing(4, &over);
        let all = || slices.iter().map(|slices| slices.load(Ordering::Relaxed)).sum::<usize>();
        let woken_at = Arc::new(AtomicUsize::new(usize::MAX));
        let waker = {
            let (over, woken_at, slices) = (over.clone(), woken_at.clone(), slices.clone());
            csp::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    if woken_at.load(Ordering::Relaxed) == usize::MAX {
                        let now = slices.iter().map(|slices| slices.load(Ordering::Relaxed)).sum();
                        woken_at.store(now, Ordering::Relaxed);
                        sleeper.unpark();
                    }
                    compute();
                    csp::yield_now();
                }
            })
        };
        let mut passed_by: Vec<usize> = (0..100)
            .map(|_| {
                csp::park();
                all() - woken_at.swap(usize::MAX, Ordering::Relaxed)
            })
            .collect();
        over.store(true, Ordering::Relaxed);
        burners.into_iter().chain([waker]).for_each(|process| process.join().expect("it does not panic"));
        passed_by.sort_unstable();
        assert_eq!(passed_by[50], 0, "others had a turn before who was woken: {passed_by:?}");
    });
}

#[test]
fn two_that_wake_each_other_for_ever_keep_nobody_waiting() {
    runtime(1).run(|| {
        let (over, rounds) = (Arc::new(AtomicBool::new(false)), 1000);
        let (burners, slices) = computing(3, &over);
        let (this, turn) = (csp::current().expect("a process"), Arc::new(AtomicUsize::new(0)));
        let echo = {
            let turn = turn.clone();
            csp::spawn(move || {
                for round in 0..rounds {
                    while turn.load(Ordering::Relaxed) != 2 * round + 1 {
                        csp::park();
                    }
                    compute();
                    turn.store(2 * round + 2, Ordering::Relaxed);
                    this.unpark();
                }
            })
        };
        for round in 0..rounds {
            compute();
            turn.store(2 * round + 1, Ordering::Relaxed);
            echo.process().unpark();
            while turn.load(Ordering::Relaxed) != 2 * round + 2 {
                csp::park();
            }
        }
        let slices: Vec<usize> = slices.iter().map(|slices| slices.load(Ordering::Relaxed)).collect();
        over.store(true, Ordering::Relaxed);
        burners.into_iter().chain([echo]).for_each(|process| process.join().expect("it does not panic"));
        assert!(slices.iter().all(|slices| *slices > rounds / 8), "{slices:?} slices beside {rounds} rounds");
    });
}

/// Not by a steal: who is idle looks out for it, and is given it.
#[test]
fn who_is_woken_behind_others_goes_to_a_worker_that_looks_out() {
    if std::thread::available_parallelism().map_or(1, usize::from) == 1 {
        return; // Nobody looks out who would take the processor from the other.
    }
    let runtime = runtime(2);
    let _dog =
        Watchdog::new(String::from("looks out"), Progress::default(), || String::from("nobody is given"));
    let handed_over = || runtime.stats().iter().map(|worker| worker.handed_over).sum::<u64>();
    while handed_over() == 0 {
        runtime.run(|| {
            let woken = Arc::new(AtomicUsize::new(0));
            let all: Vec<_> = (0..4)
                .map(|_| {
                    let woken = woken.clone();
                    csp::spawn(move || {
                        for _ in 0..50 {
                            csp::park();
                            compute();
                            woken.fetch_add(1, Ordering::Relaxed);
                        }
                    })
                })
                .collect();
            while woken.load(Ordering::Relaxed) < 200 {
                all.iter().for_each(|one| one.process().unpark());
                compute();
                csp::yield_now();
            }
            all.into_iter().for_each(|one| one.join().expect("it does not panic"));
        });
    }
}
