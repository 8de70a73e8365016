//! The mutex: those who want it against the one who has it, with one who has been passed often enough.

use crate::{ALL, Guarded, check, go};
use raddle_protocol::model::Mutex;
use std::sync::Arc;

/// So many threads lock so often each; `last` runs in one of them after.
fn contended(preemptions: Option<usize>, threads: usize, times: usize) {
    check(preemptions, move || {
        let lock = Arc::new((Mutex::default(), Guarded::default()));
        let visit = move |lock: &(Mutex, Guarded)| {
            for _ in 0..times {
                assert!(!lock.0.lock(), "nobody has poisoned it");
                lock.1.add_one();
                lock.0.unlock(false);
            }
        };
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let lock = lock.clone();
                go(move || visit(&lock))
            })
            .collect();
        visit(&lock);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert!(lock.0.try_lock(), "free at the end");
        assert_eq!(lock.1.read() as usize, threads * times);
    });
}

#[test]
fn two_exclude_each_other() {
    contended(ALL, 2, 1);
}

/// One passes the other until the lock is reserved for it.
#[test]
fn one_that_is_passed_gets_its_turn() {
    contended(Some(3), 2, 3);
}

#[test]
fn of_three_the_queue_is_walked_and_left() {
    contended(Some(2), 3, 1);
}

#[test]
fn who_finds_it_free_sees_what_was_done() {
    check(ALL, || {
        let lock = Arc::new((Mutex::default(), Guarded::default()));
        let other = lock.clone();
        let other = go(move || {
            if !other.0.try_lock() {
                return;
            }
            other.1.add_one();
            other.0.unlock(false);
        });
        if lock.0.try_lock() {
            lock.1.read();
            lock.0.unlock(false);
        }
        other.join().unwrap();
    });
}

#[test]
fn poison_is_seen_and_cleared_while_others_wait() {
    check(Some(3), || {
        let lock = Arc::new((Mutex::default(), Guarded::default()));
        lock.0.lock();
        let other = lock.clone();
        let waits = go(move || {
            let poisoned = other.0.lock();
            other.1.add_one();
            other.0.unlock(false);
            poisoned
        });
        lock.1.add_one();
        lock.0.unlock(true);
        let poisoned = waits.join().unwrap();
        assert!(poisoned && lock.0.lock());
        lock.0.clear_poison();
        lock.0.unlock(false);
        assert!(!lock.0.lock());
    });
}

/// Whoever wakes a node that was given up takes its turn for it, and frees it.
#[test]
fn who_gives_up_holds_nobody_up() {
    for behind in [false, true] {
        check(if behind { Some(1) } else { ALL }, move || {
            let lock = Arc::new((Mutex::default(), Guarded::default()));
            assert!(lock.0.try_lock());
            let gives_up = {
                let lock = lock.clone();
                go(move || {
                    if lock.0.lock_or_give_up() {
                        lock.1.add_one();
                        lock.0.unlock(false);
                    }
                })
            };
            let waits = behind.then(|| {
                let lock = lock.clone();
                go(move || {
                    lock.0.lock();
                    lock.1.add_one();
                    lock.0.unlock(false);
                })
            });
            lock.1.add_one();
            lock.0.unlock(false);
            gives_up.join().unwrap();
            waits.into_iter().for_each(|waits| waits.join().unwrap());
            assert!(lock.0.try_lock(), "free at the end");
            lock.1.read();
            lock.0.unlock(false);
        });
    }
}

/// Whoever finds that the woken one has given up, and another was faster, leaves the node to that other, who frees it.
#[test]
fn who_was_too_late_to_stand_in_looks_at_the_node_no_more() {
    check(Some(3), || {
        let lock = Arc::new((Mutex::default(), Guarded::default()));
        assert!(lock.0.try_lock());
        let gives_up = {
            let lock = lock.clone();
            go(move || {
                if lock.0.lock_or_give_up() {
                    lock.0.unlock(false);
                }
            })
        };
        let passes = {
            let lock = lock.clone();
            go(move || {
                if lock.0.try_lock() {
                    lock.1.add_one();
                    lock.0.unlock(false);
                }
            })
        };
        lock.1.add_one();
        lock.0.unlock(false);
        gives_up.join().unwrap();
        passes.join().unwrap();
        assert!(lock.0.try_lock(), "free at the end");
        lock.0.unlock(false);
    });
}
