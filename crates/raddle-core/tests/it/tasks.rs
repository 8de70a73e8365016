//! Tasks: spawn, await, wake, end.

use crate::child::{assert_aborted, in_child};
use crate::runtime;
use raddle::{csp, task};
use std::future::{Future, pending, poll_fn};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

struct CountWakes(AtomicUsize);

impl Wake for CountWakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Panics when it is dropped.
struct Mine;

impl Drop for Mine {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "a mine was dropped");
    }
}

/// Counts its own drops.
#[derive(Clone)]
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_cell_gives_its_output_to_who_awaits_it() {
    for workers in [1, 2] {
        let sum = runtime(workers).block_on(async {
            let tasks: Vec<_> = (0..100_u64).map(|n| task::spawn(async move { n })).collect();
            let mut sum = 0;
            for task in tasks {
                sum += task.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 4950);
    }
}

#[test]
fn outputs_of_any_shape_arrive() {
    #[repr(align(128))]
    struct Aligned(u8);
    runtime(2).block_on(async {
        assert_eq!(task::spawn(async { [7_u8; 1000] }).await.unwrap(), [7; 1000]);
        let aligned = task::spawn(async { Aligned(3) }).await.unwrap();
        assert_eq!((aligned.0, std::ptr::from_ref(&aligned).addr() % 128), (3, 0));
        task::spawn(async {}).await.unwrap();
        assert_eq!(task::spawn(async { String::from("text") }).await.unwrap(), "text");
    });
}

#[test]
fn a_cell_keeps_what_it_has_over_a_yield_and_a_sleep() {
    let values = runtime(2).block_on(async {
        let task = task::spawn(async {
            let mut seen = vec![1];
            task::yield_now().await;
            seen.push(2);
            task::sleep(Duration::from_millis(1)).await;
            seen.push(3);
            seen
        });
        task.await.unwrap()
    });
    assert_eq!(values, [1, 2, 3]);
}

#[test]
fn a_panic_goes_to_the_joiner_and_the_worker_goes_on() {
    let rt = runtime(1);
    rt.block_on(async {
        let payload = task::spawn(async { resume_unwind(Box::new(42_u32)) }).await.unwrap_err();
        assert_eq!(payload.into_panic().downcast_ref::<u32>(), Some(&42));
        assert_eq!(task::spawn(async { 1 }).await.unwrap(), 1);
    });
}

#[test]
fn a_detached_cell_goes_on() {
    let rt = runtime(1);
    let (give, take) = mpsc::channel();
    rt.run(|| {
        drop(task::spawn(async move {
            task::yield_now().await;
            give.send(5).unwrap();
        }));
    });
    assert_eq!(take.recv().unwrap(), 5);
}

#[test]
fn is_finished_tells_the_end() {
    runtime(1).block_on(async {
        let task = task::spawn(async {});
        assert!(!task.is_finished(), "one worker, and it has not yielded");
        while !task.is_finished() {
            task::yield_now().await;
        }
        task.await.unwrap();
    });
}

#[test]
fn an_os_thread_wakes_a_task() {
    struct Shared(Mutex<(bool, Option<Waker>)>);
    for workers in [1, 2] {
        let rt = runtime(workers);
        for _ in 0..200 {
            let shared = Arc::new(Shared(Mutex::new((false, None))));
            let seen = shared.clone();
            let waker = std::thread::spawn(move || {
                let mut state = shared.0.lock().unwrap();
                state.0 = true;
                if let Some(waker) = state.1.take() {
                    waker.wake();
                }
            });
            rt.block_on(async move {
                task::spawn(poll_fn(move |context| {
                    let mut state = seen.0.lock().unwrap();
                    state.1 = Some(context.waker().clone());
                    if state.0 { Poll::Ready(()) } else { Poll::Pending }
                }))
                .await
                .unwrap();
            });
            waker.join().unwrap();
        }
    }
}

#[test]
fn a_wake_after_the_end_is_harmless_and_a_kept_waker_keeps_no_future() {
    let rt = runtime(1);
    let kept = Arc::new(Mutex::new(Vec::new()));
    let drops = Arc::new(AtomicUsize::new(0));
    let (keep, counted) = (kept.clone(), Counted(drops.clone()));
    rt.block_on(async move {
        let task = task::spawn(async move {
            let _until_the_end = counted;
            poll_fn(|context: &mut Context<'_>| {
                keep.lock().unwrap().extend((0..100).map(|_| context.waker().clone()));
                Poll::Ready(())
            })
            .await;
        });
        task.await.unwrap();
    });
    assert_eq!(drops.load(Ordering::Relaxed), 1, "the future is dropped at its end");
    for (n, waker) in kept.lock().unwrap().drain(..).enumerate() {
        if n % 2 == 0 { waker.wake() } else { waker.wake_by_ref() }
    }
    assert_eq!(rt.shutdown(), 0);
}

#[test]
fn many_wakes_before_a_poll_are_one_poll() {
    let rt = runtime(1);
    let polls = Arc::new(AtomicUsize::new(0));
    let counted = polls.clone();
    rt.block_on(async move {
        let task = task::spawn(poll_fn(move |context: &mut Context<'_>| {
            let before = counted.fetch_add(1, Ordering::Relaxed);
            (0..10).for_each(|_| context.waker().wake_by_ref());
            if before == 3 { Poll::Ready(()) } else { Poll::Pending }
        }));
        task.await.unwrap();
    });
    assert_eq!(polls.load(Ordering::Relaxed), 4);
}

