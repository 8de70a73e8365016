//! Locks of every kind, contended, on every policy, with an OS thread beside; and the mutex's bound on being passed.

use super::{Progress, everywhere};
use raddle::{Runtime, csp, sync};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Adds under every kind of lock at once; processes of the runtime and an OS thread beside them.
#[derive(Default)]
struct Locks {
    mutex: sync::Mutex<u64>,
    rwlock: sync::RwLock<u64>,
    condvar: sync::Condvar,
}

impl Locks {
    fn visit(&self, rounds: u64) {
        for round in 0..rounds {
            *self.mutex.lock().unwrap() += 1;
            self.condvar.notify_one();
            if round % 4 == 0 {
                let mut held = self.mutex.lock().unwrap();
                csp::yield_now();
                *held += 1;
                drop(held);
                let wait = Duration::from_micros(20);
                drop(self.condvar.wait_timeout(self.mutex.lock().unwrap(), wait).unwrap());
                *self.rwlock.write().unwrap() += 1;
            }
            let read = self.rwlock.read().unwrap();
            csp::yield_now();
            assert!(*read <= u64::MAX / 2);
        }
    }
}

#[test]
fn locks_of_every_kind_with_an_os_thread_beside() {
    const ROUNDS: u64 = 12;
    everywhere("locks", |rt, progress: &Progress| {
        let locks = Arc::new(Locks::default());
        let outside = {
            let locks = locks.clone();
            std::thread::spawn(move || locks.visit(ROUNDS))
        };
        let visitors = rt.run({
            let (locks, progress) = (locks.clone(), progress.clone());
            move || {
                let visitor = |_| {
                    let (locks, progress) = (locks.clone(), progress.clone());
                    csp::spawn(move || {
                        locks.visit(ROUNDS);
                        progress.note();
                    })
                };
                let visitors: Vec<_> = (0..12).map(visitor).collect();
                visitors.into_iter().map(|v| v.join().unwrap()).count() as u64
            }
        });
        outside.join().unwrap();
        let visits = (visitors + 1) * ROUNDS;
        assert_eq!(*locks.mutex.lock().unwrap(), visits + visits / 4);
        assert_eq!(*locks.rwlock.read().unwrap(), visits / 4);
    });
}

#[test]
fn queue_locks_and_semaphores() {
    const ROUNDS: usize = 6;
    /// More than are awake near the head of a queue: the others sleep and are called up.
    const VISITORS: usize = 24;
    everywhere("queue locks", |rt, progress: &Progress| {
        let locks = Arc::new((sync::McsLock::new(0), sync::ClhLock::new(0), sync::TicketLock::new(0)));
        let (semaphore, inside) = (Arc::new(sync::Semaphore::new(3)), Arc::new(AtomicUsize::new(0)));
        let progress = progress.clone();
        let shared = locks.clone();
        let outside = {
            let locks = locks.clone();
            std::thread::spawn(move || {
                for _ in 0..ROUNDS {
                    locks.0.with(|count| *count += 1);
                    *locks.0.lock() += 1;
                    *locks.1.lock() += 1;
                    *locks.2.lock() += 1;
                }
            })
        };
        rt.run(move || {
            let visitor = |n: usize| {
                let (locks, semaphore, inside) = (shared.clone(), semaphore.clone(), inside.clone());
                let progress = progress.clone();
                csp::spawn(move || {
                    for _ in 0..ROUNDS {
                        locks.0.with(|count| {
                            csp::yield_now();
                            *count += 1;
                        });
                        locks.1.with(|count| *count += 1);
                        *locks.2.lock() += 1;
                        *locks.0.lock() += 1;
                        let permit = semaphore.acquire_many(1 + n % 3).unwrap();
                        assert!(inside.fetch_add(permit.count(), Ordering::Relaxed) + permit.count() <= 3);
                        csp::yield_now();
                        inside.fetch_sub(permit.count(), Ordering::Relaxed);
                    }
                    progress.note();
                })
            };
            let visitors: Vec<_> = (0..VISITORS).map(visitor).collect();
            visitors.into_iter().for_each(|v| v.join().unwrap());
            assert_eq!(semaphore.available_permits(), 3);
        });
        outside.join().unwrap();
        let all = locks.0.with(|n| *n) + locks.1.with(|n| *n) + *locks.2.lock();
        assert_eq!(all, (VISITORS + 1) * ROUNDS * 4);
    });
}

/// The bound on being passed, counted: one worker and one process that never lets go for long.
#[test]
fn who_waits_for_a_mutex_is_passed_a_bounded_number_of_times() {
    const PASSES_MAX: u64 = 1024;
    let rt = Runtime::builder().workers(1).build().expect("a runtime");
    rt.run(|| {
        let mutex = Arc::new(sync::Mutex::new(0_u64));
        let waits = {
            let mutex = mutex.clone();
            csp::spawn(move || *mutex.lock().unwrap())
        };
        // It holds the lock at each of its yields, so that who waits always finds it held.
        let mut taken_again = 0;
        while !waits.is_finished() {
            let mut held = mutex.lock().unwrap();
            *held += 1;
            taken_again = *held;
            csp::yield_now();
            drop(held);
            assert!(taken_again <= PASSES_MAX + 2, "passed {taken_again} times");
        }
        assert!(waits.join().unwrap() <= PASSES_MAX + 1);
        assert!(taken_again > 2, "it was never passed: the test is none");
    });
}
