//! What is ours alone: tasks, mixed company, misuse.

use raddle::channel::{self, Receiver, Select, TryRecvError, TrySendError, bounded, select, unbounded};
use raddle::{Runtime, csp, task};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn runtime(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).build().expect("a runtime")
}

/// Waits until the other has gone as far as it can: it is in the queue of a rendezvous, say.
fn until(mut done: impl FnMut() -> bool) {
    while !done() {
        csp::sleep(Duration::from_micros(50));
    }
}

#[test]
fn a_program_moves_over_by_a_use() {
    use raddle::channel as crossbeam_channel;
    let (s, r) = bounded(1);
    crossbeam_channel::select! {
        send(s, 1) -> res => res.unwrap(),
        recv(crossbeam_channel::never::<u8>()) -> _ => unreachable!(),
    }
    raddle::select_biased! {
        recv(r) -> msg => assert_eq!(msg, Ok(1)),
        default => unreachable!(),
    }
}

#[test]
fn processes_cells_and_threads_share_a_channel() {
    for workers in [1, 2, 8] {
        let rt = runtime(workers);
        for (s, r) in [bounded(0), bounded(3), unbounded()] {
            let (from_thread, from_process, from_task) = (s.clone(), s.clone(), s);
            let thread = std::thread::spawn(move || (0..100).for_each(|n| from_thread.send(n).unwrap()));
            let process = rt.spawn(move || (100..200).for_each(|n| from_process.send(n).unwrap()));
            let task = rt.spawn(move || {
                task::spawn(async move {
                    for n in 200..300 {
                        while let Err(TrySendError::Full(_)) = from_task.try_send(n) {
                            task::yield_now().await;
                        }
                    }
                })
            });
            let other = r.clone();
            let there = rt.spawn(move || other.iter().collect::<Vec<i32>>());
            let mut all: Vec<_> = r.into_iter().collect();
            all.extend(there.join().unwrap());
            all.sort();
            assert!(all.into_iter().eq(0..300));
            thread.join().unwrap();
            process.join().unwrap();
            drop(task.join().unwrap());
        }
    }
}

#[test]
fn what_would_wait_panics_in_a_cell_and_nothing_is_lost() {
    let rt = runtime(1);
    rt.block_on(async {
        let task = task::spawn(async {
            let (s, r) = bounded(0);
            let text = |waits: &dyn Fn()| {
                let panic = catch_unwind(AssertUnwindSafe(waits)).expect_err("it panics");
                *panic.downcast::<String>().expect("a text")
            };
            let recv = text(&|| assert!(r.recv().is_ok()));
            assert!(recv.contains("Receiver::recv") && recv.contains("a task must not"), "{recv}");
            assert!(text(&|| assert!(s.send(1).is_ok())).contains("Sender::send"));
            let mut select = Select::new();
            select.recv(&r);
            let selects = AssertUnwindSafe(&mut select);
            let panic = catch_unwind(move || drop({ selects }.0.select_timeout(Duration::from_secs(1))));
            assert!(panic.is_err());
            assert_eq!(s.try_send(2), Err(TrySendError::Full(2)), "nobody waits");
            assert_eq!(r.try_recv(), Err(TryRecvError::Empty));
        });
        task.await.unwrap();
    });
}

#[test]
fn messages_are_dropped_as_soon_as_nobody_can_receive_them() {
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let (s, r) = bounded(4);
    (0..4).for_each(|_| assert!(s.send(Dropped(drops.clone())).is_ok()));
    drop(r);
    assert_eq!(drops.load(Ordering::Relaxed), 4);
}

/// A selection that has promised a message and panics while it works the message out: its partner waits on.
#[test]
fn a_broken_promise_is_nobody_elses_harm() {
    fn promise_and_break(s: &channel::Sender<u8>) {
        let no_message = || -> u8 { panic!("no message after all") };
        let broken = catch_unwind(AssertUnwindSafe(|| {
            select! {
                send(s, no_message()) -> _ => {}
                recv(channel::never::<u8>()) -> _ => {}
            }
        }));
        assert!(broken.is_err());
    }
    for workers in [1, 2] {
        runtime(workers).run(|| {
            for capacity in [0, 1] {
                let (s, r) = bounded(capacity);
                let waits = r.clone();
                let receiver = csp::spawn(move || waits.recv());
                let sender = s.clone();
                csp::spawn(move || promise_and_break(&sender)).join().unwrap();
                s.send(5).unwrap();
                assert_eq!(receiver.join().unwrap(), Ok(5));
                if capacity == 1 {
                    (0..1).for_each(|_| s.try_send(6).expect("its place is free again"));
                }
                drop(r);
            }
        });
    }
}

