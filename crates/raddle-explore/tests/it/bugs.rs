//! Planted bugs: each is found within a thousand seeds, its seed and its shrunk schedule show it again, and its first
//! line names it.

use raddle::explore::{Failure, Kind, Options, Strategy, replay, try_explore};
use raddle::sync::{Arc, Barrier, Condvar, Mutex, RwLock, Semaphore};
use raddle::{channel, csp, task};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

/// Every strategy finds `bug` within a thousand seeds. Gives the text of the failure that the default one finds.
pub(super) fn find(bug: impl Fn() + Send + Sync + Copy + 'static, kind: Kind, first_line: &str) -> String {
    for strategy in [Strategy::Random, Strategy::Pct { depth: 3 }] {
        let options = Options { strategy, ..Options::default() };
        let failure = try_explore(options, bug).expect_err("there is a bug");
        assert_eq!(failure.kind(), kind, "{strategy:?}: {failure}");
    }
    let failure: Box<Failure> = try_explore(Options::default(), bug).expect_err("there is a bug");
    let text = failure.to_string();
    let first = text.lines().next().expect("a first line");
    assert_eq!(failure.kind(), kind, "{text}");
    assert!(first.contains(first_line) && first.contains("[seed "), "{text}");
    assert!(failure.schedule().len() <= 8, "it is not shrunk: {text}");

    let again =
        Options { iterations: 1, seed: failure.seed().expect("a seed found it"), ..Options::default() };
    let replayed = try_explore(again, bug).expect_err("its seed shows it again");
    assert_eq!(replayed.kind(), kind, "{replayed}");
    let shrunk = failure.schedule().to_string();
    let panic =
        catch_unwind(AssertUnwindSafe(|| replay(bug, &shrunk))).expect_err("its schedule shows it again");
    let said = panic.downcast_ref::<String>().expect("a text");
    assert!(said.contains(&format!("[schedule {shrunk}]")), "{said}");
    text
}

#[test]
fn two_locks_in_two_orders() {
    let text = find(
        || {
            let locks = Arc::new((Mutex::new(()), Mutex::new(())));
            let other = locks.clone();
            let child = csp::spawn(move || {
                let _second = other.1.lock();
                let _first = other.0.lock();
            });
            let first = locks.0.lock();
            let second = locks.1.lock();
            drop((first, second));
            child.join().unwrap();
        },
        Kind::Deadlock,
        "deadlock: 'main' waits in Mutex::lock",
    );
    assert!(text.contains("is stopped before Mutex::lock"), "{text}");
    let first = text.lines().next().unwrap();
    assert!(
        first.contains(", held by 'main' since ") && first.contains(", held by #1 (spawned at "),
        "{text}"
    );
}

#[test]
fn a_condition_looked_at_once() {
    find(
        || {
            let queue = Arc::new((Mutex::new(VecDeque::new()), Condvar::new()));
            let takers: Vec<_> = (0..2)
                .map(|_| {
                    let queue = queue.clone();
                    csp::spawn(move || {
                        let mut held = queue.0.lock().unwrap();
                        if held.is_empty() {
                            held = queue.1.wait(held).unwrap();
                        }
                        held.pop_front().expect("somebody has put something there")
                    })
                })
                .collect();
            for number in 0..2 {
                queue.0.lock().unwrap().push_back(number);
                queue.1.notify_all();
            }
            takers.into_iter().for_each(|taker| assert!(taker.join().unwrap() < 2));
        },
        Kind::Panic,
        "somebody has put something there",
    );
}

#[test]
fn a_notification_that_nobody_waits_for_yet() {
    find(
        || {
            let pair = Arc::new((Mutex::new(false), Condvar::new()));
            let other = pair.clone();
            let setter = csp::spawn(move || {
                *other.0.lock().unwrap() = true;
                other.1.notify_one();
            });
            let is_set = *pair.0.lock().unwrap();
            if !is_set {
                // Set in between, it is never told of.
                drop(pair.1.wait(pair.0.lock().unwrap()));
            }
            setter.join().unwrap();
        },
        Kind::Deadlock,
        "deadlock: 'main' waits in Condvar::wait",
    );
}

#[test]
fn a_time_out_that_is_overlooked() {
    find(
        || {
            let pair = Arc::new((Mutex::new(None), Condvar::new()));
            let other = pair.clone();
            let answers = csp::spawn(move || {
                csp::sleep(Duration::from_millis(10));
                *other.0.lock().unwrap() = Some(42);
                other.1.notify_one();
            });
            let (answer, _timed_out) =
                pair.1.wait_timeout(pair.0.lock().unwrap(), Duration::from_millis(10)).unwrap();
            assert_eq!(answer.expect("the answer has come"), 42);
            drop(answer);
            answers.join().unwrap();
        },
        Kind::Panic,
        "the answer has come",
    );
}

#[test]
fn an_answer_that_is_slow_to_come() {
    let bug = || {
        let (sender, receiver) = channel::bounded(1);
        let answers = csp::spawn(move || sender.send(7));
        receiver.recv_timeout(Duration::from_secs(1)).expect("a second is long");
        answers.join().unwrap().unwrap();
    };
    try_explore(Options::default(), bug).expect("time stands still while anybody can run");
    let options = Options { early_alarms: true, ..Options::default() };
    let failure = try_explore(options, bug).expect_err("on a busy machine it is not");
    assert!(failure.to_string().contains("a second is long"), "{failure}");
}

