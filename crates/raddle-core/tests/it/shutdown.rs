//! The end of a runtime.

use crate::child::{assert_said, assert_success, in_child};
use crate::runtime;
use crate::watch::{Progress, Watchdog};
use raddle::csp::{self, Process};
use raddle::{Runtime, blocking, task};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Waker};
use std::time::Duration;

fn watch(what: &str) -> (Progress, Watchdog) {
    let progress = Progress::default();
    (progress.clone(), Watchdog::new(what.to_owned(), progress, String::new))
}

#[test]
fn a_drop_waits_for_what_is_ready_and_for_what_sleeps() {
    let ended = Arc::new(AtomicUsize::new(0));
    let rt = runtime(2);
    rt.run(|| {
        for n in 0..100 {
            let (by_process, by_task) = (ended.clone(), ended.clone());
            drop(csp::spawn(move || {
                csp::yield_now();
                if n % 10 == 0 {
                    csp::sleep(Duration::from_millis(2));
                }
                by_process.fetch_add(1, Ordering::Relaxed);
            }));
            drop(task::spawn(async move {
                task::yield_now().await;
                task::sleep(Duration::from_millis(1)).await;
                by_task.fetch_add(1, Ordering::Relaxed);
            }));
        }
    });
    drop(rt);
    assert_eq!(ended.load(Ordering::Relaxed), 200);
}

#[test]
fn a_shutdown_counts_what_it_abandons() {
    let rt = runtime(2);
    rt.run(|| {
        for _ in 0..5 {
            drop(csp::spawn(csp::park));
        }
        drop(task::spawn(std::future::pending::<()>()));
    });
    // The task's waker is held by nobody, so it is gone, not waiting.
    assert_eq!(rt.shutdown(), 5);
    assert_eq!(runtime(1).shutdown(), 0);
}

#[test]
fn abandoned_ones_are_reported_and_a_late_unpark_is_harmless() {
    let output = in_child("shutdown::abandoned_ones_are_reported_and_a_late_unpark_is_harmless", || {
        let (give, take) = mpsc::channel::<Process>();
        let rt = runtime(2);
        rt.run(move || {
            for _ in 0..3 {
                let parked = csp::spawn(|| {
                    csp::park();
                    unreachable!("its runtime has ended");
                });
                give.send(parked.process()).unwrap();
            }
        });
        drop(rt);
        take.iter().for_each(|late| late.unpark());
    });
    assert_success(&output);
    assert_said(&output, &["raddle: 3 processes or tasks still waited"]);
}

#[test]
fn a_runtime_may_be_dropped_by_its_own_process() {
    let (give, take) = mpsc::channel();
    let rt = runtime(2);
    let (hand_over, receive) = mpsc::channel::<Runtime>();
    let gone = give.clone();
    rt.run(move || {
        drop(csp::spawn(move || {
            drop(receive.recv().unwrap());
            // It goes on, and may even spawn.
            csp::spawn(move || gone.send("after").unwrap()).join().unwrap();
        }));
    });
    hand_over.send(rt).unwrap();
    assert_eq!(take.recv().unwrap(), "after");
}

/// Whether an OS thread of this name lives. A new one has its maker's name for a moment.
fn thread_lives(name: &str) -> bool {
    let tasks = std::fs::read_dir("/proc/self/task").expect("a list of the program's threads").flatten();
    let named =
        |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
    tasks.map(named).any(|comm| comm.trim() == name)
}

