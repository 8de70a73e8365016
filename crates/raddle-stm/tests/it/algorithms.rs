//! What each algorithm promises, and that they share variables.

use crate::runtime;
use raddle::{csp, task};
use raddle_stm::{Algorithm, TVar, atomically, read_only};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const ALL: [Algorithm; 3] = [Algorithm::Versioned, Algorithm::Norec, Algorithm::Pessimistic];

#[test]
fn a_counter_of_all_kinds_is_right() {
    let counter = TVar::new(0);
    std::thread::scope(|scope| {
        for number in 0..12 {
            let counter = &counter;
            scope.spawn(move || {
                (0..300).for_each(|_| ALL[number % 3].atomically(|tx| tx.modify(counter, |n| n + 1)));
            });
        }
    });
    assert_eq!(counter.load(), 12 * 300);
}

/// So often a transaction by `by` runs that reads two variables, if `between` runs between the two reads of its first
/// attempt.
fn runs(by: Algorithm, read: [&TVar<u64>; 2], written: &TVar<u64>, between: impl FnOnce() + Send) -> usize {
    let (mut runs, mut between) = (0, Some(between));
    by.atomically(|tx| {
        runs += 1;
        let first = tx.read(read[0])?;
        if let Some(between) = between.take() {
            std::thread::scope(|scope| scope.spawn(between).join().unwrap());
        }
        let second = tx.read(read[1])?;
        tx.write(written, first + second)
    });
    runs
}

#[test]
fn a_value_that_was_written_again_is_no_conflict_by_value() {
    let (x, y, sum) = (TVar::new(1), TVar::new(2), TVar::new(0));
    let rewrite = || {
        x.store(5);
        x.store(1);
        y.store(3);
    };
    assert_eq!(runs(Algorithm::Norec, [&x, &y], &sum, rewrite), 1);
    assert_eq!(sum.load(), 4);
    let change = || {
        x.store(5);
        y.store(4);
    };
    assert_eq!(runs(Algorithm::Norec, [&x, &y], &sum, change), 2);
    assert_eq!(sum.load(), 9);
    assert_eq!(runs(Algorithm::Versioned, [&x, &y], &sum, rewrite), 2);
}

/// A box is not compared by what is in it.
#[test]
fn a_box_that_was_replaced_is_a_conflict() {
    let (text, other) = (TVar::new("a".to_owned()), TVar::new(0));
    let mut runs = 0;
    Algorithm::Norec.atomically(|tx| {
        runs += 1;
        let length = tx.with(&text, String::len)?;
        if runs == 1 {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    text.store("a".to_owned());
                    other.store(1);
                });
            });
        }
        tx.modify(&other, |n| n + length)
    });
    assert_eq!((runs, other.load()), (2, 2));
}

/// Others read what it keeps, and wait to write it.
#[test]
fn what_is_reserved_is_read_by_others_and_written_later() {
    let (x, y) = (TVar::new(1), TVar::new(1));
    let mut runs = 0;
    let is_written = AtomicBool::new(false);
    std::thread::scope(|scope| {
        Algorithm::Pessimistic.atomically(|tx| {
            runs += 1;
            let there = tx.read(&x)?;
            if runs == 1 {
                scope.spawn(|| {
                    x.store(10);
                    is_written.store(true, Ordering::Relaxed);
                });
            }
            let read =
                std::thread::scope(|scope| scope.spawn(|| read_only(|tx| tx.read(&x))).join().unwrap());
            assert_eq!(read, 1);
            std::thread::sleep(Duration::from_millis(20));
            assert!(!is_written.load(Ordering::Relaxed), "it was written while it was reserved");
            tx.write(&y, there + 1)
        });
    });
    assert_eq!((runs, x.load(), y.load()), (1, 10, 2));
}

