//! `scope`, `spawn`, `future` and the loops: what rayon-core promises of the first two, and that all of them may wait.

use crate::child::{assert_said, in_child};
use crate::runtime;
use crate::watch::{Progress, Watchdog};
use raddle_core::{
    Future, Scope, csp, future, in_place_scope, join, par_for, par_for_each, par_map, scope, task, thread,
};
use std::cell::RefCell;
use std::future::Future as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

/// In a process of one, two and eight workers, and on an OS thread, which uses the default runtime.
fn everywhere(test: impl Fn() + Sync) {
    for workers in [1, 2, 8] {
        let _dog = Watchdog::new(format!("jobs, {workers} workers"), Progress::default(), || {
            String::from("it hangs")
        });
        runtime(workers).run(&test);
    }
    test();
}

fn panic_of<T>(f: impl FnOnce() -> T) -> &'static str {
    let panic = catch_unwind(AssertUnwindSafe(f)).err().expect("it panics");
    panic.downcast_ref::<&str>().expect("a text")
}

fn tick(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::Relaxed);
}

/// Blocks the OS thread, so that each side needs a worker of its own.
fn meet(barrier: &Barrier) {
    barrier.wait();
}

fn throw(text: &'static str) {
    resume_unwind(Box::new(text));
}

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
fn large_closures_are_moved_and_dropped_once() {
    everywhere(|| {
        let counted = Arc::new(());
        scope(|s| {
            for _ in 0..10 {
                let (counted, big) = (counted.clone(), [7_u8; 1000]);
                s.spawn(move |_| assert_eq!((Arc::strong_count(&counted) > 1, big[999]), (true, 7)));
            }
        });
        let futures: Vec<Future<(Arc<()>, [u8; 300])>> =
            (0..10).map(|_| counted.clone()).map(|c| future(move || (c, [1; 300]))).collect();
        let values: Vec<_> = futures.into_iter().map(Future::get).collect();
        assert_eq!(Arc::strong_count(&counted), 11);
        drop(values);
        assert_eq!(Arc::strong_count(&counted), 1);
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
        raddle_core::spawn(move || tell.send(7).unwrap());
        while told.try_recv() != Ok(7) {
            csp::yield_now();
        }
    });
}

#[test]
fn a_panic_of_a_spawned_job_aborts_the_program() {
    let output = in_child("jobs::a_panic_of_a_spawned_job_aborts_the_program", || {
        runtime(1).run(|| raddle_core::spawn(|| throw("nobody sees it")));
        unreachable!("the program has been aborted");
    });
    assert!(!output.status.success());
    assert_said(&output, &["a spawned job panicked"]);
}

#[test]
fn futures_have_their_values_whoever_computes_them_and_in_whatever_order() {
    everywhere(|| {
        let make = || (0..1000_u64).map(|n| future(move || n * n)).collect::<Vec<_>>();
        let square = |(n, f): (u64, Future<u64>)| assert_eq!(f.get(), n * n);
        (0..).zip(make()).for_each(square);
        (0..).zip(make()).collect::<Vec<_>>().into_iter().rev().for_each(square);
        let (odd, even): (Vec<_>, Vec<_>) = (0..).zip(make()).partition(|(n, _)| n % 2 == 1);
        odd.into_iter().chain(even).for_each(square);
    });
}

#[test]
fn a_future_may_be_asked_for_elsewhere_and_waits_for_what_its_maker_does_later() {
    everywhere(|| {
        let (give, given) = mpsc::channel();
        let waits = future(move || {
            loop {
                match given.try_recv() {
                    Ok(value) => return value,
                    Err(_) => csp::yield_now(),
                }
            }
        });
        let asker = csp::spawn(move || waits.get());
        give.send(42).unwrap();
        assert_eq!(asker.join().unwrap(), 42);
    });
}

#[test]
fn a_future_that_nobody_asks_for_runs_and_its_value_is_dropped() {
    everywhere(|| {
        let counted = Arc::new(());
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..100 {
            let (counted, ran) = (counted.clone(), ran.clone());
            drop(future(move || {
                ran.fetch_add(1, Ordering::Relaxed);
                counted
            }));
        }
        while ran.load(Ordering::Relaxed) < 100 || Arc::strong_count(&counted) > 1 {
            csp::yield_now();
        }
    });
}