#[test]
fn a_cell_whose_waker_nobody_holds_ends_with_an_error() {
    let drops = Arc::new(AtomicUsize::new(0));
    let counted = Counted(drops.clone());
    let rt = runtime(1);
    rt.block_on(async move {
        let lost = task::spawn(async move {
            let _counted = counted;
            pending::<()>().await;
        });
        let error = lost.await.unwrap_err();
        assert!(error.is_cancelled() && error.to_string().contains("nobody held its waker"), "{error}");
    });
    assert_eq!(drops.load(Ordering::Relaxed), 1);
    assert_eq!(rt.shutdown(), 0);
}

#[test]
fn a_last_waker_may_be_dropped_outside() {
    let rt = runtime(1);
    let (give, take) = mpsc::channel();
    let lost = rt.run(move || {
        task::spawn(poll_fn(move |context: &mut Context<'_>| {
            give.send(context.waker().clone()).unwrap();
            Poll::<()>::Pending
        }))
    });
    drop(take.recv().unwrap());
    assert!(task::block_on(lost).is_err());
    assert_eq!(rt.shutdown(), 0, "it is gone, not abandoned");
}

#[test]
fn a_panic_in_the_drop_of_an_unwanted_output_aborts() {
    let output = in_child("tasks::a_panic_in_the_drop_of_an_unwanted_output_aborts", || {
        runtime(1).run(|| {
            drop(task::spawn(async { Mine }));
            csp::sleep(Duration::from_millis(10));
        });
    });
    assert_aborted(&output, &["raddle: fatal:", "panicked while it was dropped"]);
}

#[test]
fn a_panic_in_the_drop_of_a_future_aborts() {
    let output = in_child("tasks::a_panic_in_the_drop_of_a_future_aborts", || {
        runtime(1).block_on(async {
            let mine = Mine;
            let _lost = task::spawn(async move {
                let _mine = mine;
                pending::<()>().await;
            })
            .await;
        });
    });
    assert_aborted(&output, &["raddle: fatal:", "panicked while it was dropped"]);
}

#[test]
fn a_waker_that_panics_is_the_end() {
    struct Bad;
    impl Wake for Bad {
        fn wake(self: Arc<Self>) {
            panic!("a bad waker");
        }
    }
    let output = in_child("tasks::a_waker_that_panics_is_the_end", || {
        runtime(1).run(|| {
            let waker = Waker::from(Arc::new(Bad));
            // One whose time is over when it is looked at wakes nobody.
            let _kept = loop {
                let mut sleep = Box::pin(task::sleep(Duration::from_millis(1)));
                if sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
                    break sleep;
                }
            };
            csp::sleep(Duration::from_secs(10));
        });
    });
    assert_aborted(&output, &["a bad waker", "a worker panicked outside of any process or task"]);
}

#[test]
fn to_wait_inside_a_cell_panics_and_says_what_to_do() {
    let waits: [(&str, fn()); 7] = [
        ("csp::park", csp::park),
        ("csp::park_timeout", || csp::park_timeout(Duration::ZERO)),
        ("csp::sleep", || csp::sleep(Duration::from_millis(1))),
        ("csp::yield_now", csp::yield_now),
        ("csp::scope", || csp::scope(|_| ())),
        ("task::block_on", || task::block_on(async {})),
        ("join", || drop(csp::spawn(csp::park).join())),
    ];
    let rt = runtime(1);
    for (name, wait) in waits {
        let panic = rt.block_on(async move { task::spawn(async move { wait() }).await }).unwrap_err();
        let said = panic.to_string();
        assert!(said.contains(&format!("`{name}` waits")) && said.contains(".await"), "{said}");
    }
    assert_eq!(rt.shutdown(), 1, "the one that parks");
}