#[test]
fn a_late_unpark_after_a_drop_from_inside_is_harmless() {
    let test = "shutdown::a_late_unpark_after_a_drop_from_inside_is_harmless";
    let output = in_child(test, || {
        let (give, take) = mpsc::channel::<Process>();
        let (hand_over, receive) = mpsc::channel::<Runtime>();
        let rt = Runtime::builder().workers(1).thread_name("left").build().unwrap();
        rt.run(move || {
            // SAFETY: it uses no thread-local variable.
            let parks = unsafe { csp::spawn_light(csp::park) };
            give.send(parks.process()).unwrap();
            drop(csp::spawn(move || drop(receive.recv().unwrap())));
        });
        hand_over.send(rt).unwrap();
        let late = take.recv().unwrap();
        let (progress, _dog) = watch("the workers of a runtime that was dropped inside");
        // Its OS thread is kept for the one that is parked.
        while Runtime::os_threads_kept() == 0 {
            std::thread::yield_now();
        }
        assert!(thread_lives("left-0"));
        late.unpark();
        progress.note();
    });
    assert_success(&output);
    assert_said(&output, &["raddle: 1 processes or tasks still waited"]);
}

#[test]
fn a_shutdown_does_not_come_between_two_that_hand_over() {
    const TURNS: usize = 200;
    let (progress, _dog) = watch("hand-over at shutdown");
    for _ in 0..200 {
        let rt = runtime(2);
        let done = Arc::new(AtomicUsize::new(0));
        let counted = done.clone();
        rt.run(move || {
            let (give, take) = mpsc::channel::<Process>();
            let ball = Arc::new(AtomicUsize::new(0));
            let bat = move |me: usize, peer: Process, ball: Arc<AtomicUsize>| {
                for turn in 0..TURNS {
                    while ball.load(Ordering::Acquire) != 2 * turn + me {
                        csp::park();
                    }
                    ball.fetch_add(1, Ordering::AcqRel);
                    peer.unpark();
                }
                counted.fetch_add(1, Ordering::Relaxed);
            };
            let (first_ball, first_bat) = (ball.clone(), bat.clone());
            let first = csp::spawn_on(0, move || {
                let peer = take.recv().unwrap();
                first_bat(0, peer, first_ball);
            });
            let peer = first.process();
            let second = csp::spawn_on(1, move || bat(1, peer, ball));
            give.send(second.process()).unwrap();
        });
        assert_eq!(rt.shutdown(), 0);
        assert_eq!(done.load(Ordering::Relaxed), 2);
        progress.note();
    }
}

#[test]
fn a_shutdown_may_race_with_an_unpark_from_outside() {
    let (progress, _dog) = watch("unpark at shutdown");
    for _ in 0..300 {
        let rt = runtime(1);
        let (give, take) = mpsc::channel::<Process>();
        rt.run(move || {
            for _ in 0..4 {
                give.send(csp::spawn(csp::park).process()).unwrap();
            }
        });
        let parked: Vec<Process> = take.iter().collect();
        let wakers: Vec<_> = parked.into_iter().map(|p| std::thread::spawn(move || p.unpark())).collect();
        assert!(rt.shutdown() <= 4);
        wakers.into_iter().for_each(|w| w.join().unwrap());
        progress.note();
    }
}

#[test]
fn a_process_that_waits_while_its_result_is_dropped_has_not_ended() {
    struct Parks;
    impl Drop for Parks {
        fn drop(&mut self) {
            csp::park();
        }
    }
    let rt = runtime(1);
    let late = rt.run(|| csp::spawn(|| (csp::current(), Parks)).process());
    assert_eq!(rt.shutdown(), 1);
    late.unpark(); // finds the worker to which it belongs
}

#[test]
fn a_runtime_that_ends_does_not_wait_for_an_alarm_that_was_taken_back_outside() {
    let (_progress, _watchdog) = watch("a shutdown after a cancelled alarm");
    let rt = runtime(1);
    let mut sleep = Box::pin(task::sleep(Duration::from_secs(3600)));
    rt.run(|| assert!(sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()));
    let ends = std::thread::spawn(move || rt.shutdown());
    // Most likely it waits by then; if not, there is less to show.
    std::thread::sleep(Duration::from_millis(20));
    drop(sleep);
    assert_eq!(ends.join().unwrap(), 0);
}

/// A thread-local variable whose end is seen.
struct Lent(AtomicUsize);

static ENDED: AtomicUsize = AtomicUsize::new(0);

