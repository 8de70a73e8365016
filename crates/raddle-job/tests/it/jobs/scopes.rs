//! `scope` and `spawn`.

use super::*;

#[test]
fn a_scope_waits_for_jobs_that_borrow() {
    everywhere(|| {
        let mut numbers = [1, 2, 3];
        let sum = AtomicUsize::new(0);
        let returned = scope(|s| {
            for n in &mut numbers {
                let sum = &sum;
                s.spawn(move |_| {
                    *n *= 10;
                    sum.fetch_add(*n, Ordering::Relaxed);
                });
            }
            "returned"
        });
        assert_eq!((numbers, sum.into_inner(), returned), ([10, 20, 30], 60, "returned"));
    });
}

#[test]
fn jobs_spawn_jobs_in_the_same_and_in_other_scopes() {
    fn tree<'scope>(s: &Scope<'scope>, depth: u32, count: &'scope AtomicUsize) {
        count.fetch_add(1, Ordering::Relaxed);
        if depth > 0 {
            s.spawn(move |s| tree(s, depth - 1, count));
            s.spawn(move |_| scope(|t| t.spawn(|t| tree(t, depth - 1, count))));
        }
    }
    everywhere(|| {
        let count = AtomicUsize::new(0);
        scope(|s| tree(s, 8, &count));
        assert_eq!(count.into_inner(), (1 << 9) - 1);
    });
}

#[test]
fn an_inner_scope_does_not_wait_for_jobs_of_the_outer_one() {
    runtime(1).run(|| {
        let order = std::sync::Mutex::new(Vec::new());
        let note = |text| order.lock().unwrap().push(text);
        scope(|outer| {
            outer.spawn(|_| note("outer, first"));
            scope(|inner| {
                outer.spawn(|_| note("outer, second"));
                inner.spawn(|_| note("inner"));
            });
            note("between");
        });
        // On one worker the youngest runs first.
        assert_eq!(order.into_inner().unwrap(), ["inner", "between", "outer, second", "outer, first"]);
    });
}

#[test]
fn jobs_of_a_scope_may_wait_for_each_other_and_for_the_body() {
    everywhere(|| {
        let steps = AtomicUsize::new(0);
        let wait_for = |n| {
            while steps.load(Ordering::Acquire) != n {
                csp::yield_now();
            }
            steps.fetch_add(1, Ordering::AcqRel);
        };
        scope(|s| {
            (0..50).for_each(|n| s.spawn(move |_| wait_for(2 * n + 1)));
            (0..50).for_each(|n| wait_for(2 * n));
        });
        assert_eq!(steps.into_inner(), 100);
    });
}

#[test]
fn an_idle_worker_takes_jobs_of_a_busy_scope() {
    for _ in 0..10 {
        runtime(2).run(|| {
            let barrier = Barrier::new(2);
            scope(|s| {
                s.spawn(|_| meet(&barrier));
                barrier.wait();
            });
        });
    }
}

#[test]
fn every_job_runs_and_a_panic_comes_out_of_the_scope() {
    everywhere(|| {
        let counted = AtomicUsize::new(0);
        let job_panics = || {
            scope(|s| {
                for n in 0..100 {
                    let counted = &counted;
                    s.spawn(move |_| {
                        counted.fetch_add(1, Ordering::Relaxed);
                        if n % 10 == 3 {
                            throw("job");
                        }
                    });
                }
            });
        };
        assert_eq!(panic_of(job_panics), "job");
        assert_eq!(counted.load(Ordering::Relaxed), 100);
        let body_panics = || {
            scope(|s| {
                for _ in 0..100 {
                    s.spawn(|_| tick(&counted));
                }
                throw("body");
            });
        };
        assert_eq!(panic_of(body_panics), "body");
        assert_eq!(counted.load(Ordering::Relaxed), 200);
    });
}

#[test]
fn a_body_may_stay_on_its_os_thread() {
    let here = std::thread::current().id();
    let elsewhere = AtomicBool::new(false);
    let not_send = std::rc::Rc::new(7);
    let seven = in_place_scope(|s| {
        assert_eq!(std::thread::current().id(), here);
        s.spawn(|_| elsewhere.store(std::thread::current().id() != here, Ordering::Relaxed));
        *not_send
    });
    assert_eq!((seven, elsewhere.into_inner()), (7, true));
}

#[test]
fn a_spawned_job_runs_sometime() {
    everywhere(|| {
        let (tell, told) = mpsc::channel();
        raddle::spawn(move || tell.send(7).unwrap());
        while told.try_recv() != Ok(7) {
            csp::yield_now();
        }
    });
}

#[test]
fn a_panic_of_a_spawned_job_aborts_the_program() {
    let output = in_child("jobs::scopes::a_panic_of_a_spawned_job_aborts_the_program", || {
        runtime(1).run(|| raddle::spawn(|| throw("nobody sees it")));
        unreachable!("the program has been aborted");
    });
    assert!(!output.status.success());
    assert_said(&output, &["a spawned job panicked"]);
}

/// What a half of a `join` spawns in a scope around it is counted before the half counts as ended, wherever it ran.
#[test]
fn a_scope_waits_for_what_a_half_of_a_join_has_spawned_that_was_taken() {
    everywhere(|| {
        for _ in 0..100 {
            let (begun, ran) = (AtomicBool::new(false), AtomicUsize::new(0));
            let until_begun = || {
                while !begun.load(Ordering::Acquire) {
                    csp::yield_now();
                }
            };
            scope(|s| {
                join(until_begun, || {
                    // More than what thieves ask for.
                    (0..20).for_each(|_| s.spawn(|_| tick(&ran)));
                    begun.store(true, Ordering::Release);
                });
            });
            assert_eq!(ran.into_inner(), 20, "the scope was over before its jobs");
        }
    });
}

#[test]
fn an_inner_scope_in_order_runs_its_jobs_before_those_around_it() {
    runtime(1).run(|| {
        let order = std::sync::Mutex::new(Vec::new());
        scope(|outer| {
            for tens in [10, 20, 30] {
                let order = &order;
                outer.spawn(move |_| {
                    scope_fifo(|inner| {
                        (0..3).for_each(|n| inner.spawn_fifo(move |_| order.lock().unwrap().push(tens + n)));
                    });
                });
            }
        });
        assert_eq!(order.into_inner().unwrap(), [30, 31, 32, 20, 21, 22, 10, 11, 12]);
    });
}

/// The queue of such a scope is shared: each turn runs one job, on whatever worker, and jobs may wait for each other.
#[test]
fn jobs_in_order_run_once_each_and_may_wait_for_each_other() {
    everywhere(|| {
        let steps = AtomicUsize::new(0);
        scope_fifo(|s| {
            for n in 0..50 {
                let steps = &steps;
                s.spawn_fifo(move |s| {
                    // The next one runs only after this one has begun.
                    while steps.load(Ordering::Acquire) < n {
                        csp::yield_now();
                    }
                    s.spawn_fifo(move |_| tick(steps));
                });
            }
        });
        assert_eq!(steps.into_inner(), 50);
    });
}
