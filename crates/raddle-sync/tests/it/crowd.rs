//! More processes want a queue lock than its queue is to hold: each worker's come in through its gate.

use crate::runtime;
use raddle::csp;
use raddle::sync::{ClhLock, McsLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const MANY: usize = 40;

/// While the caller holds `lock`, many come to it; what they do there is `visit`, told who is the how manieth to come.
/// Returns how many panicked.
fn crowd<L: Send + Sync + 'static>(lock: &Arc<L>, release: impl FnOnce(), visit: fn(&L, usize)) -> usize {
    let come = Arc::new(AtomicUsize::new(0));
    let visitor = |_| {
        let (lock, come) = (lock.clone(), come.clone());
        csp::spawn(move || visit(&lock, come.fetch_add(1, Ordering::Relaxed)))
    };
    let visitors: Vec<_> = (0..MANY).map(visitor).collect();
    while come.load(Ordering::Relaxed) < MANY {
        csp::yield_now();
    }
    release();
    visitors.into_iter().map(csp::JoinHandle::join).filter(Result::is_err).count()
}

#[test]
fn on_one_worker_a_crowd_is_served_in_the_order_of_its_coming() {
    runtime(1).run(|| {
        let in_order: Vec<usize> = (0..MANY).collect();
        let mcs = Arc::new(McsLock::new(Vec::new()));
        let held = mcs.lock();
        assert_eq!(crowd(&mcs, || drop(held), |lock, n| lock.with(|all| all.push(n))), 0);
        assert_eq!(*mcs.lock(), in_order);
        let clh = Arc::new(ClhLock::new(Vec::new()));
        let held = clh.lock();
        assert_eq!(crowd(&clh, || drop(held), |lock, n| lock.with(|all| all.push(n))), 0);
        assert_eq!(*clh.lock(), in_order);
    });
}

#[test]
fn a_panic_in_a_crowd_lets_the_next_one_in() {
    fn visit(count: &mut usize, number: usize) {
        assert!(!number.is_multiple_of(5), "on purpose");
        *count += 1;
    }
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let mcs = Arc::new(McsLock::new(0));
            let held = mcs.lock();
            assert_eq!(crowd(&mcs, || drop(held), |lock, n| lock.with(|count| visit(count, n))), MANY / 5);
            let clh = Arc::new(ClhLock::new(0));
            let held = clh.lock();
            assert_eq!(crowd(&clh, || drop(held), |lock, n| visit(&mut lock.lock(), n)), MANY / 5);
            assert_eq!((*mcs.lock(), *clh.lock()), (MANY - MANY / 5, MANY - MANY / 5));
        });
    }
}

/// The gate that it came through stays. That of another lock is another one, wherever that lies.
#[test]
fn who_forgets_a_guard_in_a_crowd_holds_that_lock_only() {
    runtime(1).run(|| {
        for _ in 0..3 {
            let clh = Arc::new(ClhLock::new(0));
            let held = clh.lock();
            let visit = |lock: &ClhLock<usize>, number| {
                let mut guard = lock.lock();
                *guard += 1;
                if number == MANY - 1 {
                    std::mem::forget(guard);
                }
            };
            assert_eq!(crowd(&clh, || drop(held), visit), 0);
            let mut clh = Arc::into_inner(clh).expect("all have ended");
            assert_eq!(*clh.get_mut(), MANY);
        }
    });
}

#[test]
fn a_crowd_on_several_workers_comes_to_its_turns() {
    for workers in [1, 2, 8] {
        runtime(workers).run(|| {
            let locks = Arc::new((McsLock::new(0), ClhLock::new(0)));
            let held = locks.0.lock();
            let visit = |locks: &(McsLock<usize>, ClhLock<usize>), _| {
                for round in 0..20 {
                    locks.0.with(|count| *count += 1);
                    let mut count = locks.1.lock();
                    if round % 4 == 0 {
                        csp::yield_now();
                    }
                    *count += 1;
                }
            };
            assert_eq!(crowd(&locks, || drop(held), visit), 0);
            assert_eq!((*locks.0.lock(), *locks.1.lock()), (20 * MANY, 20 * MANY));
        });
    }
}

/// In the child there is nobody to let in.
#[test]
fn who_forks_in_a_crowd_leaves_the_lock_in_both() {
    let output = crate::child::in_child("crowd::who_forks_in_a_crowd_leaves_the_lock_in_both", || {
        runtime(1).run(|| {
            let mcs = Arc::new(McsLock::new(0));
            let held = mcs.lock();
            let visit = |lock: &McsLock<usize>, number| {
                let mut guard = lock.lock();
                *guard += 1;
                if number != MANY - 1 {
                    return;
                }
                // SAFETY: the child gives the lock back, and ends.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    drop(guard);
                    // SAFETY: ends the child, without the exit handlers.
                    unsafe { libc::_exit(0) };
                }
                let mut status = 0;
                // SAFETY: waits for the child that was just made.
                assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
                assert_eq!(status, 0, "the child could not give the lock back");
            };
            assert_eq!(crowd(&mcs, || drop(held), visit), 0);
            assert_eq!(*mcs.lock(), MANY);
        });
    });
    crate::child::assert_success(&output);
}