/// Each reserves the one and then the other, in the two orders.
#[test]
fn two_that_want_what_the_other_has_both_come_through() {
    let (x, y) = (TVar::new(0), TVar::new(0));
    std::thread::scope(|scope| {
        for number in 0..4 {
            let (first, second) = if number % 2 == 0 { (&x, &y) } else { (&y, &x) };
            scope.spawn(move || {
                for _ in 0..200 {
                    Algorithm::Pessimistic.atomically(|tx| {
                        tx.modify(first, |n| n + 1)?;
                        std::thread::yield_now();
                        tx.modify(second, |n| n + 1)
                    });
                }
            });
        }
    });
    assert_eq!((x.load(), y.load()), (800, 800));
}

/// On one worker, where who waits must leave it to who has what it waits for.
#[test]
fn processes_that_give_way_inside_come_through() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let counters = [TVar::new(0), TVar::new(0), TVar::new(0)];
            let one = |number: usize| {
                let counters = counters.clone();
                move || {
                    for round in 0..40 {
                        ALL[(number + round) % 3].atomically(|tx| {
                            for at in 0..3 {
                                tx.modify(&counters[(number + at) % 3], |n| n + 1)?;
                                csp::yield_now();
                            }
                            Ok(())
                        });
                    }
                }
            };
            let all: Vec<_> = (0..12).map(|number| csp::spawn(one(number))).collect();
            all.into_iter().for_each(|process| process.join().unwrap());
            counters.iter().for_each(|counter| assert_eq!(counter.load(), 12 * 40));
        });
    }
}

#[test]
fn a_retry_gives_back_what_was_reserved_and_is_woken() {
    let (ready, seen) = (TVar::new(0), TVar::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            Algorithm::Pessimistic.atomically(|tx| {
                let n = tx.read(&ready)?;
                tx.write(&seen, n)?;
                tx.check(n == 3)
            });
        });
        for n in 1..=3 {
            std::thread::sleep(Duration::from_millis(2));
            ready.store(n);
        }
    });
    assert_eq!(seen.load(), 3);
}

/// What was read in a branch that was rolled back belongs to what is waited for.
#[test]
fn a_branch_that_was_rolled_back_is_waited_for() {
    let (left, right) = (TVar::new(0), TVar::new(0));
    let taken = std::thread::scope(|scope| {
        let taker = scope.spawn(|| {
            Algorithm::Pessimistic.atomically(|tx| {
                tx.or_else(
                    |tx| {
                        tx.write(&left, 7)?;
                        tx.retry()
                    },
                    |tx| {
                        let n = tx.read(&left)?;
                        tx.check(n == 1)?;
                        tx.write(&right, n + 1)?;
                        Ok(n)
                    },
                )
            })
        });
        std::thread::sleep(Duration::from_millis(5));
        left.store(1);
        taker.join().unwrap()
    });
    assert_eq!((taken, left.load(), right.load()), (1, 1, 2));
}

/// It does not wait for itself; and what it has read was changed.
#[test]
fn who_writes_inside_what_is_reserved_has_it_run_again() {
    for inner in ALL {
        let (x, y) = (TVar::new(1), TVar::new(0));
        let mut runs = 0;
        Algorithm::Pessimistic.atomically(|tx| {
            runs += 1;
            let there = tx.read(&x)?;
            if runs == 1 {
                inner.atomically(|tx| tx.modify(&x, |n| n + 1));
            }
            tx.write(&y, there)
        });
        assert_eq!((runs, x.load(), y.load()), (2, 2, 2), "{inner:?}");
    }
}

/// It goes where a token and a seal are wanted, too.
#[test]
fn an_irrevocable_one_and_one_that_reserves_do_not_wait_for_each_other() {
    let x = TVar::new(0);
    let irrevocably = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..100 {
                atomically(|tx| {
                    tx.irrevocable()?;
                    irrevocably.fetch_add(1, Ordering::Relaxed);
                    tx.modify(&x, |n| n + 1)
                });
            }
        });
        for by in [Algorithm::Pessimistic, Algorithm::Pessimistic, Algorithm::Versioned] {
            let x = &x;
            scope.spawn(move || {
                for _ in 0..100 {
                    by.atomically(|tx| {
                        let n = tx.read(x)?;
                        std::thread::yield_now();
                        tx.write(x, n + 1)
                    });
                }
            });
        }
        scope.spawn(|| {
            Algorithm::Pessimistic.atomically(|tx| {
                tx.irrevocable()?;
                tx.modify(&x, |n| n + 1)
            })
        });
    });
    assert_eq!((x.load(), irrevocably.load(Ordering::Relaxed)), (401, 100));
}

