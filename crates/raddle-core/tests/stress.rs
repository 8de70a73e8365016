//! The stress catalogue: much of one thing, on 1, 2 and 8 workers, under several policies, each with a watchdog.
//!
//! Re-invented after the JDK's catalogue for virtual threads (`test/jdk/java/lang/Thread/virtual/stress`). Short by
//! default; `STRESS=n` does each thing n times instead of 10, as `STRESS=500 cargo test --release --test stress`.
#![cfg(not(loom))]
#![allow(clippy::print_stderr, reason = "the watchdog's last words")]

#[path = "stress/cancelled.rs"]
mod cancelled;
#[path = "stress/channels.rs"]
mod channels;
#[path = "stress/chaos.rs"]
mod chaos;
#[path = "stress/dumps.rs"]
mod dumps;
#[path = "stress/futex.rs"]
mod futex;
#[path = "support/futex_locks.rs"]
mod futex_locks;
#[path = "stress/locks.rs"]
mod locks;
#[path = "stress/meetings.rs"]
mod meetings;
#[path = "stress/stands.rs"]
mod stands;
#[path = "stress/threads.rs"]
mod threads;
#[path = "support/watch.rs"]
mod watch;

use raddle::csp::{self, Process};
use raddle::{Balance, Builder, Queues, Runtime, Victim, task};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use watch::{Progress, Watchdog};

/// How many times each thing is done.
fn times() -> usize {
    std::env::var("STRESS").ok().and_then(|n| n.parse().ok()).unwrap_or(10)
}