#[test]
fn a_check_before_an_act() {
    find(
        || {
            let (left, sold) = (Arc::new(AtomicU32::new(1)), Arc::new(AtomicU32::new(0)));
            let sell = || {
                let (left, sold) = (left.clone(), sold.clone());
                csp::spawn(move || {
                    if left.load(Ordering::Relaxed) > 0 {
                        csp::yield_now();
                        left.store(0, Ordering::Relaxed);
                        sold.fetch_add(1, Ordering::Relaxed);
                    }
                })
            };
            let both = [sell(), sell()];
            both.into_iter().for_each(|one| one.join().unwrap());
            assert_eq!(sold.load(Ordering::Relaxed), 1, "one seat was sold twice");
        },
        Kind::Panic,
        "one seat was sold twice",
    );
}

#[test]
fn a_selection_that_prefers_to_quit() {
    find(
        || {
            let ((work, jobs), (stop, quit)) = (channel::unbounded(), channel::bounded(1));
            let worker = csp::spawn(move || {
                let mut done = 0;
                loop {
                    channel::select! {
                        recv(jobs) -> _ => done += 1,
                        recv(quit) -> _ => return done,
                    }
                }
            });
            (0..3).for_each(|job| work.send(job).unwrap());
            stop.send(()).unwrap();
            assert_eq!(worker.join().unwrap(), 3, "jobs were left undone");
        },
        Kind::Panic,
        "jobs were left undone",
    );
}

#[test]
fn a_message_that_is_taken_twice() {
    find(
        || {
            let (sender, receiver) = channel::unbounded();
            sender.send(1).unwrap();
            let take = |receiver: channel::Receiver<i32>| {
                csp::spawn(move || {
                    if !receiver.is_empty() {
                        csp::yield_now();
                        receiver.try_recv().expect("it was there a moment ago");
                    }
                })
            };
            let both = [take(receiver.clone()), take(receiver)];
            both.into_iter().for_each(|one| one.join().unwrap());
        },
        Kind::Panic,
        "it was there a moment ago",
    );
}

#[test]
fn permits_taken_one_by_one() {
    find(
        || {
            let permits = Arc::new(Semaphore::new(2));
            let take_two = || {
                let permits = permits.clone();
                csp::spawn(move || {
                    let _one = permits.acquire().unwrap();
                    let _other = permits.acquire().unwrap();
                })
            };
            let both = [take_two(), take_two()];
            both.into_iter().for_each(|one| one.join().unwrap());
        },
        Kind::Deadlock,
        "waits in Semaphore::acquire",
    );
}

#[test]
fn readers_that_want_to_write() {
    find(
        || {
            let table = Arc::new(RwLock::new(0));
            let add = || {
                let table = table.clone();
                csp::spawn(move || {
                    let before = *table.read().unwrap();
                    *table.write().unwrap() = before + 1;
                })
            };
            let both = [add(), add()];
            both.into_iter().for_each(|one| one.join().unwrap());
            assert_eq!(*table.read().unwrap(), 2, "an addition was lost");
        },
        Kind::Panic,
        "an addition was lost",
    );
}

#[test]
fn a_member_that_leaves_the_others_at_the_barrier() {
    find(
        || {
            let (barrier, failed) = (Arc::new(Barrier::new(2)), Arc::new(AtomicBool::new(false)));
            let (met, fails) = (barrier.clone(), failed.clone());
            let other = csp::spawn(move || {
                if !fails.load(Ordering::Relaxed) {
                    met.wait();
                }
            });
            csp::yield_now();
            failed.store(true, Ordering::Relaxed);
            barrier.wait();
            other.join().unwrap();
        },
        Kind::Deadlock,
        "'main' waits in Barrier::wait",
    );
}

#[test]
fn a_sender_that_gives_up() {
    find(
        || {
            let (mut sender, mut receiver) = csp::channel();
            let gives_up = csp::spawn(move || {
                csp::sleep(Duration::from_millis(1));
                let _refused = sender.send_timeout(1, Duration::from_millis(1));
            });
            csp::sleep(Duration::from_millis(2));
            receiver.recv().expect("it sends, sooner or later");
            gives_up.join().unwrap();
        },
        Kind::Panic,
        "it sends, sooner or later",
    );
}

#[test]
fn a_waker_that_is_kept_too_late() {
    find(
        || {
            let state = Arc::new((AtomicBool::new(false), Mutex::new(None::<Waker>)));
            let other = state.clone();
            let sets = csp::spawn(move || {
                other.0.store(true, Ordering::Relaxed);
                let waker = other.1.lock().unwrap().take();
                waker.into_iter().for_each(Waker::wake);
            });
            csp::yield_now();
            task::block_on(std::future::poll_fn(|context| {
                if state.0.load(Ordering::Relaxed) {
                    return Poll::Ready(());
                }
                // In a process, where one may wait for the lock: set in between, nobody is woken.
                *state.1.lock().unwrap() = Some(context.waker().clone());
                Poll::Pending
            }));
            sets.join().unwrap();
        },
        Kind::Deadlock,
        "'main' waits in",
    );
}
