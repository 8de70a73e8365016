//! Workers that stand in calls which the scheduler does not know: what could run elsewhere does.

use crate::watch::{Progress, Watchdog};
use crate::{light_runtime, runtime, said_until, until_input_ends};
use raddle::{Runtime, csp, task, thread};
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

/// Runs `f` on `workers` workers; nothing of it stays behind.
fn ends(workers: usize, f: impl FnOnce() + Send) {
    let dog = Watchdog::new("a worker stands".into(), Progress::default(), || raddle::dump().to_string());
    let runtime = runtime(workers);
    runtime.run(f);
    assert_eq!(runtime.shutdown(), 0);
    drop(dog);
}

#[test]
fn a_thread_that_holds_a_lock_of_std_goes_on_elsewhere() {
    ends(1, || {
        let lock = Arc::new(Mutex::new(0));
        let [held, wanted] = [lock.clone(), lock];
        let holds = thread::spawn(move || {
            let mut held = held.lock().unwrap();
            thread::yield_now();
            *held += 1;
        });
        let waits = thread::spawn(move || assert_eq!(*wanted.lock().unwrap(), 1));
        holds.join().unwrap();
        waits.join().unwrap();
    });
}

#[test]
fn what_has_not_begun_begins_elsewhere() {
    ends(1, || {
        let (sender, receiver) = channel();
        let waits = csp::spawn(move || receiver.recv());
        let sends = csp::spawn(move || sender.send(7));
        assert_eq!(waits.join().unwrap(), Ok(7));
        sends.join().unwrap().unwrap();
    });
}

#[test]
fn a_task_that_has_not_begun_begins_elsewhere() {
    ends(1, || {
        let (sender, receiver) = channel();
        let waits = csp::spawn(move || receiver.recv());
        let sends = task::spawn(async move { sender.send(7) });
        assert_eq!(waits.join().unwrap(), Ok(7));
        task::block_on(sends).unwrap().unwrap();
    });
}

