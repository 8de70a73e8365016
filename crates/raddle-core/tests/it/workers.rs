//! Which worker runs what.

use crate::runtime;
use raddle::{Balance, Queues, Runtime, csp, task};
use raddle_core::process::make::Settings;
use raddle_core::spawn::spawn_with;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

/// The OS thread that the caller runs on, as the kernel knows it.
fn os_thread() -> i32 {
    // SAFETY: no preconditions.
    unsafe { libc::gettid() }
}

/// What the kernel calls it.
fn os_name() -> String {
    std::fs::read_to_string(format!("/proc/self/task/{}/comm", os_thread())).unwrap().trim_end().to_owned()
}

/// The OS thread of each worker.
fn threads(rt: &Runtime) -> Vec<i32> {
    let all = 0..rt.workers();
    rt.run(|| all.map(|n| csp::spawn_on(n, os_thread).join().unwrap()).collect())
}

#[test]
fn each_worker_is_an_os_thread_and_placement_is_obeyed() {
    for workers in [1, 2, 8] {
        let rt = runtime(workers);
        let ids = threads(&rt);
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), workers);
        rt.run(|| {
            for round in 0..10 * workers {
                let stays = csp::spawn_on(round % workers, || {
                    let before = os_thread();
                    (0..20).for_each(|_| csp::yield_now());
                    csp::sleep(Duration::from_micros(10));
                    assert_eq!(before, os_thread(), "a process that was placed has moved");
                    before
                });
                assert_eq!(stays.join().unwrap(), ids[round % workers]);
            }
        });
    }
}

#[test]
fn a_started_light_process_stays_with_its_worker() {
    runtime(2).run(|| {
        let stay = |_| {
            let stays = || {
                let begun_on = os_thread();
                for _ in 0..100 {
                    csp::yield_now();
                    assert_eq!(begun_on, os_thread());
                }
            };
            // SAFETY: it uses no thread-local variable.
            unsafe { csp::spawn_light(stays) }
        };
        (0..200).map(stay).collect::<Vec<_>>().into_iter().for_each(|h| h.join().unwrap());
    });
}

/// A process that may wait, and was sent to the worker 1 while that was busy, begins behind a child that one of that
/// worker's processes makes then.
///
/// Nothing is laid out for thieves here: a worker whose slice was long lets in both at one boundary, and would lay out
/// the one that is next, which then comes home behind the other.
#[test]
fn what_is_sent_for_later_waits_for_what_is_made_after_it() {
    #[derive(Default)]
    struct Seen {
        busy: AtomicBool,
        sent: AtomicBool,
        first: AtomicUsize,
    }
    fn begins(seen: &Seen, who: usize) {
        _ = seen.first.compare_exchange(0, who, Ordering::AcqRel, Ordering::Acquire);
    }
    fn keeps_its_worker_until(set: impl Fn() -> bool) {
        while !set() {}
    }
    let sends = move || {
        for _ in 0..50 {
            let seen = Arc::new(Seen::default());
            let [of_parent, of_child, of_later] = std::array::from_fn(|_| seen.clone());
            let parent = csp::spawn_on(1, move || {
                of_parent.busy.store(true, Ordering::Release);
                keeps_its_worker_until(|| of_parent.sent.load(Ordering::Acquire));
                csp::spawn(move || begins(&of_child, 1)).join().unwrap();
            });
            keeps_its_worker_until(|| seen.busy.load(Ordering::Acquire));
            let later = Settings::later_at(Some(1));
            // SAFETY: what it borrows lives as long as it does.
            let later = unsafe { spawn_with(later, std::ptr::null(), move || begins(&of_later, 2)) }.unwrap();
            seen.sent.store(true, Ordering::Release);
            keeps_its_worker_until(|| seen.first.load(Ordering::Acquire) != 0);
            later.join().unwrap();
            parent.join().unwrap();
            assert_eq!(seen.first.load(Ordering::Relaxed), 1);
        }
    };
    let rt = Runtime::builder().workers(2).balance(Balance::None).build().unwrap();
    rt.run(|| csp::spawn_on(0, sends).join().unwrap());
}

#[test]
fn two_workers_really_run_at_once() {
    let rt = runtime(2);
    let barrier = Barrier::new(2);
    rt.run(|| {
        csp::scope(|s| {
            // Neither yields, so that each needs an OS thread of its own; the second is taken by the idle worker.
            s.spawn(|| barrier.wait());
            s.spawn(|| barrier.wait());
        });
    });
    rt.run(|| {
        csp::scope(|s| {
            s.spawn(|| barrier.wait());
            barrier.wait();
        });
    });
}