impl Drop for Lent {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
        ENDED.fetch_add(1, Ordering::Relaxed);
    }
}

thread_local! {
    static LENT: Lent = const { Lent(AtomicUsize::new(7)) };
}

/// A process lends a variable of its worker's OS thread to another runtime, and is abandoned meanwhile.
#[test]
fn what_an_abandoned_process_has_lent_stays() {
    let _watched = watch("a variable is lent");
    lends_and_is_abandoned(runtime(2));
    // SAFETY: what is lent is used after the wait, in storage in which nothing else runs.
    lends_and_is_abandoned(unsafe { Runtime::builder().workers(2).light_processes() }.build().unwrap());
}

fn lends_and_is_abandoned(rt: Runtime) {
    let other = Arc::new(runtime(1));
    let (tell, told) = mpsc::channel();
    let (go, until) = mpsc::channel::<()>();
    let (give, given) = mpsc::channel();
    let borrows = other.clone();
    drop(rt.spawn(move || {
        LENT.with(|lent| {
            borrows.run(move || {
                tell.send(()).unwrap();
                blocking(move || until.recv()).unwrap();
                give.send(lent.0.load(Ordering::Relaxed)).unwrap();
            });
        });
    }));
    told.recv().unwrap();
    assert_eq!(rt.shutdown(), 1);
    go.send(()).unwrap();
    assert_eq!(given.recv().unwrap(), 7);
    assert_eq!(ENDED.load(Ordering::Relaxed), 0);
    // The process that has lent it is woken in vain.
    drop(other);
}

/// Only the OS threads on which something was abandoned that shares their variables are kept, and they are counted.
#[test]
fn os_threads_are_kept_for_abandoned_processes_only() {
    let output = in_child("shutdown::os_threads_are_kept_for_abandoned_processes_only", || {
        let rt = runtime(4);
        let ended = rt.run(|| {
            drop(task::spawn(std::future::pending::<()>()));
            csp::spawn(|| 7)
        });
        assert_eq!((rt.shutdown(), Runtime::os_threads_kept()), (0, 0));
        assert_eq!(ended.join().unwrap(), 7);
        let (give, _waker) = mpsc::channel::<Waker>();
        let rt = runtime(4);
        drop(rt.run(|| task::spawn(Keeps(give))));
        assert_eq!((rt.shutdown(), Runtime::os_threads_kept()), (1, 0));
        let rt = runtime(4);
        let parks = |worker| {
            // SAFETY: it uses no thread-local variable.
            let light = unsafe { csp::Builder::new().worker(worker).light() };
            drop(light.spawn(csp::park).unwrap());
        };
        rt.run(|| [1, 3, 3].into_iter().for_each(parks));
        assert_eq!((rt.shutdown(), Runtime::os_threads_kept()), (3, 2));
        for number in 0..4 {
            let name = format!("raddle-{number}");
            while thread_lives(&name) != [1, 3].contains(&number) {
                std::thread::yield_now();
            }
        }
        let rt = runtime(1);
        rt.run(|| drop(csp::spawn(csp::park)));
        assert_eq!((rt.shutdown(), Runtime::os_threads_kept()), (1, 2), "its storage is its own");
        let rt = runtime(1);
        if raddle::thread::Builder::new().spawn(|| ()).is_ok() {
            rt.run(|| drop(raddle::thread::spawn(csp::park)));
            assert_eq!((rt.shutdown(), Runtime::os_threads_kept()), (1, 2));
        }
        eprintln!("that is all");
    });
    assert_success(&output);
    assert_said(
        &output,
        &["3 processes or tasks", "the 2 OS threads on which they began are kept", "that is all"],
    );
}

/// Gives its waker away, and waits.
struct Keeps(mpsc::Sender<Waker>);

impl Future for Keeps {
    type Output = ();

    fn poll(self: std::pin::Pin<&mut Self>, context: &mut Context<'_>) -> std::task::Poll<()> {
        self.0.send(context.waker().clone()).unwrap();
        std::task::Poll::Pending
    }
}
