//! `par!`, `par_for`, barriers and shared ends.

use crate::runtime;
use raddle::csp::{self, Barrier, Shared};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn branches_borrow_run_concurrently_and_return() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let (mut there, mut from_there) = csp::channel();
            let (mut back, mut from_back) = csp::channel();
            let mut log = String::new();
            let ((), answer, length, _) = csp::par!(
                back.send(from_there.recv().unwrap() + 1).unwrap(),
                {
                    there.send(1).unwrap();
                    from_back.recv().unwrap()
                },
                {
                    log.push_str("text");
                    log.len()
                },
                csp::yield_now(),
            );
            assert_eq!((answer, length, log.as_str()), (2, 4, "text"));
            assert_eq!(csp::par!(7), (7,));
        });
    }
    assert_eq!(csp::par!(1, "two"), (1, "two"), "also on an OS thread");
}

#[test]
fn a_panic_goes_on_when_all_have_ended() {
    runtime(1).run(|| {
        let ended = AtomicBool::new(false);
        let late = || {
            csp::yield_now();
            ended.store(true, Ordering::Relaxed);
        };
        let text = |r: Result<_, Box<dyn std::any::Any + Send>>| {
            *r.map(drop).unwrap_err().downcast::<&str>().unwrap()
        };
        let first = catch_unwind(AssertUnwindSafe(|| csp::par!(panic!("first"), late())));
        assert_eq!(text(first), "first");
        assert!(ended.swap(false, Ordering::Relaxed));
        let last = catch_unwind(AssertUnwindSafe(|| csp::par!(late(), panic!("last"))));
        assert_eq!(text(last), "last");
        assert!(ended.swap(false, Ordering::Relaxed));
        let runs = AtomicUsize::new(0);
        let one = catch_unwind(AssertUnwindSafe(|| {
            csp::par_for(0..100, |n| {
                runs.fetch_add(1, Ordering::Relaxed);
                assert_ne!(n, 50, "fifty");
            });
        }));
        assert!(one.is_err());
        assert_eq!(runs.into_inner(), 100, "the others run");
    });
}

#[test]
fn what_nobody_has_started_the_caller_runs() {
    let rt = runtime(1);
    rt.run(|| {
        let me = || csp::current().map(|process| process.id());
        let (first, last) = csp::par!(me(), me());
        // There the variables of a process are not on its stack, and it knows of no room there.
        assert!(first == last || cfg!(any(raddle_twin, raddle_asan)));
        let (first, last) = csp::par!(me(), {
            csp::yield_now();
            me()
        });
        assert_ne!(first, last, "it was started when the other waited");
        let (mut to, mut from) = csp::channel();
        let taker = csp::spawn(move || (0..10).map(|_| from.recv().unwrap()).sum::<usize>());
        (0..10).for_each(|n| assert_eq!(csp::par!(to.send(n), ()), (Ok(()), ())));
        assert_eq!(taker.join().unwrap(), 45, "a branch that was taken back may wait");
    });
    assert_eq!(rt.shutdown(), 0);
}

/// Each level takes a little of a stack, until the next goes to one of its own.
#[test]
fn branches_nest_deeply() {
    fn down(levels: usize) -> usize {
        if levels == 0 { 0 } else { 1 + csp::par!(down(levels - 1), ()).0 }
    }
    for workers in [1, 2] {
        assert_eq!(runtime(workers).run(|| down(2000)), 2000);
    }
}

#[test]
fn a_branch_has_its_stack_also_if_its_callers_is_small() {
    fn wide() -> u8 {
        let room = [7; 40 * 1024];
        std::hint::black_box(&room)[1]
    }
    runtime(1).run(|| {
        let small = csp::Builder::new().stack_size(16 * 1024).spawn(|| csp::par!(wide(), ()).0);
        assert_eq!(small.unwrap().join().unwrap(), 7);
    });
}

#[test]
fn branches_that_never_wait_leave_the_others_their_turn() {
    runtime(1).run(|| {
        let had_its_turn = AtomicBool::new(false);
        csp::scope(|s| {
            s.spawn(|| {
                csp::yield_now();
                csp::yield_now();
                had_its_turn.store(true, Ordering::Relaxed);
            });
            csp::yield_now();
            let rounds = (0..100_000).take_while(|_| {
                csp::par!((), ());
                !had_its_turn.load(Ordering::Relaxed)
            });
            assert!(rounds.count() < 100_000);
        });
    });
}