#[test]
fn eight_workers_really_run_at_once() {
    let rt = runtime(8);
    let barrier = Barrier::new(8);
    rt.run(|| csp::scope(|s| (0..8).for_each(|_| drop(s.spawn(|| barrier.wait())))));
}

#[test]
fn a_worker_that_does_not_exist_is_refused_with_the_number_of_those_that_do() {
    runtime(2).run(|| {
        let refused = csp::Builder::new().worker(2).spawn(|| ()).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::InvalidInput);
        assert!(refused.to_string().contains("no worker 2: the runtime has 2"), "{refused}");
        assert!(csp::spawn(|| csp::spawn_on(7, || ())).join().is_err());
    });
}

#[test]
fn os_threads_are_named_after_their_worker() {
    let rt = Runtime::builder().workers(2).thread_name("loom").build().unwrap();
    let names = rt.run(|| [0, 1].map(|n| csp::spawn_on(n, os_name).join().unwrap()));
    assert_eq!(names, ["loom-0", "loom-1"]);
}

#[test]
fn tasks_are_polled_on_workers_only() {
    let rt = runtime(2);
    let ids = threads(&rt);
    rt.block_on(async {
        for _ in 0..100 {
            let id = task::spawn(async {
                task::yield_now().await;
                os_thread()
            });
            assert!(ids.contains(&id.await.unwrap()));
        }
    });
}

#[test]
fn what_lies_in_a_queue_of_several_workers_is_taken_by_whoever_sleeps() {
    let rt = Runtime::builder().workers(3).queues(Queues::Shared).build().unwrap();
    // One worker computes; the one who is woken for the first task must see to it that the second is taken, too.
    for _ in 0..100 {
        rt.run(|| {
            let barrier = Barrier::new(3);
            csp::sleep(Duration::from_micros(300)); // so that the others sleep
            csp::scope(|s| {
                s.spawn(|| barrier.wait());
                s.spawn(|| barrier.wait());
                barrier.wait();
            });
        });
    }
}

/// A worker without a core steals nothing, unless those that have one stand: then their cores are free. Each of these
/// waits for all others on its OS thread, so they end only if each has a worker, on however many cores.
#[test]
fn what_waits_for_workers_that_all_stand_is_run_by_workers_beyond_the_cores() {
    let workers = 2 * thread::available_parallelism().unwrap().get() + 1;
    let rt = runtime(workers);
    for _ in 0..3 {
        rt.run(|| {
            let barrier = Barrier::new(workers);
            csp::scope(|s| {
                (1..workers).for_each(|_| drop(s.spawn(|| barrier.wait())));
                barrier.wait();
            });
        });
    }
}

#[test]
fn a_group_that_shares_with_no_other_is_woken_for_its_own_queue() {
    for balance in [Balance::None, Balance::Share] {
        for size in [1, 2] {
            let queues = Queues::PerGroup(size);
            let rt = Runtime::builder().workers(3).queues(queues).balance(balance).build().unwrap();
            for round in 0..20 {
                assert_eq!(rt.run(|| csp::spawn(move || round).join().unwrap()), round);
            }
        }
    }
}

#[test]
fn work_sharing_gives_away_what_was_spawned_while_nobody_was_idle() {
    let rt = Runtime::builder().workers(2).balance(Balance::Share).build().unwrap();
    let (both_busy, shared) = (Barrier::new(2), AtomicBool::new(false));
    let release = AtomicBool::new(false);
    let first = || {
        both_busy.wait();
        let here = thread::current().id();
        let look = || {
            shared.fetch_or(thread::current().id() != here, Ordering::Relaxed);
            // Long enough for a boundary; the rest is over at once when the aim is reached.
            let begun = Instant::now();
            while !shared.load(Ordering::Relaxed) && begun.elapsed() < Duration::from_millis(1) {
                std::hint::spin_loop();
            }
        };
        csp::scope(|s| {
            (0..2000).for_each(|_| drop(s.spawn(look)));
            release.store(true, Ordering::Release);
        });
    };
    let second = || {
        both_busy.wait();
        while !release.load(Ordering::Acquire) {
            thread::yield_now();
        }
    };
    rt.run(|| {
        csp::scope(|s| {
            csp::Builder::new().worker(0).spawn_scoped(s, first).unwrap();
            csp::Builder::new().worker(1).spawn_scoped(s, second).unwrap();
        });
    });
    assert!(shared.load(Ordering::Relaxed), "one worker ran all, the other slept");
}
