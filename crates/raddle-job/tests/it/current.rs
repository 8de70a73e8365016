//! The calling thread as the first worker of a pool: nothing else is at work under its number.

use crate::child::{assert_said, assert_success, in_child};
use crate::watch::{Progress, Watchdog};
use raddle::{ThreadPool, ThreadPoolBuilder, Yield, current_thread_index, join, scope, task, yield_now};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// On a thread that ends, since it stays in its pool: a pool of `n` workers, of which it is the first.
fn as_first_of(n: usize, test: impl FnOnce(ThreadPool) + Send + 'static) {
    let _dog = Watchdog::new(format!("a thread in a pool of {n}"), Progress::default(), String::new);
    let pool = move || ThreadPoolBuilder::new().num_threads(n).use_current_thread().build().unwrap();
    std::thread::spawn(move || test(pool())).join().unwrap();
}

#[test]
fn what_the_thread_spawns_runs_elsewhere_while_it_does_not_wait() {
    as_first_of(2, |_pool| {
        for _ in 0..200 {
            let (tell, told) = mpsc::channel();
            raddle::spawn(move || tell.send(current_thread_index()).unwrap());
            // By no means of Raddle's.
            assert_eq!(told.recv().unwrap(), Some(1));
        }
    });
}

#[test]
fn without_other_workers_jobs_run_when_the_thread_yields() {
    as_first_of(1, |pool| {
        let ran = Arc::new(AtomicUsize::new(0));
        for round in 1..100 {
            let count = ran.clone();
            pool.spawn(move || {
                assert_eq!(current_thread_index(), Some(0));
                count.fetch_add(1, Ordering::Relaxed);
            });
            std::thread::yield_now();
            assert_eq!(pool.current_thread_has_pending_tasks(), Some(true));
            assert_eq!(ran.load(Ordering::Relaxed), round - 1);
            while yield_now() == Some(Yield::Executed) {}
            assert_eq!(ran.load(Ordering::Relaxed), round);
            assert_eq!(pool.current_thread_has_pending_tasks(), Some(false));
        }
        assert_eq!((pool.yield_now(), pool.yield_local()), (Some(Yield::Idle), Some(Yield::Idle)));
        assert_eq!(join(current_thread_index, || scope(|_| 7)), (Some(0), 7));
    });
}

/// Who is at work under each number.
struct AtWork([AtomicBool; 3]);

impl AtWork {
    fn alone<T>(&self, f: impl FnOnce() -> T) -> T {
        let mine = &self.0[current_thread_index().unwrap()];
        assert!(!mine.swap(true, Ordering::Relaxed), "two at work under one number");
        let out = f();
        mine.store(false, Ordering::Relaxed);
        out
    }
}

#[test]
fn one_at_a_time_is_at_work_under_a_number() {
    fn computes(work: &AtWork) {
        work.alone(|| (0..500_u64).map(std::hint::black_box).sum::<u64>());
    }
    let at_work = Arc::new(AtWork(Default::default()));
    as_first_of(3, move |pool| {
        let ended = Arc::new(AtomicUsize::new(0));
        for _ in 0..300 {
            let (work, count) = (at_work.clone(), ended.clone());
            pool.spawn(move || {
                computes(&work);
                count.fetch_add(1, Ordering::Relaxed);
            });
            computes(&at_work);
            scope(|s| (0..8).for_each(|_| s.spawn(|_| computes(&at_work))));
            pool.install(|| computes(&at_work));
            join(|| computes(&at_work), || computes(&at_work));
            assert_eq!(pool.broadcast(|context| at_work.alone(|| context.index())), [0, 1, 2]);
        }
        while ended.load(Ordering::Relaxed) < 300 {
            yield_now();
        }
    });
}

#[test]
fn whoever_asks_for_all_workers_waits_for_the_thread() {
    as_first_of(2, |pool| {
        let pool = Arc::new(pool);
        let (asks, over) = (pool.clone(), Arc::new(AtomicBool::new(false)));
        let done = over.clone();
        let other = std::thread::spawn(move || {
            let indices = asks.broadcast(|context| {
                raddle::csp::sleep(Duration::from_millis(1));
                context.index()
            });
            done.store(true, Ordering::Relaxed);
            indices
        });
        while !over.load(Ordering::Relaxed) {
            yield_now();
        }
        assert_eq!(other.join().unwrap(), [0, 1]);
    });
}

#[test]
fn a_pool_that_is_dropped_runs_what_is_left_and_ends() {
    let (tell, told) = mpsc::channel();
    let ran = tell.clone();
    std::thread::spawn(move || {
        let builder = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
        let pool = builder.exit_handler(move |index| tell.send(index).unwrap()).build().unwrap();
        pool.spawn_broadcast(move |context| ran.send(10 + context.index()).unwrap());
        drop(pool);
        // The handler stays with the pool, which stays with this thread.
        let mut all: Vec<usize> = told.iter().take(3).collect();
        all.sort_unstable();
        assert_eq!(all, [1, 10, 11]);
    })
    .join()
    .unwrap();
}

#[test]
fn a_thread_that_ends_leaves_its_number_to_its_worker() {
    let (give, given) = mpsc::channel();
    std::thread::spawn(move || {
        let builder = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        give.send(builder.build().unwrap()).unwrap();
    })
    .join()
    .unwrap();
    assert_eq!(given.recv().unwrap().install(current_thread_index), Some(0));
}

/// Alarms are the first worker's for whoever is none.
#[test]
fn alarms_ring_while_the_thread_is_at_work_or_waits_for_one() {
    let output = in_child("current::alarms_ring_while_the_thread_is_at_work_or_waits_for_one", || {
        // SAFETY: a hang ends.
        unsafe { libc::alarm(900) };
        ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global().unwrap();
        task::block_on(task::sleep(Duration::from_millis(2)));
        let sleeps = || std::thread::spawn(|| task::block_on(task::sleep(Duration::from_millis(2))));
        sleeps().join().unwrap();
        raddle::spawn(|| ());
        sleeps().join().unwrap();
        eprintln!("all have woken");
    });
    assert_success(&output);
    assert_said(&output, &["all have woken"]);
}
