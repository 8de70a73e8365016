//! `broadcast`, `spawn_broadcast`, and those of scopes.

use super::pool::pool;
use super::*;
use std::sync::mpsc;

#[test]
fn each_worker_runs_it_once() {
    for workers in [1, 2, 5] {
        let pool = pool(workers);
        let all: Vec<usize> = (0..workers).collect();
        let indices = pool.broadcast(|context| {
            assert_eq!(context.num_threads(), workers);
            assert_eq!(jobs::current_thread_index(), Some(context.index()));
            assert!(format!("{context:?}").starts_with("BroadcastContext"));
            context.index()
        });
        assert_eq!(indices, all);
        assert_eq!(pool.install(|| jobs::broadcast(|context| context.index())), all);
    }
    let everywhere = jobs::broadcast(|context| context.num_threads());
    assert_eq!(everywhere, vec![jobs::current_num_threads(); jobs::current_num_threads()]);
}

#[test]
fn workers_run_it_at_once() {
    let barrier = Barrier::new(3);
    let leaders = pool(3).broadcast(|_| barrier.wait().is_leader());
    assert_eq!(leaders.iter().filter(|leader| **leader).count(), 1);
}

#[test]
fn a_panic_goes_on_when_all_have_run() {
    let (pool, ran) = (pool(3), AtomicUsize::new(0));
    let bad = || {
        pool.broadcast(|context| {
            tick(&ran);
            if context.index() == 1 {
                throw("one");
            }
        })
    };
    assert_eq!((panic_of(bad), ran.into_inner()), ("one", 3));
}

#[test]
fn broadcasts_nest_and_join() {
    let pool = pool(2);
    let count = AtomicUsize::new(0);
    pool.broadcast(|_| {
        jobs::broadcast(|_| tick(&count));
        jobs::join(|| tick(&count), || tick(&count));
    });
    assert_eq!(count.into_inner(), 8);
}

#[test]
fn a_scope_waits_for_its_broadcasts() {
    everywhere(|| {
        let (pool, count) = (pool(2), AtomicUsize::new(0));
        let job = |context: jobs::BroadcastContext<'_>| {
            count.fetch_add(1 + context.index(), Ordering::Relaxed);
        };
        pool.scope(|s| s.spawn_broadcast(|_, context| job(context)));
        pool.scope_fifo(|s| s.spawn_broadcast(|_, context| job(context)));
        pool.in_place_scope(|s| s.spawn_broadcast(|s, _| s.spawn_broadcast(|_, context| job(context))));
        pool.in_place_scope_fifo(|s| {
            s.spawn_broadcast(|s, _| s.spawn_fifo(|_| tick(&count)));
        });
        assert_eq!(count.load(Ordering::Relaxed), 3 + 3 + 6 + 2);
        jobs::scope(|s| {
            s.spawn_broadcast(|_, context| assert_eq!(context.num_threads(), jobs::current_num_threads()))
        });
        let bad = || pool.scope(|s| s.spawn_broadcast(|_, _| throw("job")));
        assert_eq!(panic_of(bad), "job");
    });
}

#[test]
fn nobody_waits_for_what_is_spawned() {
    let (tell, told) = mpsc::channel();
    let pool = pool(2);
    let inside = tell.clone();
    pool.spawn_broadcast(move |context| inside.send(context.index()).unwrap());
    pool.install(|| jobs::spawn_broadcast(move |context| tell.send(10 + context.index()).unwrap()));
    let mut all: Vec<usize> = told.iter().collect();
    all.sort_unstable();
    assert_eq!(all, [0, 1, 10, 11]);
}