#[test]
fn a_finished_process_may_be_joined_in_a_task() {
    let rt = runtime(1);
    let seven = rt.run(|| {
        let process = csp::spawn(|| 7);
        while !process.is_finished() {
            csp::yield_now();
        }
        task::block_on(task::spawn(async move { process.join().unwrap() })).unwrap()
    });
    assert_eq!(seven, 7);
}

#[test]
fn a_cell_that_unwinds_may_wait_in_a_drop() {
    struct Waits;
    impl Drop for Waits {
        fn drop(&mut self) {
            csp::park_timeout(Duration::from_millis(1));
            csp::park();
            csp::yield_now();
            csp::sleep(Duration::from_millis(1));
        }
    }
    let rt = runtime(1);
    rt.block_on(async {
        let unwound = task::spawn(async {
            let _waits = Waits;
            resume_unwind(Box::new(()));
        });
        // The hook is not called by `resume_unwind`, and the drop runs while the worker panics.
        assert!(unwound.await.is_err());
        assert_eq!(task::spawn(async { 1 }).await.unwrap(), 1);
    });
}

#[test]
fn block_on_runs_on_an_os_thread_and_in_a_process() {
    assert_eq!(task::block_on(async { task::spawn(async { 3 }).await.unwrap() }), 3);
    let rt = runtime(2);
    let both = rt.run(|| {
        let outer = csp::spawn(|| task::block_on(async { task::spawn(async { 4 }).await.unwrap() }));
        outer.join().unwrap() + task::block_on(async { 5 })
    });
    assert_eq!(both, 9);
}

#[test]
fn a_sleep_may_outlive_its_runtime() {
    let rt = runtime(1);
    let waker = Waker::from(Arc::new(CountWakes(AtomicUsize::new(0))));
    let sleep = rt.run(|| {
        let mut sleep = Box::pin(task::sleep(Duration::from_millis(5)));
        let _pending_as_a_rule = sleep.as_mut().poll(&mut Context::from_waker(&waker));
        sleep
    });
    drop(rt);
    drop(sleep);
}

#[test]
fn a_sleep_may_be_polled_in_one_runtime_and_then_in_another() {
    let (first, second) = (runtime(1), runtime(1));
    let count = Arc::new(CountWakes(AtomicUsize::new(0)));
    let waker = Waker::from(count.clone());
    let mut sleep = Box::pin(task::sleep(Duration::from_secs(3600)));
    let poll = |sleep: &mut Pin<Box<task::Sleep>>| sleep.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(first.run(|| poll(&mut sleep)).is_pending());
    assert!(second.run(|| poll(&mut sleep)).is_pending());
    drop(first);
    drop(sleep);
    drop(second);
    assert_eq!(count.0.load(Ordering::Relaxed), 0, "both alarms have been taken back");
}

#[test]
fn a_dropped_handle_lets_go_of_the_output_and_of_who_waited() {
    let held = Arc::new(());
    runtime(1).run(|| {
        // The output of a detached task goes at its end, though a waker of the task is still kept.
        let (give, take) = mpsc::channel::<Waker>();
        let output = held.clone();
        let keeps = poll_fn(move |context| {
            give.send(context.waker().clone()).unwrap();
            Poll::Ready(())
        });
        drop(task::spawn(async move {
            keeps.await;
            output
        }));
        csp::sleep(Duration::from_millis(1));
        let _kept = take.recv().unwrap();
        assert_eq!(Arc::strong_count(&held), 1);
        // A handle that was polled and dropped keeps no waker, though its task waits on.
        let mut handle = task::spawn(pending::<()>());
        let counted = Arc::new(Ignores);
        let waker = Waker::from(counted.clone());
        assert!(Pin::new(&mut handle).poll(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!(Arc::strong_count(&counted), 3);
        drop(handle);
        assert_eq!(Arc::strong_count(&counted), 2);
    });
}

struct Ignores;

impl Wake for Ignores {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn a_send_that_panics_in_a_cell_drops_its_message() {
    use raddle::channel;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let message = Arc::new(());
    let sent = message.clone();
    runtime(1).block_on(async move {
        let task = task::spawn(async move {
            let refused = |send: &mut dyn FnMut(Arc<()>)| {
                assert!(catch_unwind(AssertUnwindSafe(|| send(sent.clone()))).is_err(), "it would wait");
            };
            let later = || std::time::Instant::now() + Duration::from_secs(600);
            let (mut to, _from) = csp::channel();
            refused(&mut |message| to.send(message).unwrap());
            refused(&mut |message| to.send_deadline(message, later()).unwrap());
            let (to, _from) = channel::bounded(0);
            refused(&mut |message| to.send(message).unwrap());
            refused(&mut |message| to.send_deadline(message, later()).unwrap());
        });
        task.await.unwrap();
    });
    assert_eq!(Arc::strong_count(&message), 1);
}
