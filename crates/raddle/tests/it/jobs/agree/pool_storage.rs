//! What jobs see of the OS threads of their pool: what the program has prepared there, and one thread for a job's life.

use super::*;
use jobs::ThreadPoolBuilder;
use std::cell::Cell;
use std::sync::mpsc;
use std::thread;

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
        let sends = raddle::csp::spawn(move || (0..100).for_each(|n| sender.send(n).unwrap()));
        let sums = raddle::csp::spawn(move || receiver.iter().sum::<i32>());
        sends.join().unwrap();
        sums.join().unwrap()
    });
    assert_eq!(sum, 4950);
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
                raddle::csp::yield_now();
                jobs::scope(|s| (0..3).for_each(|_| s.spawn(|_| raddle::csp::yield_now())));
                assert_eq!((DEPTH.replace(before), jobs::current_thread_index()), (n, index));
            });
        }
    });
}