#[test]
fn an_early_return_from_a_message_cancels_its_send() {
    fn send(s: &channel::Sender<u8>, message: Option<u8>) -> Option<()> {
        select! {
            send(s, message?) -> res => res.ok(),
        }
    }
    let (s, r) = bounded(1);
    assert_eq!(send(&s, None), None);
    assert_eq!(s.len(), 0);
    assert_eq!(send(&s, Some(1)), Some(()));
    assert_eq!(r.recv(), Ok(1));
}

#[test]
fn a_receiver_that_panics_between_the_steps_gives_its_sender_the_message_back() {
    runtime(1).run(|| {
        let (s, r) = bounded::<[u64; 9]>(0);
        let receiver = csp::spawn(move || {
            let mut select = Select::new();
            select.recv(&r);
            let _forgotten = select.select();
            // Long enough for the sender to have been promised.
            csp::yield_now();
            panic!("before the second step");
        });
        let mut select = Select::new();
        select.send(&s);
        let operation = select.select();
        assert!(receiver.join().is_err());
        assert!(operation.send(&s, [1; 9]).is_err());
    });
}

#[test]
fn ends_are_dropped_while_others_wait_and_while_unwinding() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let (s, r) = bounded::<u8>(0);
            let waits = csp::spawn(move || r.recv());
            let panics = csp::spawn(move || {
                let _dropped_by_the_panic = s;
                csp::yield_now();
                panic!("a sender is gone");
            });
            assert!(panics.join().is_err());
            assert!(waits.join().unwrap().is_err());
        });
    }
}

#[test]
fn a_channel_outlives_the_runtime_that_made_it() {
    let (s, r): (_, Receiver<u8>) = runtime(1).run(unbounded);
    s.send(1).unwrap();
    assert_eq!(runtime(1).run(move || r.recv()), Ok(1));
}

#[test]
fn a_selection_that_waits_is_found_by_try_operations() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let (s, r) = bounded(0);
            let sends = csp::spawn(move || {
                select! {
                    send(s, 5) -> res => res.unwrap(),
                    recv(channel::never::<u8>()) -> _ => unreachable!(),
                }
            });
            let mut got = Err(TryRecvError::Empty);
            until(|| {
                got = r.try_recv();
                got != Err(TryRecvError::Empty)
            });
            assert_eq!(got, Ok(5));
            sends.join().unwrap();
        });
    }
}

/// The end that completes an operation may be a clone of the one that was added: what
/// counts is the channel. `crossbeam-channel` 0.5.17 panics there.
#[test]
fn a_clone_of_the_end_completes_an_operation() {
    let (s, r) = bounded(1);
    let mut select = Select::new();
    select.send(&s);
    select.select().send(&s.clone(), 7).unwrap();
    let mut select = Select::new();
    select.recv(&r);
    assert_eq!(select.select().recv(&r.clone()), Ok(7));
    let clock = channel::at(std::time::Instant::now());
    let mut select = Select::new();
    select.recv(&clock);
    assert!(select.select().recv(&clock.clone()).is_ok());
}

/// Two messages that panic when they are dropped: the first unwinds, the second is leaked.
#[test]
fn messages_that_panic_when_dropped_do_not_abort() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("on purpose, in the drop of a message");
        }
    }
    for (s, r) in [bounded(5), unbounded()] {
        (0..3).for_each(|_| s.send(Panics).unwrap());
        assert!(catch_unwind(AssertUnwindSafe(|| drop(r))).is_err());
        drop(s);
    }
    let (s, r) = raddle::sync::mpsc::channel();
    (0..3).for_each(|_| s.send(Panics).unwrap());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(r))).is_err());
}