type Setting = (&'static str, fn(Builder) -> Builder);

const POLICIES: [Setting; 7] = [
    ("default", |b| b),
    ("share", |b| b.balance(Balance::Share)),
    ("fair", |b| b.balance(Balance::Fair).tick(Duration::from_micros(100)).victim(Victim::Ring)),
    ("none", |b| b.balance(Balance::None)),
    ("shared queue", |b| b.queues(Queues::Shared)),
    ("groups", |b| b.queues(Queues::PerGroup(2)).victim(Victim::Random)),
    ("no migration, spin", |b| b.migration(false).spin(Duration::from_micros(20))),
];

/// Runs `test` under every policy and number of workers; at the end nothing may be left.
fn everywhere(name: &str, test: impl Fn(&Runtime, &Progress)) {
    for (policy, set) in POLICIES {
        for workers in [1, 2, 8] {
            let rt = Arc::new(set(Runtime::builder().workers(workers)).build().expect("a runtime"));
            let progress = Progress::default();
            let watched = Arc::downgrade(&rt);
            let stats = move || match watched.upgrade() {
                Some(rt) => rt.stats().iter().map(|s| format!("worker\n{s}")).collect(),
                None => String::from("it is ending"),
            };
            let _dumper = dumps::Dumper::if_asked();
            let _dog = Watchdog::new(format!("{name}, {policy}, {workers} workers"), progress.clone(), stats);
            for _ in 0..times() {
                test(&rt, &progress);
                progress.note();
            }
            end(rt, name);
        }
    }
}

/// The watchdog may hold the runtime for the moment of a report, which then does not return.
fn end(rt: Arc<Runtime>, name: &str) {
    let rt = Arc::into_inner(rt).expect("the last to hold it");
    assert_eq!(rt.shutdown(), 0, "{name} left something behind");
}

#[test]
fn skynet() {
    fn node(at: u64, below: u64) -> u64 {
        if below == 1 {
            return at;
        }
        let child = |n| csp::spawn(move || node(at + n * (below / 10), below / 10));
        let children: Vec<_> = (0..10).map(child).collect();
        children.into_iter().map(|c| c.join().unwrap()).sum()
    }
    everywhere("skynet", |rt, _| assert_eq!(rt.run(|| node(0, 10_000)), 49_995_000));
}

#[test]
fn ping_pong_a_lot() {
    const TURNS: usize = 2_000;
    everywhere("ping-pong", |rt, progress| {
        let pairs = rt.run(|| (0..4).flat_map(|_| pair(TURNS, progress)).collect::<Vec<_>>());
        pairs.into_iter().for_each(|h| h.join().unwrap());
    });
}

/// Two processes that hand a number to and fro.
fn pair(turns: usize, progress: &Progress) -> [csp::JoinHandle<()>; 2] {
    let ball = Arc::new(AtomicUsize::new(0));
    let peers: Arc<Mutex<Vec<Process>>> = Arc::default();
    let bat = |me: usize| {
        let (ball, peers, progress) = (ball.clone(), peers.clone(), progress.clone());
        csp::spawn(move || {
            while peers.lock().unwrap().len() < 2 {
                csp::yield_now();
            }
            let peer = peers.lock().unwrap()[1 - me].clone();
            for turn in 0..turns {
                while ball.load(Ordering::Acquire) != 2 * turn + me {
                    csp::park();
                }
                ball.fetch_add(1, Ordering::AcqRel);
                peer.unpark();
            }
            progress.note();
        })
    };
    let both = [bat(0), bat(1)];
    peers.lock().unwrap().extend(both.iter().map(csp::JoinHandle::process));
    both
}

/// Senders with and without patience against one who alternates, twice with a barrier between; and a line beside.
#[test]
fn communicate_a_lot() {
    const EACH: usize = 50;
    everywhere("communicate-a-lot", |rt, progress| {
        let progress = progress.clone();
        rt.run(move || {
            let (senders, mut receivers): (Vec<_>, Vec<_>) = (0..8).map(|_| csp::channel()).unzip();
            let mut phase = csp::Barrier::new();
            let spawn = |(who, mut to): (usize, csp::Sender<usize>)| {
                let mut phase = phase.enrol();
                csp::spawn(move || {
                    for n in 0..2 * EACH {
                        if n == EACH {
                            phase.sync();
                        }
                        send(&mut to, n, who % 2 == 0);
                    }
                })
            };
            let all: Vec<_> = senders.into_iter().enumerate().map(spawn).collect();
            let (mut alternation, mut next) = (csp::Alternation::fair(), [0; 8]);
            for half in [EACH, 2 * EACH] {
                while next.iter().any(|n| *n < half) {
                    let until = Instant::now() + Duration::from_micros(30);
                    let open = |n: usize| next[n] < half;
                    if let Some((n, value)) = alternation.recv_until(&mut receivers, open, until) {
                        assert_eq!(value, Ok(next[n]));
                        next[n] += 1;
                    }
                    progress.note();
                }
                if half == EACH {
                    phase.sync();
                }
            }
            all.into_iter().for_each(|h| h.join().unwrap());
            csp::par_for(0..20, |n| {
                let (mut to, mut from) = csp::channel();
                assert_eq!(csp::par!(to.send(n), from.recv()), (Ok(()), Ok(n)));
            });
        });
    });
}

/// Sends, waiting for ever or again and again for a moment.
fn send(to: &mut csp::Sender<usize>, value: usize, patient: bool) {
    if patient {
        return to.send(value).unwrap();
    }
    while to.send_timeout(value, Duration::from_micros(value as u64 % 5)).is_err() {
        csp::yield_now();
    }
}

#[test]
fn park_a_lot() {
    everywhere("park-a-lot", |rt, progress| {
        rt.run(|| {
            let rounds = 50;
            let parked = |_| {
                let count = Arc::new(AtomicUsize::new(0));
                let seen = count.clone();
                let handle = csp::spawn(move || {
                    for round in 1..=rounds {
                        while seen.load(Ordering::Acquire) < round {
                            csp::park();
                        }
                    }
                });
                (count, handle)
            };
            let all: Vec<_> = (0..100).map(parked).collect();
            for _ in 0..rounds {
                for (count, handle) in &all {
                    count.fetch_add(1, Ordering::Release);
                    handle.process().unpark();
                }
                csp::yield_now();
                progress.note();
            }
            all.into_iter().for_each(|(_, h)| h.join().unwrap());
        });
    });
}

#[test]
fn yield_a_lot() {
    everywhere("yield-a-lot", |rt, progress| {
        rt.run(|| {
            let yielder = |n: usize| {
                let progress = progress.clone();
                csp::spawn(move || {
                    (0..200 + n).for_each(|_| csp::yield_now());
                    progress.note();
                })
            };
            let all: Vec<_> = (0..100).map(yielder).collect();
            all.into_iter().for_each(|h| h.join().unwrap());
        });
    });
}

#[test]
fn sleep_a_lot() {
    everywhere("sleep-a-lot", |rt, progress| {
        rt.run(|| {
            let sleeper = |n: u64| {
                let progress = progress.clone();
                csp::spawn(move || {
                    for round in 0..5 {
                        match (n + round) % 3 {
                            0 => csp::sleep(Duration::from_micros(n * 3 % 700)),
                            1 => csp::park_timeout(Duration::from_micros(n * 7 % 900)),
                            _ => task::block_on(task::sleep(Duration::from_micros(n % 300))),
                        }
                    }
                    progress.note();
                })
            };
            let all: Vec<_> = (0..300).map(sleeper).collect();
            all.into_iter().for_each(|h| h.join().unwrap());
        });
    });
}

#[test]
fn spawn_storm() {
    everywhere("spawn-storm", |rt, progress| {
        let ended = Arc::new(AtomicUsize::new(0));
        let count = ended.clone();
        rt.run(move || {
            let burst = |_| {
                let count = count.clone();
                csp::spawn(move || {
                    for n in 0..500 {
                        let count = count.clone();
                        let child = csp::spawn(move || count.fetch_add(1, Ordering::Relaxed));
                        match n % 3 {
                            0 => drop(child),
                            1 => drop(child.join().unwrap()),
                            _ => csp::yield_now(),
                        }
                    }
                })
            };
            (0..8).map(burst).collect::<Vec<_>>().into_iter().for_each(|h| h.join().unwrap());
        });
        while ended.load(Ordering::Relaxed) < 4000 {
            rt.run(csp::yield_now);
            progress.note();
        }
    });
}

#[test]
fn unpark_from_os_threads_a_lot() {
    everywhere("unpark from OS threads", |rt, progress| {
        let (give, take) = mpsc::channel::<(Process, Arc<AtomicUsize>)>();
        let handles = rt.run(move || {
            let parked = |_| {
                let count = Arc::new(AtomicUsize::new(0));
                let seen = count.clone();
                let handle = csp::spawn(move || {
                    for round in 1..=100 {
                        while seen.load(Ordering::Relaxed) < round {
                            csp::park();
                        }
                    }
                });
                give.send((handle.process(), count)).unwrap();
                handle
            };
            (0..8).map(parked).collect::<Vec<_>>()
        });
        let parked: Vec<_> = take.iter().collect();
        std::thread::scope(|s| {
            for half in parked.chunks(4) {
                let progress = progress.clone();
                s.spawn(move || {
                    for _ in 0..100 {
                        for (process, count) in half {
                            count.fetch_add(1, Ordering::Relaxed);
                            process.unpark();
                        }
                        progress.note();
                    }
                });
            }
        });
        handles.into_iter().for_each(|h| h.join().unwrap());
    });
}

#[test]
fn cross_runtime_a_lot() {
    let other = Runtime::builder().workers(2).build().unwrap();
    everywhere("cross-runtime", |rt, progress| {
        let sum = rt.run(|| {
            let ask = |n: u64| {
                let (other, progress) = (&other, progress.clone());
                csp::scope(move |s| {
                    let near = s.spawn(move || other.run(move || csp::spawn(move || n).join().unwrap()));
                    let far = other.run(|| task::spawn(async move { n }));
                    progress.note();
                    near.join().unwrap() + task::block_on(far).unwrap()
                })
            };
            (0..50).map(ask).sum::<u64>()
        });
        assert_eq!(sum, 2 * 1225);
    });
    assert_eq!(other.shutdown(), 0);
}

#[test]
fn scope_a_lot() {
    fn sum(numbers: &[u64]) -> u64 {
        if numbers.len() <= 4 {
            return numbers.iter().sum();
        }
        let (left, right) = numbers.split_at(numbers.len() / 2);
        csp::scope(|s| {
            let left = s.spawn(|| sum(left));
            sum(right) + left.join().unwrap()
        })
    }
    let numbers: Vec<u64> = (0..4096).collect();
    everywhere("scope-a-lot", |rt, _| assert_eq!(rt.run(|| sum(&numbers)), 4095 * 2048));
}

#[test]
fn tasks_a_lot() {
    everywhere("tasks-a-lot", |rt, progress| {
        let total = Arc::new(AtomicU64::new(0));
        let count = total.clone();
        rt.block_on(async move {
            let task = |n: u64| {
                let (count, progress) = (count.clone(), progress.clone());
                task::spawn(async move {
                    for _ in 0..n % 7 {
                        task::yield_now().await;
                    }
                    let below = task::spawn(async move { n });
                    count.fetch_add(below.await.unwrap(), Ordering::Relaxed);
                    progress.note();
                })
            };
            for task in (0..1000).map(task).collect::<Vec<_>>() {
                task.await.unwrap();
            }
        });
        assert_eq!(total.load(Ordering::Relaxed), 499_500);
    });
}

#[test]
fn mixed() {
    everywhere("mixed", |rt, progress| {
        rt.run(|| {
            let pairs: Vec<_> = (0..2).flat_map(|_| pair(200, progress)).collect();
            let kinds = |n: u64| {
                let progress = progress.clone();
                csp::spawn(move || {
                    match n % 5 {
                        0 => csp::sleep(Duration::from_micros(n)),
                        1 => (0..50).for_each(|_| csp::yield_now()),
                        2 => task::block_on(async { task::spawn(task::yield_now()).await.unwrap() }),
                        3 => csp::scope(|s| (0..5).for_each(|_| drop(s.spawn(csp::yield_now)))),
                        _ => drop(csp::spawn(|| std::panic::resume_unwind(Box::new(1))).join().unwrap_err()),
                    }
                    progress.note();
                })
            };
            let all: Vec<_> = (0..200).map(kinds).collect();
            all.into_iter().chain(pairs).for_each(|h| h.join().unwrap());
        });
    });
}

#[test]
fn runtimes_end_a_lot() {
    let progress = Progress::default();
    let _dog = Watchdog::new("runtimes that end".to_owned(), progress.clone(), String::new);
    for round in 0..100 * times() {
        let rt = Runtime::builder().workers(round % 3 + 1).build().unwrap();
        rt.run(|| {
            for _ in 0..2 {
                pair(20, &progress).into_iter().for_each(drop);
            }
            drop(csp::spawn(|| csp::sleep(Duration::from_micros(50))));
            drop(task::spawn(task::sleep(Duration::from_micros(80))));
        });
        assert_eq!(rt.shutdown(), 0);
        progress.note();
    }
}

/// Threads that change workers at every yield; `STRESS=160` makes ten million migrations.
#[test]
fn threads_change_workers_at_every_yield() {
    thread_local! {
        static OWN: std::cell::Cell<usize> = const { std::cell::Cell::new(7) };
        static TEXT: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
    }
    const THREADS: usize = 64;
    let rt = Runtime::builder().workers(2).scatter_threads(true).build().expect("a runtime");
    let progress = Progress::default();
    let _dog = Watchdog::new(String::from("scattered threads"), progress.clone(), String::new);
    let turns = times() * 1000;
    let body = |n: usize, progress: Progress| {
        move || {
            assert_eq!(OWN.replace(n), 7);
            // SAFETY: the address of this thread's own variable.
            let errno = unsafe { libc::__errno_location() };
            let mut held = std::collections::VecDeque::new();
            for turn in 0..turns {
                // SAFETY: as above.
                unsafe { errno.write(n as i32) };
                TEXT.with_borrow_mut(|text| *text = format!("{n} {turn}"));
                held.push_back(vec![n; turn % 50]);
                csp::yield_now();
                // SAFETY: as above.
                assert_eq!((OWN.get(), unsafe { errno.read() }), (n, n as i32));
                TEXT.with_borrow(|text| assert_eq!(*text, format!("{n} {turn}")));
                if held.len() > 20 {
                    assert!(held.pop_front().is_none_or(|old| old.iter().all(|&x| x == n)));
                }
                if turn % 500 == 0 {
                    progress.note();
                    let caught = std::panic::catch_unwind(|| {
                        csp::yield_now();
                        std::panic::resume_unwind(Box::new(n))
                    });
                    assert_eq!(caught.unwrap_err().downcast_ref(), Some(&n));
                }
            }
        }
    };
    rt.run(|| {
        let thread =
            |n| csp::Builder::new().own_tls(true).spawn(body(n, progress.clone())).expect("a thread");
        let all: Vec<_> = (100..100 + THREADS).map(thread).collect();
        all.into_iter().for_each(|t| t.join().expect("no violation"));
    });
    let migrations: u64 = rt.migrations().iter().flatten().sum();
    // A thread that is taken back before it has run has not migrated.
    assert!(migrations >= (THREADS * turns / 2) as u64, "{migrations}");
}

/// A tree of joins with scopes, forks, loops and waits in it; its value is known.
fn jobs_a_lot(depth: u32, progress: &Progress) -> u64 {
    if depth == 0 {
        progress.note();
        return 1;
    }
    let below = || jobs_a_lot(depth - 1, progress);
    match depth % 4 {
        0 => {
            let sum = AtomicU64::new(0);
            raddle::scope(|s| {
                for _ in 0..2 {
                    s.spawn(|_| _ = sum.fetch_add(below(), Ordering::Relaxed));
                }
            });
            sum.into_inner()
        }
        1 => {
            let half = raddle::fork(csp::yield_now);
            let (a, b) = raddle::join(below, || {
                csp::yield_now();
                below()
            });
            half.join();
            a + b
        }
        2 => {
            let sum = AtomicU64::new(0);
            raddle::par_for(0..2, |_| _ = sum.fetch_add(below(), Ordering::Relaxed));
            sum.into_inner()
        }
        _ => {
            let (a, b) = raddle::join(below, below);
            a + b
        }
    }
}

#[test]
fn forks_a_lot() {
    everywhere("forks a lot", |rt, progress| {
        assert_eq!(rt.run(|| jobs_a_lot(10, progress)), 1 << 10);
    });
}

#[test]
fn futures_a_lot_asked_for_by_others() {
    everywhere("forks a lot", |rt, progress| {
        rt.run(|| {
            let made: Vec<_> = (0..300_u64).map(|n| raddle::fork(move || n)).collect();
            let (ours, theirs): (Vec<_>, Vec<_>) =
                made.into_iter().enumerate().partition(|(n, _)| n.is_multiple_of(3));
            let asks = csp::spawn(move || theirs.into_iter().map(|(_, fork)| fork.join()).sum::<u64>());
            let sum: u64 = ours.into_iter().map(|(_, fork)| fork.join()).sum();
            assert_eq!(sum + asks.join().unwrap(), 44_850);
            progress.note();
        });
    });
}
