//! What jobs see of the OS threads of their pool: what the program has prepared there, and one thread for a job's life.

use super::*;
use jobs::ThreadPoolBuilder;
use raddle::{cancel, csp};
use std::cell::Cell;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

thread_local! {
    static PREPARED: Cell<usize> = const { Cell::new(0) };
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Each OS thread of the pool gets its number plus 1.
fn prepared(threads: usize) -> jobs::ThreadPool {
    let mark = |index| PREPARED.set(index + 1);
    ThreadPoolBuilder::new().num_threads(threads).start_handler(mark).build().unwrap()
}

fn is_at_home() {
    assert_eq!(Some(PREPARED.get()), jobs::current_thread_index().map(|index| index + 1));
}

#[test]
fn jobs_see_what_a_start_handler_has_set() {
    for threads in [1, 2, 3] {
        let pool = prepared(threads);
        pool.install(is_at_home);
        pool.broadcast(|_| is_at_home());
        pool.scope(|s| (0..100).for_each(|_| s.spawn(|_| is_at_home())));
        let (tell, told) = mpsc::channel();
        pool.spawn(move || {
            is_at_home();
            tell.send(()).unwrap();
        });
        told.recv().unwrap();
    }
}

fn tree(depth: usize) -> usize {
    is_at_home();
    if depth == 0 {
        return 1;
    }
    let here = (PREPARED.get(), jobs::current_thread_index());
    let (a, b) = jobs::join(|| tree(depth - 1), || tree(depth - 1));
    assert_eq!(here, (PREPARED.get(), jobs::current_thread_index()));
    a + b
}

#[test]
fn a_job_that_joins_comes_back_to_its_thread() {
    for threads in [1, 2, 4] {
        let pool = prepared(threads);
        for _ in 0..20 {
            assert_eq!(pool.install(|| tree(8)), 256);
        }
    }
}

/// As a scoped variable does: what one job has set is put back before the one below it goes on.
fn deeper(n: usize) {
    let before = DEPTH.replace(DEPTH.get() + 1);
    let at = DEPTH.get();
    if n > 0 {
        jobs::scope(|s| (0..3).for_each(|_| s.spawn(move |_| deeper(n - 1))));
        let (_, ()) = jobs::join(jobs::yield_now, || deeper(0));
    }
    assert_eq!(DEPTH.replace(before), at);
}

#[test]
fn what_shares_a_thread_is_nested() {
    for threads in [1, 2, 4] {
        let pool = prepared(threads);
        (0..20).for_each(|_| pool.install(|| deeper(4)));
        assert!(pool.broadcast(|_| DEPTH.get()).iter().all(|depth| *depth == 0));
    }
}

/// One that waits for something else holds its thread: nobody comes in between.
#[test]
fn a_job_that_waits_for_a_message_holds_its_thread() {
    let pool = prepared(2);
    let (tell, told) = mpsc::channel();
    pool.scope(|s| {
        s.spawn(move |_| {
            DEPTH.set(7);
            told.recv().unwrap();
            assert_eq!(DEPTH.replace(0), 7);
        });
        for n in 0..50 {
            let tell = tell.clone();
            s.spawn(move |_| {
                assert_eq!(DEPTH.get(), 0);
                if n == 49 {
                    tell.send(()).unwrap();
                }
            });
        }
    });
}

#[test]
fn a_panic_comes_through_nested_waits() {
    let pool = prepared(2);
    for _ in 0..50 {
        let caught = panic_of(|| {
            pool.install(|| {
                jobs::join(
                    || {
                        jobs::scope(|s| {
                            s.spawn(|_| assert_eq!(jobs::join(|| throw("inner"), || tree(3)).1, 8))
                        })
                    },
                    || tree(4),
                )
            })
        });
        assert_eq!(caught, "inner");
    }
    pool.install(is_at_home);
}

#[test]
fn processes_of_such_a_pool_wait_as_always() {
    let pool = prepared(1);
    let sum = pool.install(|| {
        let (sender, receiver) = raddle::channel::bounded(0);
        let sends = csp::spawn(move || (0..100).for_each(|n| sender.send(n).unwrap()));
        let sums = csp::spawn(move || receiver.iter().sum::<i32>());
        sends.join().unwrap();
        sums.join().unwrap()
    });
    assert_eq!(sum, 4950);
}

/// A join with a deadline has the thread begin what it waits for, as one without has.
#[test]
fn a_timed_join_is_nested() {
    let pool = prepared(1);
    let sum = pool.install(|| {
        let joins =
            |n: u32| csp::spawn(move || n).join_timeout(Duration::from_secs(60)).expect("it runs").unwrap();
        let sum = (1..=10).map(joins).sum::<u32>();
        is_at_home();
        sum
    });
    assert_eq!(sum, 55);
}

#[test]
fn a_join_in_a_region_is_nested() {
    let pool = prepared(1);
    let sum = pool.install(|| {
        let joins = |n: u32| cancel::Token::new().run(|| csp::spawn(move || n).join().unwrap()).unwrap();
        (1..=10).map(joins).sum::<u32>()
    });
    assert_eq!(sum, 55);
}

#[test]
fn a_timed_join_that_is_nested_gives_up() {
    for threads in [1, 2] {
        prepared(threads).install(|| {
            let mut waits = csp::spawn(csp::park);
            for _ in 0..20 {
                waits = waits.join_timeout(Duration::from_millis(1)).expect_err("it waits");
                waits = waits.join_timeout(Duration::ZERO).expect_err("it waits");
            }
            waits.process().unpark();
            waits.join().unwrap();
            is_at_home();
        });
    }
}

#[test]
fn a_nested_join_ends_when_its_region_is_cancelled() {
    for threads in [1, 2] {
        let pool = prepared(threads);
        for _ in 0..50 {
            pool.install(|| {
                let (token, waits) = (cancel::Token::new(), csp::spawn(csp::park));
                let (cancels, woken) = (token.clone(), waits.process());
                let cancels = csp::spawn(move || cancels.cancel());
                let outcome = token.run(|| waits.join().map_err(|_| ()));
                assert!(outcome.is_err(), "{outcome:?}");
                // Cancelled before it begins to wait, too.
                assert!(token.run(|| csp::spawn(csp::yield_now).join().is_ok()).is_err());
                cancels.join().unwrap();
                woken.unpark();
                is_at_home();
            });
        }
    }
}

/// Deadline, end and cancellation come at once, from another thread of the pool.
#[test]
fn a_nested_join_is_ended_once() {
    let pool = prepared(2);
    pool.install(|| {
        for n in 0..500 {
            let token = cancel::Token::new();
            let (child, cancels) =
                (csp::spawn(move || (0..n % 7).for_each(|_| csp::yield_now())), token.clone());
            let cancels = csp::spawn(move || cancels.cancel());
            let _either = token.run(|| {
                if let Err(handle) = child.join_timeout(Duration::from_micros(n % 50)) {
                    handle.join().unwrap();
                }
            });
            cancels.join().unwrap();
            is_at_home();
        }
    });
}

#[test]
fn names_are_seen_by_jobs() {
    let pool = ThreadPoolBuilder::new().num_threads(2).thread_name(|n| format!("n{n}")).build().unwrap();
    let name = || thread::current().name().map(String::from);
    assert_eq!(pool.broadcast(|_| name()), [Some("n0".into()), Some("n1".into())]);
    let nested = pool.install(|| jobs::join(name, name));
    assert!(nested.0.is_some() && nested.1.is_some(), "{nested:?}");
}

/// Without anything prepared, a job that waits leaves its thread to others, and has storage of its own.
#[test]
fn jobs_of_a_plain_pool_have_storage_of_their_own() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.scope(|s| {
        for n in 1..100 {
            s.spawn(move |_| {
                let before = DEPTH.replace(n);
                let index = jobs::current_thread_index();
                csp::yield_now();
                jobs::scope(|s| (0..3).for_each(|_| s.spawn(|_| csp::yield_now())));
                assert_eq!((DEPTH.replace(before), jobs::current_thread_index()), (n, index));
            });
        }
    });
}
