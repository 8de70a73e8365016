//! Tasks: abort, sets of them, time-outs, intervals.

use crate::runtime;
use raddle::channel::{bounded, unbounded};
use raddle::task::{self, AbortOnDrop, JoinSet, MissedTickBehavior};
use std::error::Error;
use std::future::{Future, pending};
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Waits until somebody aborts it: something could wake it.
async fn waits_for_ever<T>(holds: T) {
    let _dropped_with_it = holds;
    task::sleep(Duration::from_secs(3600)).await;
}

#[test]
fn a_task_that_waits_is_aborted_and_drops_what_it_holds() {
    for workers in [1, 2] {
        runtime(workers).block_on(async {
            let (s, r) = bounded::<()>(0);
            let waits = task::spawn(waits_for_ever(s));
            task::yield_now().await;
            assert!(!waits.is_finished());
            waits.abort();
            let error = waits.await.unwrap_err();
            assert!(error.is_cancelled() && !error.is_panic());
            assert_eq!(error.to_string(), "the task was aborted");
            assert!(error.try_into_panic().is_err());
            assert!(r.recv_async().await.is_err(), "it was dropped");
        });
    }
}

#[test]
fn a_task_is_aborted_before_it_begins_and_by_itself() {
    runtime(1).block_on(async {
        let never = task::spawn(async { unreachable!("it was aborted before") });
        never.abort();
        assert!(never.await.unwrap_err().is_cancelled());
        let (s, r) = bounded(1);
        let own = task::spawn(async move {
            let handle: task::AbortHandle = r.recv_async().await.unwrap();
            handle.abort();
            task::yield_now().await;
            unreachable!("its next poll was its end");
        });
        s.send_async(own.abort_handle()).await.unwrap();
        assert!(own.await.unwrap_err().is_cancelled());
    });
}

#[test]
fn to_abort_what_has_ended_changes_nothing() {
    runtime(1).block_on(async {
        let task = task::spawn(async { 5 });
        let handle = task.abort_handle();
        while !handle.is_finished() {
            task::yield_now().await;
        }
        task.abort();
        handle.abort();
        assert_eq!(task.await.unwrap(), 5);
        handle.abort();
        assert!(handle.is_finished());
    });
}

#[test]
fn a_call_that_blocks_is_not_aborted() {
    runtime(1).block_on(async {
        let call = task::spawn_blocking(|| 6);
        call.abort();
        assert_eq!(call.await.unwrap(), 6);
    });
}

/// A handle keeps no task alive that nobody can wake.
#[test]
fn a_task_that_nobody_can_wake_is_freed_in_spite_of_handles() {
    runtime(1).block_on(async {
        let lost = task::spawn(pending::<()>());
        let handle = lost.abort_handle();
        let error = lost.await.unwrap_err();
        assert!(error.is_cancelled() && error.to_string().contains("nobody held its waker"));
        assert!(handle.is_finished());
        handle.abort();
    });
}

#[test]
fn a_detached_task_is_aborted_by_its_other_handle() {
    runtime(1).block_on(async {
        let (s, r) = bounded::<()>(0);
        let task = task::spawn(waits_for_ever(s));
        let handle = task.abort_handle();
        drop(task);
        task::yield_now().await;
        assert!(!handle.is_finished());
        handle.abort();
        assert!(r.recv_async().await.is_err());
        while !handle.is_finished() {
            task::yield_now().await;
        }
    });
}

#[test]
fn a_panic_in_the_drop_of_an_aborted_future_is_its_panic() {
    struct PanicsOnDrop;
    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            resume_unwind(Box::new("in its drop"));
        }
    }
    runtime(1).block_on(async {
        let task = task::spawn(waits_for_ever(PanicsOnDrop));
        task::yield_now().await;
        task.abort();
        assert_eq!(*task.await.unwrap_err().into_panic().downcast::<&str>().unwrap(), "in its drop");
    });
}

