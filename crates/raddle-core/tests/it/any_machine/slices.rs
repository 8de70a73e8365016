//! Ticks and teams of the door: loops that yield when their slice is over, and waits that spin before they sleep.

use crate::runtime;
use raddle::cancel::Token;
use raddle::{Runtime, csp, task, thread};
use raddle_core::door::futex::{self, ANY, WaitOptions, WaitOutcome};
use raddle_core::door::poller::Poller;
use raddle_core::door::team::{TeamWord, default_spin, wake_at};
use raddle_core::door::tick;
use raddle_core::runtime::place;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);
const TICK: Duration = Duration::from_millis(10);

fn spin_until(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        tick::yield_if_due();
    }
}

/// Each of these would wait for ever on one worker.
#[test]
fn who_yields_in_time_keeps_nobody_from_running() {
    let spin = || {
        let flag = Arc::new(AtomicBool::new(false));
        let set = || {
            let flag = flag.clone();
            move || flag.store(true, Ordering::Release)
        };
        let child = csp::spawn(set());
        spin_until(&flag);
        child.join().unwrap();

        flag.store(false, Ordering::Relaxed);
        let (child, sets) = (thread::spawn(csp::yield_now), set());
        let sleeper = csp::spawn(move || {
            csp::sleep(Duration::from_millis(1));
            sets();
        });
        spin_until(&flag);
        child.join().unwrap();
        sleeper.join().unwrap();

        // Nobody but the poller wants the worker.
        flag.store(false, Ordering::Relaxed);
        let sets = set();
        let poller = Poller::new("test", Duration::ZERO, move |_| {
            sets();
            HOUR
        });
        let poller = poller.expect("a runtime");
        poller.begin(1);
        spin_until(&flag);
    };
    runtime(1).run(spin);
    runtime(1).spawn(move || thread::spawn(spin).join().unwrap()).join().unwrap();
    // What comes from outside.
    let (rt, flag) = (runtime(1), Arc::new(AtomicBool::new(false)));
    let looks = flag.clone();
    let spinner = rt.spawn(move || spin_until(&looks));
    rt.run(|| flag.store(true, Ordering::Release));
    spinner.join().unwrap();
    Runtime::builder().seed(3).build().expect("a runtime").run(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let sets = flag.clone();
        let child = csp::spawn(move || sets.store(true, Ordering::Release));
        spin_until(&flag);
        child.join().unwrap();
    });
}

#[test]
fn nobody_yields_before_a_tick_is_over_or_to_nobody() {
    runtime(1).run(|| {
        let begun = Instant::now();
        while begun.elapsed() < 3 * TICK {
            assert!(!tick::due() && !tick::yield_if_due());
        }
        // Until there have been so many yields of all three, however little of a processor they get.
        let left = Arc::new(AtomicU32::new(8));
        let compute = |left: Arc<AtomicU32>| {
            move || {
                let (begun, mut ways) = (Instant::now(), 0_u32);
                while left.load(Ordering::Relaxed) > 0 {
                    assert!(begun.elapsed() < Duration::from_secs(60), "two others wait");
                    if tick::yield_if_due() {
                        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).ok();
                        ways += 1;
                    }
                }
                (begun.elapsed(), ways)
            }
        };
        let all = [(); 3].map(|()| csp::spawn(compute(left.clone()))).map(|one| one.join().unwrap());
        for (elapsed, ways) in all {
            assert!(u128::from(ways) <= elapsed.as_nanos() / TICK.as_nanos() + 1, "{ways} in {elapsed:?}");
        }
    });
}

#[test]
fn a_task_may_ask_and_an_os_thread_has_no_slice() {
    assert!(!tick::due() && !tick::yield_if_due());
    runtime(1).run(|| {
        let waits = csp::spawn(|| ());
        let done = Arc::new(AtomicBool::new(false));
        let is_done = done.clone();
        let asks = task::spawn(async move {
            let begun = Instant::now();
            while !tick::due() {
                assert!(begun.elapsed() < Duration::from_secs(60), "somebody waits");
                assert!(!tick::yield_if_due());
            }
            assert!(!tick::yield_if_due());
            is_done.store(true, Ordering::Relaxed);
        });
        // It waits for its turn behind the task.
        let behind = csp::spawn(|| ());
        while !done.load(Ordering::Relaxed) {
            csp::yield_now();
        }
        drop(asks);
        waits.join().unwrap();
        behind.join().unwrap();
    });
}

struct Barrier {
    members: u32,
    missing: AtomicU32,
    rounds: TeamWord,
}

impl Barrier {
    fn new(members: u32) -> Barrier {
        Barrier { members, missing: AtomicU32::new(members), rounds: TeamWord::new() }
    }

    fn wait(&self, spin: Duration) {
        let round = self.rounds.round();
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.missing.store(self.members, Ordering::Relaxed);
            self.rounds.begin_next();
        } else {
            assert_ne!(self.rounds.wait(round, spin), WaitOutcome::Cancelled);
        }
    }
}

