//! `yield_now`, `yield_local`, and the question whether something waits.

use super::pool::pool;
use super::*;
use jobs::Yield;

#[test]
fn with_nothing_to_do_a_yield_is_idle() {
    pool(1).install(|| {
        assert_eq!(jobs::current_thread_has_pending_tasks(), Some(false));
        assert_eq!(jobs::yield_now(), Some(Yield::Idle));
        assert_eq!(jobs::yield_local(), Some(Yield::Idle));
    });
}

#[test]
fn a_yield_runs_what_was_spawned_here() {
    let pool = pool(1);
    for yields in [jobs::yield_now, jobs::yield_local] {
        pool.install(|| {
            let ran = Arc::new(AtomicUsize::new(0));
            let inside = ran.clone();
            jobs::spawn(move || tick(&inside));
            assert_eq!(jobs::current_thread_has_pending_tasks(), Some(true));
            assert_eq!(pool.current_thread_has_pending_tasks(), Some(true));
            assert_eq!(yields(), Some(Yield::Executed));
            assert_eq!(ran.load(Ordering::Relaxed), 1);
            assert_eq!(yields(), Some(Yield::Idle));
        });
    }
}

#[test]
fn yields_drain_what_waits() {
    let pool = pool(2);
    pool.install(|| {
        let ran = AtomicUsize::new(0);
        jobs::scope(|s| {
            (0..10).for_each(|_| s.spawn(|_| tick(&ran)));
            while ran.load(Ordering::Relaxed) < 10 {
                pool.yield_now().expect("on a worker");
            }
        });
    });
}

#[test]
fn a_yield_runs_what_comes_from_outside() {
    let pool = pool(1);
    let ran = Arc::new(AtomicUsize::new(0));
    let begun = Arc::new(Barrier::new(2));
    let (inside, waits, both) = (ran.clone(), ran.clone(), begun.clone());
    pool.spawn(move || {
        both.wait();
        while waits.load(Ordering::Relaxed) == 0 {
            jobs::yield_now().expect("on a worker");
        }
        tick(&waits);
    });
    begun.wait();
    pool.spawn(move || tick(&inside));
    while ran.load(Ordering::Relaxed) < 2 {
        std::thread::yield_now();
    }
}
