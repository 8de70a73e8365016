//! No report of programs that go on: each here has moments in which all sleep, for longer than the watcher waits, or is
//! busy with locks, joins and jobs for longer than it takes to look twice; and each ends by itself.
//!
//! Once each by default. `PATIENT=n` runs n of them in all, as many side by side as `PATIENT_AT_ONCE` says:
//! `PATIENT=10000 PATIENT_AT_ONCE=40 cargo test -p raddle-hang --release --test it goes_on`. Sleeps here are not to
//! wait for anybody: they are the time in which a false alarm would come.

use crate::child::program;
use crate::runtime;
use raddle::sync::{Barrier, Condvar, McsLock, Mutex};
use raddle::{blocking, channel, csp, fork, join, thread};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub(crate) const PROGRAMS: [(&str, fn()); 12] = [
    ("a_sender_that_sleeps", a_sender_that_sleeps),
    ("a_relay_of_unrelated_threads", a_relay_of_unrelated_threads),
    ("a_long_call", a_long_call),
    ("a_long_sleep_in_a_lock", a_long_sleep_in_a_lock),
    ("deadlines", deadlines),
    ("a_future_of_another", a_future_of_another),
    ("two_runtimes", two_runtimes),
    ("os_threads_in_turn", os_threads_in_turn),
    ("philosophers", philosophers),
    ("jobs_that_wait", jobs_that_wait),
    ("rings_of_joins", rings_of_joins),
    ("conditions", conditions),
];

/// A time about that of the watcher's looks, another in each run.
fn a_while() -> Duration {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Duration::from_micros(90_000 + u64::from(now.subsec_nanos()) / 7 % 260_000)
}

fn a_sender_that_sleeps() {
    let (sender, receiver) = channel::bounded::<u32>(1);
    let late = std::thread::spawn(move || {
        for n in 0..3 {
            std::thread::sleep(a_while());
            sender.send(n).unwrap();
        }
    });
    assert_eq!(runtime(2).run(|| receiver.iter().sum::<u32>()), 3);
    late.join().unwrap();
}

/// OS threads that use nothing of ours, of which each starts the next and ends: the list of them is never at rest.
fn a_relay_of_unrelated_threads() {
    fn pass_on(until: Instant, last: channel::Sender<u32>) {
        std::thread::sleep(Duration::from_millis(1));
        if Instant::now() > until {
            return last.send(7).unwrap();
        }
        std::thread::spawn(move || pass_on(until, last));
    }
    let (sender, receiver) = channel::unbounded();
    pass_on(Instant::now() + 3 * a_while(), sender);
    assert_eq!(runtime(2).run(|| receiver.recv()), Ok(7));
}

fn a_long_call() {
    runtime(2).run(|| {
        let (mut sender, mut receiver) = csp::channel();
        let caller = csp::spawn(move || {
            blocking(|| std::thread::sleep(2 * a_while()));
            sender.send(7).unwrap();
        });
        assert_eq!(receiver.recv(), Ok(7));
        caller.join().unwrap();
    });
}

fn a_long_sleep_in_a_lock() {
    runtime(2).run(|| {
        let (lock, queue) = (Mutex::new(0), McsLock::new(0));
        csp::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| {
                    let mut held = lock.lock().unwrap();
                    csp::sleep(a_while());
                    *held += *queue.lock();
                });
            }
        });
    });
}

fn deadlines() {
    let (sender, receiver) = channel::bounded::<u32>(0);
    let rt = runtime(2);
    let waits = rt.spawn(move || receiver.recv_timeout(a_while()));
    assert!(waits.join().unwrap().is_err());
    rt.run(|| csp::park_timeout(a_while()));
    drop(sender);
}

fn a_future_of_another() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let late = std::thread::spawn(move || {
        let waker: std::task::Waker = receiver.recv().unwrap();
        std::thread::sleep(2 * a_while());
        waker.wake();
    });
    let mut asked = false;
    runtime(2).block_on(std::future::poll_fn(|context| {
        if std::mem::replace(&mut asked, true) {
            return std::task::Poll::Ready(());
        }
        sender.send(context.waker().clone()).unwrap();
        std::task::Poll::Pending
    }));
    late.join().unwrap();
}