#[test]
fn a_panic_gives_back_what_was_reserved() {
    let x = TVar::new(1);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        Algorithm::Pessimistic.atomically(|tx| {
            tx.write(&x, 2)?;
            if x.load() == 1 { panic!("on purpose") } else { Ok(()) }
        });
    }));
    assert!(panicked.is_err());
    std::thread::scope(|scope| drop(scope.spawn(|| x.store(3))));
    assert_eq!(x.load(), 3);
}

/// Who waits for what another has reserved leaves by its cancellation, and what it had itself is given back.
#[test]
fn a_cancellation_ends_the_wait_for_what_is_reserved() {
    runtime(2).run(|| {
        let (kept, own) = (TVar::new(0), TVar::new(0));
        Algorithm::Pessimistic.atomically(|tx| {
            tx.read(&kept)?;
            let (kept, own) = (kept.clone(), own.clone());
            let other = csp::spawn(move || {
                raddle::cancel::within(Duration::from_millis(20), || {
                    Algorithm::Versioned.atomically(|tx| {
                        tx.modify(&own, |n| n + 1)?;
                        tx.modify(&kept, |n| n + 1)
                    });
                })
                .is_err()
            });
            assert!(other.join().unwrap(), "it was not cancelled");
            Ok(())
        });
        std::thread::scope(|scope| drop(scope.spawn(|| own.store(5))));
        assert_eq!((kept.load(), own.load()), (0, 5));
    });
}

/// A task must not wait: its own is by versions, and one that writes what is reserved is polled again.
#[test]
fn tasks_do_not_reserve_and_come_through() {
    let rt = runtime(2);
    rt.run(|| {
        let counter = TVar::new(0);
        let keeper = {
            let counter = counter.clone();
            csp::spawn(move || {
                for _ in 0..50 {
                    Algorithm::Pessimistic.atomically(|tx| {
                        tx.modify(&counter, |n| n + 1)?;
                        csp::yield_now();
                        Ok(())
                    });
                }
            })
        };
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                let counter = counter.clone();
                task::spawn(async move {
                    for _ in 0..50 {
                        Algorithm::Pessimistic.atomically(|tx| tx.modify(&counter, |n| n + 1));
                        task::yield_now().await;
                    }
                })
            })
            .collect();
        keeper.join().unwrap();
        tasks.into_iter().for_each(|task| task::block_on(task).unwrap());
        assert_eq!(counter.load(), 5 * 50);
    });
}

/// What is dropped then is no wait for others.
#[test]
fn who_rolls_a_part_back_keeps_what_it_has_reserved() {
    let (x, text) = (TVar::new(1), TVar::new(String::new()));
    let mut runs = 0;
    std::thread::scope(|scope| {
        Algorithm::Pessimistic.atomically(|tx| {
            runs += 1;
            let n = tx.read(&x)?;
            if runs == 1 {
                scope.spawn(|| x.store(10));
            }
            for _ in 0..20 {
                std::thread::sleep(Duration::from_millis(1));
                tx.or_else(
                    |tx| {
                        tx.write(&text, "rolled back".to_owned())?;
                        tx.on_abort(|| std::thread::sleep(Duration::from_millis(1)));
                        tx.retry()
                    },
                    |_| Ok(()),
                )?;
                assert_eq!(tx.read(&x)?, n);
            }
            Ok(())
        });
    });
    assert_eq!((runs, x.load()), (1, 10));
}
