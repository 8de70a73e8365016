//! Transactions that are awaited: by tasks, and by whatever polls futures.

use crate::runtime;
use raddle::task::{self, timeout};
use raddle::{csp, thread};
use raddle_stm::{TQueue, TVar, atomically, atomically_async};
use std::future::Future as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

#[test]
fn tasks_hand_over_to_each_other_and_to_processes() {
    const MANY: u32 = 1000;
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let (first, second, third) = (TQueue::bounded(1), TQueue::bounded(2), TQueue::bounded(1));
            let (from, to) = (first.clone(), second.clone());
            let adds = task::spawn(async move {
                for _ in 0..MANY {
                    atomically_async(|tx| {
                        let n = from.pop(tx)?;
                        to.push(tx, n + 1)
                    })
                    .await;
                }
            });
            let (from, to) = (second, third.clone());
            let doubles = csp::spawn(move || {
                for _ in 0..MANY {
                    let n = atomically(|tx| from.pop(tx));
                    atomically(|tx| to.push(tx, 2 * n));
                }
            });
            let feeds = thread::spawn(move || (0..MANY).for_each(|n| atomically(|tx| first.push(tx, n))));
            let takes = task::spawn(async move {
                for n in 0..MANY {
                    assert_eq!(atomically_async(|tx| third.pop(tx)).await, 2 * (n + 1));
                }
            });
            task::block_on(takes).unwrap();
            task::block_on(adds).unwrap();
            doubles.join().unwrap();
            feeds.join().unwrap();
        });
    }
}

/// Many tasks write the same variables: each commits in the end.
#[test]
fn tasks_that_conflict_commit_all_the_same() {
    runtime(2).run(|| {
        let both = [TVar::new(0_u64), TVar::new(0)];
        let tasks: Vec<_> = (0..20)
            .map(|n| {
                let both = both.clone();
                task::spawn(async move {
                    for _ in 0..200 {
                        atomically_async(|tx| {
                            tx.modify(&both[n % 2], |sum| sum + 1)?;
                            tx.modify(&both[(n + 1) % 2], |sum| sum + 1)
                        })
                        .await;
                    }
                })
            })
            .collect();
        tasks.into_iter().for_each(|task| task::block_on(task).unwrap());
        assert_eq!(both.map(|sum| sum.load()), [4000, 4000]);
    });
}

struct Counts(AtomicUsize);