#[test]
fn a_handle_that_aborts_on_drop() {
    runtime(1).block_on(async {
        let (s, r) = bounded::<()>(0);
        let other = s.clone();
        drop(AbortOnDrop::new(task::spawn(waits_for_ever(s))));
        let goes_on = AbortOnDrop::new(task::spawn(async { 7 }));
        assert_eq!(goes_on.await.unwrap(), 7);
        let detached = task::spawn(async move {
            task::yield_now().await;
            drop(other);
        });
        drop(AbortOnDrop::new(detached).detach());
        assert!(r.recv_async().await.is_err(), "both senders are gone");
    });
}

/// Aborts race with polls, wakes and ends on two workers: each task ends once, and a panic is never lost.
#[test]
fn aborts_race_with_ends() {
    let rt = runtime(2);
    for round in 0..300 {
        rt.block_on(async move {
            let (s, r) = unbounded();
            let task = task::spawn(async move {
                for n in 0.. {
                    if n == round % 7 || r.recv_async().await.is_err() {
                        return n;
                    }
                }
                unreachable!()
            });
            let handle = task.abort_handle();
            let aborts = task::spawn(async move {
                for _ in 0..round % 5 {
                    task::yield_now().await;
                }
                handle.abort();
                handle
            });
            for n in 0..8 {
                let _whoever_received_may_be_gone = s.send(n);
            }
            let ended = task.await;
            assert!(ended.is_ok_and(|n| n == round % 7) || aborts.await.unwrap().is_finished());
        });
    }
    assert_eq!(rt.shutdown(), 0, "nothing is left");
}

#[test]
fn errors_are_sent_and_shared_and_tell_the_panic() {
    fn is_error<E: Error + Send + Sync + 'static>(_: &E) {}
    runtime(1).block_on(async {
        let error = task::spawn(async { resume_unwind(Box::new("why".to_owned())) }).await.unwrap_err();
        is_error(&error);
        assert_eq!(error.to_string(), "the task panicked: why");
        assert_eq!(format!("{error:?}"), "JoinError(the task panicked: why)");
        let no_text = task::spawn(async { resume_unwind(Box::new(1)) }).await.unwrap_err();
        assert_eq!(no_text.to_string(), "the task panicked");
    });
}

#[test]
fn a_set_joins_in_the_order_of_the_ends() {
    runtime(1).block_on(async {
        let mut set = JoinSet::new();
        let mut gates = Vec::new();
        for n in 0..4 {
            let (s, r) = bounded::<()>(0);
            gates.push(Some(s));
            set.spawn(async move {
                let _closed = r.recv_async().await;
                n
            });
        }
        assert!(set.try_join_next().is_none());
        for n in [2, 0, 3, 1] {
            gates[n] = None;
            assert_eq!(set.join_next().await.unwrap().unwrap(), n);
        }
        assert!(set.is_empty() && set.join_next().await.is_none());
        set.spawn_blocking(|| 9);
        assert_eq!((set.len(), set.join_all().await), (1, vec![9]));
    });
}

#[test]
fn a_set_aborts_its_tasks_when_it_goes() {
    runtime(2).block_on(async {
        let (s, r) = bounded::<()>(0);
        let filled = |s: &raddle::channel::Sender<()>| {
            let mut set = JoinSet::new();
            (0..10).for_each(|_| drop(set.spawn(waits_for_ever(s.clone()))));
            set
        };
        drop(filled(&s));
        let mut shut = filled(&s);
        shut.shutdown().await;
        assert!(shut.is_empty());
        let mut aborted = filled(&s);
        aborted.abort_all();
        assert_eq!(aborted.len(), 10);
        while let Some(task) = aborted.join_next().await {
            assert!(task.unwrap_err().is_cancelled());
        }
        let mut panics = JoinSet::new();
        panics.spawn(async { resume_unwind(Box::new(3)) });
        assert!(panics.join_next().await.unwrap().unwrap_err().is_panic());
        panics.spawn(async {});
        panics.detach_all();
        assert!(panics.join_next().await.is_none(), "they are not its own any more");
        drop(s);
        assert!(r.recv_async().await.is_err(), "all are gone");
    });
}