/// Tasks that have been woken wait in the batch, which is private.
#[test]
fn a_task_that_is_ready_goes_on_elsewhere() {
    ends(1, || {
        let (sender, receiver) = channel();
        let waker = Arc::new(Mutex::new(None::<Waker>));
        let (kept, has_woken) = (waker.clone(), Arc::new(AtomicBool::new(false)));
        let is_woken = has_woken.clone();
        let sends = task::spawn(async move {
            poll_fn(|context| {
                *kept.lock().unwrap() = Some(context.waker().clone());
                if is_woken.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            sender.send(7)
        });
        while waker.lock().unwrap().is_none() {
            csp::yield_now();
        }
        let waits = csp::spawn(move || {
            has_woken.store(true, Ordering::Relaxed);
            waker.lock().unwrap().take().unwrap().wake();
            receiver.recv()
        });
        assert_eq!(waits.join().unwrap(), Ok(7));
        task::block_on(sends).unwrap().unwrap();
    });
}

#[test]
fn who_helps_and_stands_itself_is_helped() {
    ends(1, || {
        let relay = |from: Receiver<u32>, to: Sender<u32>| move || to.send(from.recv().unwrap() + 1).unwrap();
        let (first, mut from) = channel();
        let mut all = Vec::new();
        for _ in 0..5 {
            let (to, next) = channel();
            all.push(csp::spawn(relay(from, to)));
            from = next;
        }
        let last = csp::spawn(move || from.recv());
        all.push(csp::spawn(move || first.send(1).unwrap()));
        assert_eq!(last.join().unwrap(), Ok(6));
        all.into_iter().for_each(|one| one.join().unwrap());
    });
}

#[test]
fn two_workers_that_both_stand_are_helped() {
    ends(2, || {
        let waits: Vec<_> = (0..6)
            .map(|n| {
                let (sender, receiver) = channel();
                (sender, csp::spawn(move || assert_eq!(receiver.recv(), Ok(n))))
            })
            .collect();
        let (senders, waits): (Vec<_>, Vec<_>) = waits.into_iter().unzip();
        let sends = csp::spawn(move || (0..).zip(senders).for_each(|(n, sender)| sender.send(n).unwrap()));
        waits.into_iter().for_each(|one| one.join().unwrap());
        sends.join().unwrap();
    });
}

#[test]
fn what_comes_from_outside_begins() {
    let dog = Watchdog::new("from outside".into(), Progress::default(), || raddle::dump().to_string());
    let one = runtime(1);
    let (sender, receiver) = channel();
    let (is_about_to, waits) = channel();
    let stands = one.spawn(move || {
        is_about_to.send(()).unwrap();
        receiver.recv()
    });
    waits.recv().unwrap();
    let sends = one.spawn(move || sender.send(7));
    assert_eq!(stands.join().unwrap(), Ok(7));
    sends.join().unwrap().unwrap();
    assert_eq!(one.shutdown(), 0);
    drop(dog);
}

#[test]
fn an_alarm_of_a_worker_that_stands_rings() {
    ends(1, || {
        let (sender, receiver) = channel();
        let sends = thread::spawn(move || {
            thread::sleep(Duration::from_millis(1));
            sender.send(7).unwrap();
        });
        thread::yield_now();
        let waits = csp::spawn(move || receiver.recv());
        // Behind which it could run elsewhere.
        let third = csp::spawn(|| ());
        assert_eq!(waits.join().unwrap(), Ok(7));
        sends.join().unwrap();
        third.join().unwrap();
    });
}

/// What has begun elsewhere is bound to there if it is light; and it speaks with those of the worker that goes on.
#[test]
fn what_has_begun_elsewhere_goes_on_there() {
    ends(1, || {
        let (sender, receiver) = channel();
        let waits = csp::spawn(move || receiver.recv());
        let (mut to, mut from) = csp::channel();
        let (mut back, mut again) = csp::channel();
        let sends = csp::spawn(move || {
            sender.send(7).unwrap();
            for n in 0..100 {
                assert_eq!(from.recv(), Ok(n));
                csp::sleep(Duration::from_micros(10));
                back.send(n).unwrap();
            }
            csp::spawn(|| csp::spawn(csp::yield_now).join().unwrap()).join().unwrap();
        });
        assert_eq!(waits.join().unwrap(), Ok(7));
        for n in 0..100 {
            to.send(n).unwrap();
            assert_eq!(again.recv(), Ok(n));
        }
        sends.join().unwrap();
    });
}

/// Again and again, while others work.
#[test]
fn stands_come_and_go() {
    ends(2, || {
        for round in 0..5 {
            let pairs: Vec<_> = (0..4)
                .map(|n| {
                    let (sender, receiver) = channel();
                    let waits = thread::spawn(move || assert_eq!(receiver.recv(), Ok(n + round)));
                    let sends = thread::spawn(move || {
                        thread::yield_now();
                        sender.send(n + round).unwrap();
                    });
                    [waits, sends]
                })
                .collect();
            raddle::scope(|s| (0..10).for_each(|_| s.spawn(|_| csp::yield_now())));
            pairs.into_iter().flatten().for_each(|one| one.join().unwrap());
        }
    });
}

/// A runtime that is dropped by one of its own ends, with its extra worker.
#[test]
fn a_runtime_with_an_extra_worker_ends_by_itself() {
    let dog = Watchdog::new("ends by itself".into(), Progress::default(), || raddle::dump().to_string());
    let one = Arc::new(runtime(1));
    let (done, ended) = channel();
    let own = one.clone();
    drop(one.spawn(move || {
        let (sender, receiver) = channel();
        let waits = csp::spawn(move || receiver.recv());
        drop(csp::spawn(move || sender.send(7)));
        let got = waits.join().unwrap();
        drop::<Arc<Runtime>>(own);
        done.send(got).unwrap();
    }));
    drop(one);
    assert_eq!(ended.recv(), Ok(Ok(7)));
    drop(dog);
}

/// The watcher, which makes their OS threads, blocks all signals; a worker that did so would not stop for a dump.
#[test]
fn an_extra_worker_stops_for_a_dump() {
    ends(1, || {
        let (sender, receiver) = channel();
        let waits = csp::spawn(move || receiver.recv());
        let sends = csp::spawn(move || {
            let dump = raddle::dump();
            sender.send(()).unwrap();
            dump
        });
        assert_eq!(waits.join().unwrap(), Ok(()));
        assert!(sends.join().unwrap().is_whole());
        assert!(raddle::dump().is_whole());
    });
}

/// What waits behind has begun, and is light: nobody can help.
pub(super) fn nobody_can_help() {
    let rt = light_runtime();
    drop(rt.spawn(|| {
        let (sender, receiver) = channel::<()>();
        let is_about_to = Arc::new(AtomicBool::new(false));
        let asked = is_about_to.clone();
        drop(csp::Builder::new().name("sends").spawn(move || {
            while !asked.load(Ordering::Relaxed) {
                csp::yield_now();
            }
            sender.send(())
        }));
        csp::yield_now();
        let receives = csp::Builder::new().name("receives");
        drop(receives.spawn(move || {
            is_about_to.store(true, Ordering::Relaxed);
            asks_a_channel_of_std(&receiver);
        }));
    }));
    until_input_ends();
}

#[inline(never)]
fn asks_a_channel_of_std(receiver: &Receiver<()>) {
    let _got = std::hint::black_box(receiver.recv());
}

#[test]
fn where_nobody_can_help_the_programs_function_is_told() {
    let text = said_until("nobody_can_help", "asks_a_channel_of_std");
    assert!(text.contains("raddle: slow: process 'receives' (#"), "{text}");
    assert!(text.contains("    in it::stand::asks_a_channel_of_std"), "{text}");
}