#[test]
fn every_index_runs_once() {
    for workers in [1, 2, 4] {
        let rt = runtime(workers);
        rt.run(|| {
            for length in [0, 1, 2, 3, 1000, 100_000] {
                let ran: Vec<AtomicUsize> = (0..length).map(|_| AtomicUsize::new(0)).collect();
                csp::par_for(10..10 + length, |n| {
                    ran[n - 10].fetch_add(1, Ordering::Relaxed);
                    if n % 1000 == 0 {
                        csp::yield_now();
                    }
                });
                assert!(ran.iter().all(|n| n.load(Ordering::Relaxed) == 1), "of {length}");
            }
            let reversed = AtomicUsize::new(0);
            #[allow(clippy::reversed_empty_ranges, reason = "that is what is tested")]
            csp::par_for(5..3, |_| {
                reversed.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(reversed.into_inner(), 0);
        });
        assert_eq!(rt.shutdown(), 0);
    }
}

/// Each replica waits for the one after it: all must run concurrently.
#[test]
fn replicas_may_wait_for_each_other() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let count = 500;
            let (ends, froms): (Vec<_>, Vec<_>) = (0..=count).map(|_| csp::channel::<usize>()).unzip();
            let mut to: Vec<_> = ends.into_iter().map(|e| std::sync::Mutex::new(Some(e))).collect();
            let from: Vec<_> = froms.into_iter().map(|e| std::sync::Mutex::new(Some(e))).collect();
            let mut first = to[count].get_mut().unwrap().take().unwrap();
            let mut last = from[0].lock().unwrap().take().unwrap();
            let take = |m: &std::sync::Mutex<Option<_>>| m.lock().unwrap().take().unwrap();
            let take_from = |m: &std::sync::Mutex<Option<_>>| m.lock().unwrap().take().unwrap();
            csp::par!(
                csp::par_for(0..count, |n| {
                    let (mut to, mut from): (csp::Sender<usize>, csp::Receiver<usize>) =
                        (take(&to[n]), take_from(&from[n + 1]));
                    (0..3).for_each(|_| to.send(from.recv().unwrap() + 1).unwrap());
                }),
                (0..3).for_each(|n| first.send(n * 1000).unwrap()),
                (0..3).for_each(|n| assert_eq!(last.recv(), Ok(n * 1000 + count)))
            );
        });
    }
}

/// Where something else is fresh at each quantum, those that are to start later have their turn, too.
#[test]
fn replicas_have_their_turn_beside_those_that_spawn_without_end() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let over = AtomicBool::new(false);
            let spawns = || {
                let begun = std::time::Instant::now();
                while !over.load(Ordering::Relaxed) {
                    drop(csp::spawn(|| ()));
                    csp::yield_now();
                    assert!(begun.elapsed() < Duration::from_secs(60), "a replica never begins");
                }
            };
            csp::scope(|s| {
                for _ in 0..2 * workers {
                    s.spawn(spawns);
                }
                let met = raddle::sync::Barrier::new(2);
                csp::par_for(0..2, |_| {
                    met.wait();
                });
                over.store(true, Ordering::Relaxed);
            });
        });
    }
}

#[test]
fn an_os_thread_replicates_too() {
    let sum = AtomicUsize::new(0);
    csp::par_for(0..1000, |n| {
        sum.fetch_add(n, Ordering::Relaxed);
    });
    assert_eq!(sum.into_inner(), 499_500);
}

#[test]
fn phases_do_not_overlap() {
    for workers in [1, 2, 4] {
        runtime(workers).run(|| {
            let members = 8;
            let at = AtomicUsize::new(0);
            let first = Barrier::new();
            csp::scope(|s| {
                for mut member in (0..members).map(|_| first.enrol()) {
                    let at = &at;
                    s.spawn(move || {
                        for phase in 0..200 {
                            // All of this phase, none of the next.
                            let seen = at.fetch_add(1, Ordering::Relaxed);
                            assert_eq!(seen / members, phase);
                            member.sync();
                        }
                    });
                }
                drop(first);
            });
        });
    }
}

#[test]
fn members_come_and_go() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let mut first = Barrier::new();
            assert_eq!(first.members(), 1);
            first.sync();
            let all = catch_unwind(AssertUnwindSafe(|| {
                csp::scope(|s| {
                    for n in 0..20 {
                        let mut member = first.enrol();
                        s.spawn(move || {
                            for m in 0..n {
                                member.sync();
                                if m == 3 {
                                    let mut child = member.enrol();
                                    csp::spawn(move || (0..5).for_each(|_| child.sync()));
                                }
                            }
                            // Resigns; the last by a panic.
                            assert!(n < 19, "on purpose");
                        });
                    }
                    for _ in 0..40 {
                        first.sync();
                    }
                })
            }));
            assert!(all.is_err(), "one of them panicked");
        });
    }
}