impl Wake for Counts {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// It is polled in vain only when something has changed, and leaves no trace in the lists when it is dropped.
#[test]
fn the_last_waker_is_called_once_for_a_change_and_not_after_the_drop() {
    let (wanted, other) = (TVar::new(false), TVar::new(0));
    let mut runs = 0;
    let mut waits = pin!(atomically_async(|tx| {
        runs += 1;
        let wanted = tx.read(&wanted)?;
        tx.check(wanted)
    }));
    let wakers = [(); 2].map(|()| Arc::new(Counts(AtomicUsize::new(0))));
    for waker in &wakers {
        let waker = Waker::from(waker.clone());
        assert!(waits.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    other.store(1);
    assert_eq!(wakers.each_ref().map(|waker| waker.0.load(Ordering::Relaxed)), [0, 0]);
    wanted.store(true);
    wanted.store(true);
    assert_eq!(wakers.each_ref().map(|waker| waker.0.load(Ordering::Relaxed)), [0, 1]);
    assert_eq!(waits.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(()));
    assert_eq!(runs, 2);

    let dropped = Arc::new(Counts(AtomicUsize::new(0)));
    let waker = Waker::from(dropped.clone());
    let mut waits = Box::pin(atomically_async(|tx| {
        let n = tx.read(&other)?;
        tx.check(n == 2)
    }));
    assert!(waits.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(waits);
    other.store(2);
    assert_eq!(dropped.0.load(Ordering::Relaxed), 0);
}

#[test]
fn a_time_out_gives_it_up_and_nothing_is_written() {
    runtime(1).run(|| {
        let (never, written) = (TVar::new(false), TVar::new(0));
        let (wants, writes) = (never.clone(), written.clone());
        let waited = task::spawn(async move {
            let waits = atomically_async(|tx| {
                tx.modify(&writes, |n| n + 1)?;
                let wanted = tx.read(&wants)?;
                tx.check(wanted)
            });
            timeout(Duration::from_millis(1), waits).await.is_err()
        });
        assert!(task::block_on(waited).unwrap());
        assert_eq!(written.load(), 0);
        // Nobody waits any more.
        never.store(true);
    });
}

/// Others are woken all the same, and the commit has been one.
#[test]
fn a_waker_that_panics_keeps_nobody_asleep() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker of this test's");
        }
    }
    let wanted = TVar::new(false);
    let wait = || {
        Box::pin(atomically_async(|tx| {
            let wanted = tx.read(&wanted)?;
            tx.check(wanted)
        }))
    };
    let (mut first, mut second) = (wait(), wait());
    let counts = Arc::new(Counts(AtomicUsize::new(0)));
    let (panics, counted) = (Waker::from(Arc::new(Panics)), Waker::from(counts.clone()));
    assert!(first.as_mut().poll(&mut Context::from_waker(&panics)).is_pending());
    assert!(second.as_mut().poll(&mut Context::from_waker(&counted)).is_pending());
    wanted.store(true);
    assert_eq!(counts.0.load(Ordering::Relaxed), 1);
    for mut future in [first, second] {
        assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
    }
}

#[test]
fn one_that_could_never_end_is_refused() {
    let mut waits = pin!(atomically_async(|tx| tx.retry::<()>()));
    let polled = catch_unwind(AssertUnwindSafe(|| {
        waits.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()
    }));
    let said = polled.expect_err("it has read nothing");
    let said = said.downcast_ref::<String>().expect("a message");
    assert!(said.contains("read what it waits for first") && said.contains("awaits.rs"), "{said}");
}

#[test]
fn a_plain_retry_in_a_task_names_the_way_out() {
    runtime(1).run(|| {
        let never = TVar::new(false);
        let waits = task::spawn(async move {
            atomically(|tx| {
                let wanted = tx.read(&never)?;
                tx.check(wanted)
            });
        });
        let error = task::block_on(waits).expect_err("a task must not wait");
        assert!(format!("{error:?}").contains("atomically_async(body).await"), "{error:?}");
    });
}

/// Who drops that it retries waits for that, whatever it tries after that.
#[test]
fn an_alternative_after_a_retry_that_was_dropped_is_none() {
    let (ready, written) = (TVar::new(false), TVar::new(0));
    let mut waits = pin!(atomically_async(|tx| {
        let is_ready = tx.read(&ready)?;
        drop(tx.check(is_ready));
        tx.or_else(|tx| tx.write(&written, 1).and_then(|()| tx.retry()), |tx| tx.write(&written, 2))
    }));
    let mut context = Context::from_waker(Waker::noop());
    assert!(waits.as_mut().poll(&mut context).is_pending(), "it has committed");
    assert_eq!(written.load(), 0);
    ready.store(true);
    assert!(waits.as_mut().poll(&mut context).is_ready());
    assert_eq!(written.load(), 2);
}

/// What it has put off panics, after the commit: it does not commit once more.
#[test]
fn one_that_has_committed_is_over_though_a_hook_panics() {
    let counter = TVar::new(0);
    let mut future = pin!(atomically_async(|tx| {
        tx.on_commit(|| resume_unwind(Box::new("a hook")));
        tx.modify(&counter, |n| n + 1)
    }));
    let mut poll = || {
        let polled = || future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        catch_unwind(AssertUnwindSafe(polled)).expect_err("it panics")
    };
    assert_eq!(poll().downcast_ref(), Some(&"a hook"));
    assert_eq!(poll().downcast_ref(), Some(&"an AtomicallyFuture was polled after it was ready"));
    assert_eq!(counter.load(), 1);
}