#[test]
fn all_members_are_in_the_same_round() {
    for (workers, members) in [(1, 2), (2, 2), (2, 5), (3, 3)] {
        for spin in [Duration::ZERO, Duration::from_micros(20), HOUR] {
            runtime(workers).run(|| {
                let barrier = Arc::new(Barrier::new(members));
                let done: Arc<Vec<AtomicU32>> = Arc::new((0..members).map(|_| AtomicU32::new(0)).collect());
                let work = |number: usize| {
                    let (barrier, done) = (barrier.clone(), done.clone());
                    move || {
                        for round in 1..=100 {
                            done[number].store(round, Ordering::Relaxed);
                            barrier.wait(spin);
                            assert!(done.iter().all(|one| one.load(Ordering::Relaxed) == round));
                            barrier.wait(spin);
                        }
                    }
                };
                let threads = (0..members as usize).map(|number| thread::spawn(work(number)));
                threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
                assert_eq!(barrier.rounds.round(), 200);
            });
        }
    }
}

/// An OS thread is a member as any, and does not spin.
#[test]
fn an_os_thread_may_be_a_member() {
    let rt = runtime(2);
    let barrier = Arc::new(Barrier::new(3));
    let inside = [(); 2].map(|()| {
        let barrier = barrier.clone();
        rt.spawn(move || (0..100).for_each(|_| barrier.wait(default_spin(2))))
    });
    assert_eq!(default_spin(2), Duration::ZERO);
    (0..100).for_each(|_| barrier.wait(HOUR));
    inside.into_iter().for_each(|one| one.join().unwrap());
    assert_eq!(barrier.rounds.round(), 100);
}

#[test]
fn a_long_spin_keeps_nothing_from_its_worker() {
    runtime(1).run(|| {
        let word = Arc::new(TeamWord::new());
        let begins = word.clone();
        let sleeper = csp::spawn(move || {
            csp::sleep(Duration::from_millis(2));
            begins.begin_next();
        });
        assert_eq!(word.wait(0, HOUR), WaitOutcome::Woken);
        assert_eq!(word.wait(0, HOUR), WaitOutcome::Differs);
        sleeper.join().unwrap();
    });
    let rt = runtime(1);
    let word = Arc::new(TeamWord::new());
    let waits = word.clone();
    let waiter = rt.spawn(move || waits.wait(0, HOUR));
    // What comes from outside.
    assert_eq!(rt.run(|| 7), 7);
    word.begin_next();
    assert_ne!(waiter.join().unwrap(), WaitOutcome::Cancelled);
}

#[test]
fn a_cancellation_ends_a_wait_of_a_member() {
    runtime(2).run(|| {
        let token = Token::new();
        let cancels = token.clone();
        let begun = Arc::new(AtomicBool::new(false));
        let begins = begun.clone();
        let member = csp::spawn(move || {
            let mut outcome = None;
            let _cancelled = token.run(|| {
                begins.store(true, Ordering::Relaxed);
                outcome = Some(TeamWord::new().wait(0, Duration::from_micros(50)));
            });
            outcome
        });
        // One that is cancelled before it has begun does not begin.
        while !begun.load(Ordering::Relaxed) {
            csp::sleep(Duration::from_millis(1));
        }
        csp::sleep(Duration::from_millis(1));
        cancels.cancel();
        assert_eq!(member.join().unwrap(), Some(WaitOutcome::Cancelled));
    });
}

#[test]
fn nobody_spins_in_a_team_that_is_larger_than_the_runtime() {
    runtime(2).run(|| {
        assert_eq!(default_spin(1), Duration::ZERO);
        assert!(default_spin(2) > Duration::ZERO);
        assert_eq!(default_spin(3), Duration::ZERO);
    });
}

/// A waker that goes on without a pause has one woken at the other worker, and not by a steal.
#[test]
fn whoever_is_woken_at_another_worker_runs_there() {
    const ROUNDS: usize = 20;
    let runtime = runtime(2);
    runtime.run(|| {
        for _ in 0..ROUNDS {
            let word = Arc::new(AtomicU32::new(0));
            let ran = Arc::new(AtomicUsize::new(usize::MAX));
            let sleeper = {
                let (word, ran) = (word.clone(), ran.clone());
                thread::spawn(move || {
                    futex::wait(&*word, 0, &WaitOptions::default());
                    ran.store(place::number().expect("it runs on a worker"), Ordering::Release);
                })
            };
            let to = loop {
                // Before it sleeps there is nobody to wake.
                let other = 1 - place::number().expect("this runs on a worker");
                if wake_at(&raw const *word, 1, ANY, other) == 1 {
                    break other;
                }
                csp::yield_now();
            };
            while ran.load(Ordering::Acquire) == usize::MAX {
                std::hint::spin_loop();
            }
            assert_eq!(ran.load(Ordering::Acquire), to);
            sleeper.join().unwrap();
        }
    });
    let sent: u64 = runtime.stats().iter().map(|stats| stats.shared_out).sum();
    assert!(sent >= ROUNDS as u64, "{sent} were sent");
}
