//! What tasks share: permits, a mutex, notifications.

use crate::runtime;
use raddle::sync::{Semaphore, TryAcquireError};
use raddle::task::{self, Mutex, Notify};
use raddle::{csp, sync};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

#[derive(Default)]
struct CountsWakes(AtomicUsize);

impl Wake for CountsWakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn poll<F: Future + Unpin>(future: &mut F, wakes: &Arc<CountsWakes>) -> Poll<F::Output> {
    let waker = Waker::from(wakes.clone());
    Pin::new(future).poll(&mut Context::from_waker(&waker))
}

fn so_far(wakes: &Arc<CountsWakes>) -> usize {
    wakes.0.load(Ordering::Relaxed)
}

/// Yields until it is so.
fn until(holds: impl Fn() -> bool) {
    while !holds() {
        csp::yield_now();
    }
}

#[test]
fn permits_are_given_in_the_order_of_the_wait_whoever_waits() {
    runtime(1).run(|| {
        let semaphore = Arc::new(Semaphore::new(0));
        let order = Arc::new(sync::Mutex::new(Vec::new()));
        let (mut tasks, mut processes) = (Vec::new(), Vec::new());
        for n in 0..6 {
            let (semaphore, order) = (semaphore.clone(), order.clone());
            // Each stands in the queue before the next one comes.
            if n % 2 == 0 {
                let stands = Arc::new(AtomicBool::new(false));
                let waits = stands.clone();
                tasks.push(task::spawn(async move {
                    let mut permit = pin!(semaphore.acquire_async());
                    assert!(poll_fn(|cx| Poll::Ready(permit.as_mut().poll(cx).is_pending())).await);
                    waits.store(true, Ordering::Relaxed);
                    permit.await.unwrap().forget();
                    order.lock().unwrap().push(n);
                }));
                until(|| stands.load(Ordering::Relaxed));
            } else {
                let process = csp::spawn(move || {
                    semaphore.acquire().unwrap().forget();
                    order.lock().unwrap().push(n);
                });
                // SAFETY: both are on one worker, on which this runs.
                until(|| unsafe { process.process().waits_for() }.is_some());
                processes.push(process);
            }
        }
        for n in 0..6 {
            semaphore.add_permits(1);
            until(|| order.lock().unwrap().len() > n);
            assert_eq!(order.lock().unwrap().last(), Some(&n));
        }
        tasks.into_iter().for_each(|task| task::block_on(task).unwrap());
        processes.into_iter().for_each(|process| process.join().unwrap());
    });
}

#[test]
fn who_is_dropped_in_the_queue_lets_the_next_one_in() {
    let semaphore = Semaphore::new(1);
    let (first, second) = (Arc::default(), Arc::default());
    let mut greedy = semaphore.acquire_many_async(5);
    let mut modest = semaphore.acquire_async();
    assert!(poll(&mut greedy, &first).is_pending() && poll(&mut modest, &second).is_pending());
    assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits, "somebody waits for it");
    drop(greedy);
    assert_eq!((so_far(&first), so_far(&second)), (0, 1));
    let Poll::Ready(Ok(permit)) = poll(&mut modest, &second) else { panic!("it was given one") };
    drop(permit);
    assert_eq!(semaphore.available_permits(), 1);
    assert_eq!((Arc::strong_count(&first), Arc::strong_count(&second)), (1, 1), "no waker is kept");
}

#[test]
fn permits_that_a_dropped_future_was_given_go_on() {
    let semaphore = Semaphore::new(0);
    let (first, second) = (Arc::default(), Arc::default());
    let mut dropped = semaphore.acquire_many_async(2);
    let mut next = semaphore.acquire_async();
    assert!(poll(&mut dropped, &first).is_pending() && poll(&mut next, &second).is_pending());
    semaphore.add_permits(2);
    assert_eq!((so_far(&first), so_far(&second), semaphore.available_permits()), (1, 0, 0));
    drop(dropped);
    assert_eq!((so_far(&second), semaphore.available_permits()), (1, 1));
    drop(next);
    assert_eq!(semaphore.available_permits(), 2);
    drop(semaphore.acquire_async());
    assert_eq!(semaphore.available_permits(), 2, "never polled");
}