#[test]
fn a_timeout_drops_what_is_late_and_nothing_else() {
    runtime(1).block_on(async {
        let long = Duration::from_secs(3600);
        assert_eq!(task::timeout(long, async { 1 }).await, Ok(1));
        assert_eq!(task::timeout(Duration::ZERO, async { 2 }).await, Ok(2), "ready at its last poll");
        let (s, r) = bounded::<()>(0);
        let late = task::timeout(Duration::from_millis(1), waits_for_ever(s)).await;
        assert_eq!(late.unwrap_err().to_string(), "the time was over before the future was ready");
        assert!(r.recv_async().await.is_err(), "it was dropped");
        let deadline = Instant::now() + Duration::from_millis(1);
        assert!(task::timeout_at(deadline, pending::<()>()).await.is_err());
        assert!(Instant::now() >= deadline);
        let handle = task::spawn(async { 3 });
        assert_eq!(task::timeout(long, handle).await.unwrap().unwrap(), 3);
    });
}

/// The clock of a time-out runs from its making, not from its first poll.
#[test]
fn the_time_of_a_timeout_begins_when_it_is_made() {
    let made = task::timeout(Duration::from_millis(2), pending::<()>());
    std::thread::sleep(Duration::from_millis(4));
    let mut made = pin!(made);
    let polled = made.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Ready(Err(_))));
}

#[test]
fn an_interval_ticks_from_its_start() {
    runtime(1).block_on(async {
        let period = Duration::from_millis(1);
        let start = Instant::now();
        let mut ticks = task::interval_at(start, period);
        for n in 0..5 {
            let due = ticks.tick().await;
            assert_eq!(due, start + n * period);
            assert!(Instant::now() >= due);
        }
        assert_eq!((ticks.period(), ticks.missed_tick_behavior()), (period, MissedTickBehavior::Burst));
        let dropped = task::timeout(Duration::ZERO, async { ticks.reset_at(start + 3600 * period) }).await;
        assert!(dropped.is_ok());
        assert!(task::timeout(Duration::from_millis(2), ticks.tick()).await.is_err(), "in an hour");
        ticks.reset_immediately();
        ticks.tick().await;
    });
}

/// Those who are late: the table in the page of `MissedTickBehavior`.
#[test]
fn ticks_that_were_missed() {
    let period = Duration::from_millis(20);
    for (missed, ticks_at_once) in
        [(MissedTickBehavior::Burst, 4), (MissedTickBehavior::Delay, 1), (MissedTickBehavior::Skip, 1)]
    {
        let start = Instant::now().checked_sub(period * 3).expect("the machine has run for longer");
        let mut ticks = task::interval_at(start, period);
        ticks.set_missed_tick_behavior(missed);
        let mut context = Context::from_waker(Waker::noop());
        let begin = Instant::now();
        let at_once = std::iter::from_fn(|| match ticks.poll_tick(&mut context) {
            Poll::Ready(due) => Some(due),
            Poll::Pending => None,
        });
        let due: Vec<_> = at_once.take(10).collect();
        // As many more as the time may have come for meanwhile, if this thread was stopped.
        let more = begin.elapsed().as_millis() / period.as_millis() + 1;
        assert_eq!(due[0], start);
        assert!(
            (ticks_at_once..=ticks_at_once + more as usize).contains(&due.len()),
            "{missed:?}: {}",
            due.len()
        );
    }
}

#[test]
fn no_interval_without_a_period() {
    let panic = std::panic::catch_unwind(|| task::interval(Duration::ZERO)).unwrap_err();
    assert!(panic.downcast_ref::<&str>().unwrap().contains("not zero"));
}

/// Nothing of a task that was aborted is kept: neither by its handles, nor by the channel at which it waited.
#[test]
fn an_aborted_task_leaves_the_channel() {
    runtime(1).block_on(async {
        let message = Arc::new(());
        let (s, r) = bounded(0);
        let other = r.clone();
        let waits = task::spawn(async move { other.recv_async().await });
        task::yield_now().await;
        waits.abort();
        while !waits.is_finished() {
            task::yield_now().await;
        }
        assert!(s.try_send(message.clone()).is_err(), "nobody waits any more");
        drop((s, r, waits));
        assert_eq!(Arc::strong_count(&message), 1);
    });
}
