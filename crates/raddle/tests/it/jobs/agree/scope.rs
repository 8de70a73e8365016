//! `scope` and `in_place_scope`.

use super::*;
use std::rc::Rc;

#[test]
fn a_scope_returns_what_its_body_returns_when_all_jobs_have_ended() {
    everywhere(|| {
        let mut numbers = [1, 2, 3, 4];
        let ended = AtomicUsize::new(0);
        let value = jobs::scope(|s| {
            for number in &mut numbers {
                s.spawn(|_| {
                    *number *= 2;
                    ended.fetch_add(1, Ordering::Relaxed);
                });
            }
            "value"
        });
        assert_eq!((value, numbers, ended.into_inner()), ("value", [2, 4, 6, 8], 4));
        assert_eq!(jobs::scope(|_| 7), 7);
    });
}

#[test]
fn a_job_outlives_the_job_that_spawned_it() {
    fn spawn<'scope>(s: &jobs::Scope<'scope>, depth: usize, count: &'scope AtomicUsize) {
        count.fetch_add(1, Ordering::Relaxed);
        if depth > 0 {
            s.spawn(move |s| spawn(s, depth - 1, count));
            s.spawn(move |s| spawn(s, depth - 1, count));
        }
    }
    everywhere(|| {
        let count = AtomicUsize::new(0);
        jobs::scope(|s| spawn(s, 7, &count));
        assert_eq!(count.into_inner(), 255);
    });
}

#[test]
fn a_job_may_be_spawned_through_a_shared_scope_by_anybody_inside() {
    everywhere(|| {
        let count = AtomicUsize::new(0);
        jobs::scope(|s| {
            let tick = |_: &jobs::Scope<'_>| {
                count.fetch_add(1, Ordering::Relaxed);
            };
            jobs::join(|| s.spawn(tick), || s.spawn(tick));
            jobs::scope(|inner| {
                inner.spawn(|_| s.spawn(tick));
                s.spawn(tick);
            });
        });
        assert_eq!(count.into_inner(), 4);
    });
}

#[test]
fn an_inner_scope_ends_before_the_outer_one() {
    everywhere(|| {
        let ended = AtomicUsize::new(0);
        jobs::scope(|s| {
            for _ in 0..10 {
                s.spawn(|_| {
                    let inner = AtomicUsize::new(0);
                    jobs::scope(|t| {
                        for _ in 0..10 {
                            t.spawn(|_| tick(&inner));
                        }
                    });
                    assert_eq!(inner.into_inner(), 10);
                    ended.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(ended.into_inner(), 10);
    });
}

#[test]
fn a_body_in_place_stays_on_its_thread_and_need_not_be_send() {
    let (here, shared) = (std::thread::current().id(), Rc::new(7));
    let elsewhere = AtomicUsize::new(0);
    let value = jobs::in_place_scope(|s| {
        assert_eq!(std::thread::current().id(), here);
        for _ in 0..10 {
            s.spawn(|_| {
                let moved = std::thread::current().id() != here;
                elsewhere.fetch_add(usize::from(moved), Ordering::Relaxed);
            });
        }
        *shared
    });
    assert_eq!((value, elsewhere.into_inner()), (7, 10));
    everywhere(|| {
        let (shared, count) = (Rc::new(7), AtomicUsize::new(0));
        let value = jobs::in_place_scope(|s| {
            s.spawn(|s| s.spawn(|_| tick(&count)));
            *shared
        });
        assert_eq!((value, count.into_inner()), (7, 1));
    });
}

#[test]
fn a_body_from_outside_runs_on_a_worker() {
    let here = std::thread::current().id();
    assert!(jobs::scope(|_| std::thread::current().id()) != here);
    assert!(jobs::scope_fifo(|_| std::thread::current().id()) != here);
    assert!(jobs::join(|| std::thread::current().id(), || ()).0 != here);
}

#[test]
fn two_workers_share_a_scope() {
    for _ in 0..10 {
        on_workers(2, || {
            let barrier = Barrier::new(2);
            jobs::scope(|s| {
                s.spawn(|_| meet(&barrier));
                s.spawn(|_| meet(&barrier));
            });
            jobs::scope_fifo(|s| {
                s.spawn_fifo(|_| meet(&barrier));
                s.spawn_fifo(|_| meet(&barrier));
            });
        });
    }
}

#[test]
fn what_jobs_captured_is_dropped_once() {
    everywhere(|| {
        let dropped = AtomicUsize::new(0);
        jobs::scope(|s| {
            for large in [false, true] {
                let (captured, bytes) = (Dropped(&dropped), [u8::from(large); 300]);
                if large {
                    s.spawn(move |_| assert_eq!((bytes[299], drop(captured)), (1, ())));
                } else {
                    s.spawn(move |_| drop(captured));
                }
            }
        });
        assert_eq!(dropped.into_inner(), 2);
    });
}