#[test]
fn a_claimed_end_is_its_holders_alone() {
    for workers in [1, 2] {
        let rt = runtime(workers);
        rt.run(|| {
            let (to, mut from) = csp::channel::<(usize, usize)>();
            let to = Shared::new(to);
            let all: Vec<_> = (0..10)
                .map(|who| {
                    let to = to.clone();
                    csp::spawn(move || {
                        for _ in 0..20 {
                            let mut claimed = to.claim();
                            (0..3).for_each(|n| claimed.send((who, n)).unwrap());
                        }
                    })
                })
                .collect();
            drop(to);
            let mut count = 0;
            while let Ok((who, 0)) = from.recv() {
                assert_eq!([from.recv(), from.recv()], [Ok((who, 1)), Ok((who, 2))]);
                count += 1;
            }
            assert_eq!(count, 200);
            all.into_iter().for_each(|h| h.join().unwrap());
        });
        assert_eq!(rt.shutdown(), 0);
    }
}

#[test]
fn claims_are_given_in_the_order_of_asking() {
    runtime(1).run(|| {
        let shared = Shared::new(Vec::new());
        let mut held = shared.claim();
        assert!(shared.try_claim().is_none());
        let all: Vec<_> = (0..50)
            .map(|n| {
                let asker = csp::spawn({
                    let shared = shared.clone();
                    move || shared.claim().push(n)
                });
                csp::yield_now();
                asker
            })
            .collect();
        held.push(100);
        drop(held);
        all.into_iter().for_each(|h| h.join().unwrap());
        let order = shared.claim();
        assert_eq!(order[0], 100);
        assert!(order[1..].is_sorted(), "{order:?}");
    });
}

/// A member whose deadline has passed has come all the same: phases do not overlap, whoever gives up and comes back.
#[test]
fn a_barrier_with_deadlines_keeps_its_phases() {
    const MEMBERS: usize = 4;
    const PHASES: usize = 200;
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let counts: Vec<_> = (0..PHASES).map(|_| AtomicUsize::new(0)).collect();
            csp::scope(|s| {
                let first = Barrier::new();
                for (who, mut member) in (0..MEMBERS).map(|_| first.enrol()).enumerate() {
                    let counts = &counts;
                    s.spawn(move || {
                        for (phase, count) in counts.iter().enumerate() {
                            count.fetch_add(1, Ordering::Relaxed);
                            match (phase + who) % 3 {
                                0 => member.sync(),
                                1 => while !member.sync_timeout(Duration::ZERO) {},
                                _ => {
                                    let _came = member.sync_timeout(Duration::from_micros(20)) || {
                                        member.sync();
                                        true
                                    };
                                }
                            }
                            assert_eq!(count.load(Ordering::Relaxed), MEMBERS, "phase {phase} ended early");
                        }
                    });
                }
            });
        });
    }
}

#[test]
fn a_member_that_has_come_may_resign() {
    let mut barrier = Barrier::new();
    let mut second = barrier.enrol();
    let mut third = barrier.enrol();
    assert!(!second.sync_timeout(Duration::from_micros(10)));
    drop(second);
    assert_eq!(barrier.members(), 2);
    assert!(!third.sync_timeout(Duration::from_micros(10)), "the first has not come");
    barrier.sync();
    // The phase has ended; the third has not seen it, and is missing from the next.
    drop(third);
    barrier.sync();
    assert_eq!(barrier.members(), 1);
}

#[test]
fn claims_with_deadlines_are_given_up_or_had() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let shared = Shared::new(0_usize);
            let all: Vec<_> = (0..8)
                .map(|who| {
                    let shared = shared.clone();
                    csp::spawn(move || {
                        let mut had = 0;
                        for round in 0..100 {
                            let moment = Duration::from_micros((who + round) % 40);
                            let Some(mut claimed) = shared.claim_timeout(moment) else { continue };
                            let before = *claimed;
                            csp::yield_now();
                            *claimed = before + 1;
                            had += 1;
                        }
                        had
                    })
                })
                .collect();
            let had: usize = all.into_iter().map(|h| h.join().unwrap()).sum();
            assert_eq!(*shared.claim(), had);
        });
    }
}

#[test]
fn a_holder_that_panics_lets_the_next_one_have_it() {
    runtime(1).run(|| {
        let shared = Shared::new(1);
        let (panics, next) = (shared.clone(), shared.clone());
        let panics = csp::spawn(move || {
            let _claimed = panics.claim();
            csp::yield_now();
            panic!("on purpose, with a claimed end");
        });
        let next = csp::spawn(move || *next.claim());
        assert!(panics.join().is_err());
        assert_eq!(next.join().unwrap(), 1);
    });
}

#[test]
fn what_bodies_panicked_with_may_wait_as_it_is_dropped() {
    struct Waits;
    impl Drop for Waits {
        fn drop(&mut self) {
            csp::yield_now();
        }
    }
    runtime(1).run(|| {
        let bodies = AssertUnwindSafe(|| {
            csp::par_for(0..8, |_| {
                csp::yield_now();
                std::panic::panic_any(Waits);
            });
        });
        assert!(catch_unwind(bodies).unwrap_err().is::<Waits>());
    });
}