#[test]
fn a_future_waits_by_its_last_waker_and_is_told_of_the_end() {
    let semaphore = Semaphore::new(0);
    let (old, new) = (Arc::default(), Arc::default());
    let mut waits = semaphore.acquire_async();
    assert!(poll(&mut waits, &old).is_pending() && poll(&mut waits, &new).is_pending());
    assert_eq!(Arc::strong_count(&old), 1);
    semaphore.close();
    assert_eq!((so_far(&old), so_far(&new)), (0, 1));
    let Poll::Ready(Err(error)) = poll(&mut waits, &new) else { panic!("it is closed") };
    assert_eq!(error.to_string(), "the semaphore is closed");
    assert!(poll(&mut semaphore.acquire_async(), &new).is_ready());
}

#[test]
fn owned_permits_go_back() {
    let semaphore = Arc::new(task::Semaphore::new(3));
    task::block_on(async {
        let two = semaphore.clone().acquire_many_owned(2).await.unwrap();
        assert_eq!((two.count(), semaphore.available_permits()), (2, 1));
        let held = task::spawn(async move { two.count() });
        assert_eq!(held.await.unwrap(), 2);
        semaphore.clone().acquire_owned().await.unwrap().forget();
    });
    assert_eq!(semaphore.available_permits(), 2);
    drop(semaphore.blocking_acquire().unwrap());
    assert!(semaphore.try_acquire_many(3).is_err());
    semaphore.close();
    assert!(semaphore.is_closed() && semaphore.try_acquire().is_err());
}