fn two_runtimes() {
    let (one, other) = (runtime(1), runtime(2));
    let (sender, receiver) = channel::bounded::<u32>(0);
    let gets = one.spawn(move || receiver.recv());
    other.run(move || {
        csp::sleep(2 * a_while());
        sender.send(7).unwrap();
    });
    assert_eq!(gets.join().unwrap(), Ok(7));
}

/// Each of some OS threads waits in a call of ours until the one before it has ended its sleep.
fn os_threads_in_turn() {
    let rt = Arc::new(runtime(2));
    let turn = Arc::new((Mutex::new(0), Condvar::new()));
    let threads = (0..3).map(|me| {
        let (rt, turn) = (rt.clone(), turn.clone());
        std::thread::spawn(move || {
            let (now, changed) = &*turn;
            let mut now = now.lock().unwrap();
            while *now != me {
                now = changed.wait(now).unwrap();
            }
            std::thread::sleep(a_while());
            *now = rt.run(move || me + 1);
            changed.notify_all();
        })
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
}

/// They take the forks in one order, and are always at it.
fn philosophers() {
    let until = Instant::now() + Duration::from_millis(700);
    runtime(2).run(|| {
        let forks: Vec<Mutex<u32>> = (0..5).map(Mutex::new).collect();
        let forks = &forks;
        csp::scope(|s| {
            for seat in 0..5 {
                s.spawn(move || {
                    while Instant::now() < until {
                        let (low, high) = (seat.min((seat + 1) % 5), seat.max((seat + 1) % 5));
                        let _low = forks[low].lock().unwrap();
                        csp::sleep(Duration::from_millis(1));
                        *forks[high].lock().unwrap() += 1;
                    }
                });
            }
        });
    });
}

/// Halves of joins that wait for each other's messages, and forks that are asked for by others.
fn jobs_that_wait() {
    let until = Instant::now() + Duration::from_millis(700);
    runtime(2).run(|| {
        while Instant::now() < until {
            let (mut to, mut from) = csp::channel();
            let sends = move || {
                csp::sleep(Duration::from_millis(1));
                to.send(fork(|| csp::sleep(Duration::from_millis(2)))).unwrap();
            };
            join(sends, move || from.recv().unwrap().join());
        }
    });
}

/// Who joins whom changes all the time; each is joined by one that was spawned before it.
fn rings_of_joins() {
    fn chain(length: u32) -> u32 {
        csp::sleep(Duration::from_micros(300));
        let rest =
            (length > 0).then(|| (thread::spawn(move || chain(length - 1)), csp::spawn(csp::yield_now)));
        rest.map_or(1, |(thread, process)| {
            process.join().unwrap();
            thread.join().unwrap() + 1
        })
    }
    let until = Instant::now() + Duration::from_millis(700);
    runtime(2).run(|| {
        while Instant::now() < until {
            assert_eq!(chain(20), 21);
        }
    });
}

fn conditions() {
    runtime(2).run(|| {
        let (all, come) = (Arc::new(Barrier::new(4)), Arc::new(AtomicUsize::new(0)));
        let comers = (0..4).map(|n| {
            let (all, come) = (all.clone(), come.clone());
            csp::spawn(move || {
                csp::sleep(a_while() * n / 2);
                come.fetch_add(1, Ordering::Relaxed);
                all.wait();
                assert_eq!(come.load(Ordering::Relaxed), 4);
            })
        });
        comers.collect::<Vec<_>>().into_iter().for_each(|comer| comer.join().unwrap());
    });
}

#[test]
fn nothing_is_reported_of_who_goes_on() {
    let number = |name: &str, default| std::env::var(name).map_or(default, |n| n.parse().unwrap());
    let (runs, at_once) = (number("PATIENT", PROGRAMS.len()), number("PATIENT_AT_ONCE", PROGRAMS.len()));
    let start = |run: usize| {
        let name = PROGRAMS[run % PROGRAMS.len()].0;
        (name, program(name, &[]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts"))
    };
    let end = |(name, child): (&str, Child)| {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let is_quiet =
            said.lines().all(|line| line.contains("raddle: slow: ") || line.starts_with("    in "));
        assert!(output.status.success() && is_quiet, "{name}: {:?}\n{said}", output.status);
    };
    let mut running = std::collections::VecDeque::new();
    for run in 0..runs {
        if running.len() >= at_once {
            running.pop_front().map(end);
        }
        running.push_back(start(run));
    }
    running.into_iter().for_each(end);
    if runs > PROGRAMS.len() {
        eprintln!("{runs} runs without a report");
    }
}