#[test]
fn futures_outlive_the_process_that_made_them() {
    everywhere(|| {
        let made = csp::spawn(|| (0..100_u64).map(|n| future(move || n)).collect::<Vec<_>>());
        let futures = made.join().unwrap();
        assert_eq!(futures.into_iter().map(Future::get).sum::<u64>(), 4950);
        let from_join = join(|| future(|| 1), || future(|| 2));
        assert_eq!(from_join.0.get() + from_join.1.get(), 3);
    });
}

#[test]
fn futures_and_jobs_may_be_mixed_in_one_flow() {
    everywhere(|| {
        let mut kept = Vec::new();
        let ran = AtomicUsize::new(0);
        let sum = scope(|s| {
            for n in 0..50_usize {
                kept.push(future(move || n));
                s.spawn(|s| {
                    ran.fetch_add(1, Ordering::Relaxed);
                    s.spawn(|_| tick(&ran));
                });
            }
            let (a, b) = join(|| kept.swap_remove(20).get(), || future(|| 1).get());
            a + b
        });
        assert_eq!((sum, ran.into_inner()), (21, 100));
        assert_eq!(kept.into_iter().map(Future::get).sum::<usize>(), 1225 - 20);
    });
}

#[test]
fn the_panic_of_a_future_goes_to_who_asks() {
    everywhere(|| {
        let bad = || {
            future(|| {
                throw("future");
                1
            })
        };
        assert_eq!(panic_of(|| bad().get()), "future");
        let elsewhere = bad();
        let asker = csp::spawn(move || elsewhere.get());
        // Waiting for the asker lets go of the future.
        let panic = asker.join().unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"future"));
        drop(bad());
    });
}

#[test]
fn cells_use_scopes_at_once_and_make_futures_for_others() {
    let (sum, late) = runtime(2).block_on(async {
        let cell = task::spawn(async {
            let sum = AtomicUsize::new(0);
            scope(|s| (0..10).for_each(|_| s.spawn(|_| tick(&sum))));
            (sum.into_inner(), future(|| 7))
        });
        cell.await.unwrap()
    });
    assert_eq!((sum, late.get()), (10, 7));
}

#[test]
fn loops_take_every_turn_once() {
    everywhere(|| {
        for length in [0, 1, 2, 3, 1000] {
            let turns: Vec<AtomicUsize> = (0..length).map(|_| AtomicUsize::new(0)).collect();
            par_for(0..length, |n| tick(&turns[n]));
            assert!(turns.iter().all(|turn| turn.load(Ordering::Relaxed) == 1));
            let mut numbers: Vec<usize> = (0..length).collect();
            par_for_each(&mut numbers, |n| *n += 1);
            assert_eq!(par_map(&numbers, |n| n * 2), (1..=length).map(|n| n * 2).collect::<Vec<_>>());
        }
        assert_eq!(
            panic_of(|| par_for(0..10, |n| if n == 3 {
                throw("turn")
            })),
            "turn"
        );
    });
}

#[test]
fn an_idle_worker_takes_half_of_what_is_left_of_a_loop() {
    runtime(2).run(|| {
        let barrier = Barrier::new(2);
        par_for(0..2, |_| meet(&barrier));
    });
}

/// Makes a future when it is dropped.
struct Late(mpsc::Sender<()>);

impl Drop for Late {
    fn drop(&mut self) {
        let sender = self.0.clone();
        drop(future(move || sender.send(())));
    }
}

#[test]
fn what_a_destructor_or_a_dropped_result_forks_runs() {
    thread_local! {
        static LOCAL: RefCell<Option<Late>> = const { RefCell::new(None) };
    }
    let (sender, receiver) = mpsc::channel();
    runtime(1).run(move || {
        let own = sender.clone();
        // Where there are no threads there is nothing to show.
        if let Ok(thread) = thread::Builder::new().spawn(move || LOCAL.set(Some(Late(own)))) {
            thread.join().unwrap();
        } else {
            sender.send(()).unwrap();
        }
        drop(csp::spawn(move || Late(sender)));
    });
    assert_eq!(receiver.iter().count(), 2);
}

/// The worker that rings an alarm is idle, and about to sleep.
#[test]
fn a_future_that_a_waker_makes_runs() {
    struct Unparks(csp::Process);
    impl Wake for Unparks {
        fn wake(self: Arc<Self>) {
            let process = self.0.clone();
            drop(future(move || process.unpark()));
        }
    }
    runtime(1).run(|| {
        let waker = Waker::from(Arc::new(Unparks(csp::current().unwrap())));
        let mut sleep = pin!(task::sleep(Duration::from_millis(1)));
        if sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            csp::park();
        }
    });
}