/// Futures that are dropped at any moment, tasks and processes, on two workers: no permit is lost or made.
#[test]
fn no_permit_is_lost_by_those_who_give_up() {
    let rt = runtime(2);
    let semaphore = Arc::new(Semaphore::new(2));
    let all = semaphore.clone();
    rt.run(move || {
        let inside = Arc::new(AtomicUsize::new(0));
        let visit = |inside: &AtomicUsize| {
            assert!(inside.fetch_add(1, Ordering::Relaxed) < 2, "more than there are permits");
            inside.fetch_sub(1, Ordering::Relaxed);
        };
        let processes: Vec<_> = (0..3)
            .map(|_| {
                let (semaphore, inside) = (all.clone(), inside.clone());
                csp::spawn(move || {
                    for _ in 0..300 {
                        let _permit = semaphore.acquire().unwrap();
                        visit(&inside);
                    }
                })
            })
            .collect();
        let tasks: Vec<_> = (0..3)
            .map(|n| {
                let (semaphore, inside) = (all.clone(), inside.clone());
                task::spawn(async move {
                    for turn in 0..600 {
                        let mut acquire = semaphore.acquire_async();
                        let once =
                            |context: &mut Context<'_>| Poll::Ready(Pin::new(&mut acquire).poll(context));
                        let permit = match poll_fn(once).await {
                            Poll::Ready(permit) => permit,
                            Poll::Pending if (turn + n) % 3 == 0 => {
                                task::yield_now().await;
                                continue;
                            }
                            Poll::Pending => acquire.await,
                        };
                        let _permit = permit.unwrap();
                        visit(&inside);
                    }
                })
            })
            .collect();
        tasks.into_iter().for_each(|task| task::block_on(task).unwrap());
        processes.into_iter().for_each(|process| process.join().unwrap());
    });
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn a_mutex_is_held_over_an_await_by_one_at_a_time() {
    for workers in [1, 2] {
        let count = Arc::new(Mutex::new(0));
        let shared = count.clone();
        runtime(workers).run(move || {
            let tasks: Vec<_> = (0..4)
                .map(|_| {
                    let count = shared.clone();
                    task::spawn(async move {
                        for turn in 0..50 {
                            let add = |count: &mut i32, before| *count = before + 1;
                            if turn % 2 == 0 {
                                let mut guard = count.lock().await;
                                let before = *guard;
                                task::yield_now().await;
                                add(&mut guard, before);
                            } else {
                                let mut guard = count.clone().lock_owned().await;
                                let before = *guard;
                                task::yield_now().await;
                                add(&mut guard, before);
                            }
                        }
                    })
                })
                .collect();
            let process = {
                let count = shared.clone();
                csp::spawn(move || (0..50).for_each(|_| *count.blocking_lock() += 1))
            };
            tasks.into_iter().for_each(|task| task::block_on(task).unwrap());
            process.join().unwrap();
        });
        let mut count = Arc::into_inner(count).expect("all are done");
        assert_eq!(*count.get_mut(), 250);
        assert_eq!(count.into_inner(), 250);
    }
}

#[test]
fn a_mutex_that_is_held_is_not_taken() {
    let mutex = Arc::new(Mutex::new("data"));
    let held = mutex.try_lock().unwrap();
    assert_eq!(format!("{mutex:?} {held:?}"), r#"Mutex { data: "<locked>" } "data""#);
    assert_eq!(mutex.try_lock().unwrap_err().to_string(), "the mutex is held, or somebody waits for it");
    drop(held);
    let owned = task::block_on(mutex.clone().lock_owned());
    assert!(mutex.try_lock().is_err());
    drop(owned);
    assert_eq!(format!("{mutex:?}"), r#"Mutex { data: "data" }"#);
}

#[test]
fn a_notification_is_kept_for_the_next_and_only_one_is() {
    let wakes = Arc::default();
    let notify = Notify::new();
    notify.notify_one();
    notify.notify_one();
    assert!(poll(&mut notify.notified(), &wakes).is_ready());
    let mut waits = notify.notified();
    assert!(poll(&mut waits, &wakes).is_pending());
    notify.notify_one();
    assert_eq!(so_far(&wakes), 1);
    assert!(poll(&mut waits, &wakes).is_ready());
    assert!(poll(&mut notify.notified(), &wakes).is_pending());
}

#[test]
fn notifications_are_in_order_and_go_on_if_their_receiver_is_dropped() {
    let wakes: [Arc<CountsWakes>; 3] = Default::default();
    let notify = Notify::new();
    let mut waits: Vec<_> = wakes
        .iter()
        .map(|wakes| {
            let mut notified = notify.notified();
            assert!(poll(&mut notified, wakes).is_pending());
            Some(notified)
        })
        .collect();
    notify.notify_one();
    waits[0] = None;
    assert_eq!(wakes.each_ref().map(so_far), [1, 1, 0], "the second has it now");
    waits[2] = None;
    assert!(poll(waits[1].as_mut().unwrap(), &wakes[1]).is_ready());
    notify.notify_one();
    assert_eq!(wakes.each_ref().map(so_far), [1, 1, 0], "nobody waits: it is kept");
    assert!(poll(&mut notify.notified(), &wakes[0]).is_ready());
    assert_eq!(wakes.each_ref().map(Arc::strong_count), [1, 1, 1]);
}

#[test]
fn all_who_have_asked_are_notified_and_nobody_after() {
    let wakes = Arc::default();
    let notify = Notify::new();
    let (mut polled, mut unpolled) = (notify.notified(), notify.notified());
    assert!(poll(&mut polled, &wakes).is_pending());
    notify.notify_waiters();
    assert_eq!(so_far(&wakes), 1);
    assert!(poll(&mut unpolled, &wakes).is_ready() && poll(&mut polled, &wakes).is_ready());
    assert!(poll(&mut notify.notified(), &wakes).is_pending(), "nothing is kept");
}

#[test]
fn tasks_and_processes_notify_each_other() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let (ping, pong) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
            let (heard, answers) = (ping.clone(), pong.clone());
            let task = task::spawn(async move {
                for _ in 0..100 {
                    heard.notified().await;
                    answers.notify_one();
                }
            });
            for _ in 0..100 {
                ping.notify_one();
                task::block_on(pong.notified());
            }
            task::block_on(task).unwrap();
        });
    }
}

/// Guards of tasks go from thread to thread; and a future that holds one may be spawned.
#[test]
fn guards_may_be_sent() {
    fn is_sent<T: Send>(_: &T) {}
    let mutex = Mutex::new(1);
    let semaphore = Semaphore::new(1);
    let holds = async {
        let _guards = (mutex.lock().await, semaphore.acquire_async().await);
        task::yield_now().await;
    };
    is_sent(&holds);
    let mut holds = pin!(holds);
    assert!(holds.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
}
