//! Sleep, deadlines, alarms.

use crate::runtime;
use raddle::{csp, task};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_sleep_is_never_short() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let sleeps = [0, 1, 50, 700, 3000].map(Duration::from_micros);
            let all: Vec<_> = sleeps
                .into_iter()
                .map(|d| {
                    csp::spawn(move || {
                        let begun = Instant::now();
                        csp::sleep(d);
                        assert!(begun.elapsed() >= d);
                    })
                })
                .collect();
            all.into_iter().for_each(|h| h.join().unwrap());
        });
    }
}

#[test]
fn sleepers_wake_in_the_order_of_their_deadlines() {
    /// In which order they woke; nothing, if one may have begun to sleep when its deadline had passed, as on a busy
    /// machine.
    fn woken(lead: Duration) -> Option<Vec<u32>> {
        runtime(1).run(|| {
            let order = Arc::new(Mutex::new(Vec::new()));
            let start = Instant::now() + lead;
            let sleeper = |n: u32| {
                let order = order.clone();
                csp::spawn(move || {
                    csp::sleep_until(start + n * MS);
                    order.lock().unwrap().push(n);
                })
            };
            let all = [3, 1, 4, 0, 2].map(sleeper);
            // It begins when the last of them sleeps, to which the worker is bound until then.
            let in_time = csp::spawn(move || Instant::now() < start).join().unwrap();
            all.into_iter().for_each(|one| one.join().unwrap());
            in_time.then(|| Arc::try_unwrap(order).unwrap().into_inner().unwrap())
        })
    }
    let order = [20, 200, 2_000, 20_000].into_iter().find_map(|lead| woken(lead * MS));
    assert_eq!(order.expect("twenty seconds are enough to begin"), [0, 1, 2, 3, 4]);
}

#[test]
fn a_deadline_that_has_passed_is_no_wait() {
    runtime(1).run(|| {
        csp::sleep_until(Instant::now() - MS);
        csp::sleep(Duration::ZERO);
        task::block_on(async {
            task::sleep(Duration::ZERO).await;
            task::sleep_until(Instant::now() - MS).await;
        });
    });
}

#[test]
fn an_alarm_rings_while_another_never_stops_yielding() {
    let rt = runtime(1);
    rt.run(|| {
        let slept = csp::spawn(|| csp::sleep(2 * MS));
        while !slept.is_finished() {
            csp::yield_now();
        }
        slept.join().unwrap();
    });
}

#[test]
fn an_idle_worker_rings_the_alarms_of_a_busy_one() {
    let rt = runtime(2);
    rt.run(|| {
        // Once the sleeper sleeps, on whatever worker, this one does not yield until it has been woken.
        let busy = csp::spawn_on(0, || {
            let states = Arc::new([const { AtomicBool::new(false) }; 2]);
            let seen = states.clone();
            let task = task::spawn(async move {
                states[0].store(true, Ordering::Relaxed);
                task::sleep(MS).await;
                states[1].store(true, Ordering::Relaxed);
            });
            while !seen[0].load(Ordering::Relaxed) {
                csp::yield_now();
            }
            while !seen[1].load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
            drop(task);
        });
        busy.join().unwrap();
    });
}

#[test]
fn tasks_and_os_threads_sleep() {
    let begun = Instant::now();
    task::block_on(task::sleep(2 * MS));
    csp::sleep(MS);
    assert!(begun.elapsed() >= 3 * MS);
    runtime(2).block_on(async {
        let all: Vec<_> = (0..100_u32).map(|n| task::spawn(task::sleep(MS * (n % 5)))).collect();
        for one in all {
            one.await.unwrap();
        }
    });
}

#[test]
fn a_sleep_that_is_dropped_does_not_ring() {
    let rt = runtime(1);
    rt.block_on(async {
        for _ in 0..100 {
            let mut sleep = Box::pin(task::sleep(Duration::from_secs(3600)));
            let mut context = Context::from_waker(Waker::noop());
            assert!(sleep.as_mut().poll(&mut context).is_pending());
        }
    });
    assert_eq!(rt.shutdown(), 0, "no alarm is left, so the end does not wait an hour");
}

#[test]
fn a_sleep_without_end_can_be_asked_for() {
    let rt = runtime(1);
    rt.run(|| {
        let parked = csp::spawn(|| csp::park_timeout(Duration::MAX));
        csp::yield_now();
        parked.process().unpark();
        parked.join().unwrap();
    });
}

/// A waker that spawns, as the schedule function of somebody's executor does.
struct Spawner(csp::Process);

impl Wake for Spawner {
    fn wake(self: Arc<Self>) {
        drop(csp::spawn(move || self.0.unpark()));
    }
}

#[test]
fn what_an_alarms_waker_spawns_on_an_idle_worker_runs() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let waker = Waker::from(Arc::new(Spawner(csp::current().unwrap())));
            let mut context = Context::from_waker(&waker);
            let mut sleep = pin!(task::sleep(MS));
            while sleep.as_mut().poll(&mut context).is_pending() {
                csp::park();
            }
        });
    }
}
