//! The poller of the door: when it is called, when it is not any more, and what a call may do.

use crate::runtime;
use raddle::{Runtime, channel, csp};
use raddle_core::Balance;
use raddle_core::door::futex::{self, ANY, WaitOptions};
use raddle_core::door::poller::{Asking, Poller, is_asked_here};
use raddle_core::worker::hooks::Hooks;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_micros(20);
const HOUR: Duration = Duration::from_secs(3600);

fn poller(gap: Duration, ask: impl FnMut(&Asking<'_>) -> Duration + Send + 'static) -> Poller {
    Poller::new("test", gap, ask).expect("a runtime")
}

/// One that counts its calls.
fn counting(gap: Duration, again: Duration) -> (Poller, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counts = calls.clone();
    let poller = poller(gap, move |_| {
        counts.fetch_add(1, Ordering::Relaxed);
        again
    });
    (poller, calls)
}

fn count(calls: &AtomicUsize) -> usize {
    calls.load(Ordering::Relaxed)
}

/// On one worker and on two, by each way in which idle workers find work.
fn everywhere(f: impl Fn() + Sync) {
    for workers in [1, 2] {
        runtime(workers).run(&f);
        let shares = Runtime::builder().workers(workers).balance(Balance::Share).build().expect("a runtime");
        shares.run(&f);
    }
}

#[test]
fn who_waits_for_what_ends_elsewhere_is_woken_by_a_call() {
    everywhere(|| {
        let word = Arc::new(AtomicU32::new(0));
        let (network, arrives) = mpsc::channel::<u32>();
        let woken = word.clone();
        let poller = poller(SHORT, move |asking| {
            for message in arrives.try_iter() {
                asking.end(1);
                woken.store(message, Ordering::Relaxed);
                futex::wake(&*woken, 1, ANY);
            }
            SHORT
        });
        for n in 1..=100 {
            poller.begin(1);
            network.send(n).unwrap();
            while word.load(Ordering::Relaxed) != n {
                futex::wait(&*word, n - 1, &WaitOptions::default());
            }
        }
        assert_eq!(poller.outstanding(), 0);
    });
}

#[test]
fn nobody_is_asked_while_nothing_is_outstanding() {
    everywhere(|| {
        let (poller, calls) = counting(Duration::ZERO, SHORT);
        let yields = || (0..10_000).for_each(|_| csp::yield_now());
        let both = [csp::spawn(yields), csp::spawn(yields)];
        both.into_iter().for_each(|one| one.join().unwrap());
        csp::sleep(Duration::from_millis(1));
        assert_eq!(count(&calls), 0);
        poller.begin(2);
        while count(&calls) == 0 {
            csp::sleep(SHORT);
        }
        poller.end(2);
        let before = count(&calls);
        csp::sleep(Duration::from_millis(1));
        // One call may be under way on another worker.
        assert!(count(&calls) <= before + 1);
    });
}

#[test]
fn busy_workers_ask_no_more_than_once_in_a_gap() {
    const GAP: Duration = Duration::from_millis(1);
    everywhere(|| {
        let times = Arc::new(Mutex::new(Vec::new()));
        let notes = times.clone();
        let poller = poller(GAP, move |asking| {
            notes.lock().unwrap().push((Instant::now(), asking.is_idle()));
            Duration::from_millis(5)
        });
        poller.begin(1);
        let busy = || {
            while times.lock().unwrap().iter().filter(|(_, is_idle)| !is_idle).count() < 5 {
                csp::yield_now();
            }
        };
        csp::scope(|s| (0..4).for_each(|_| drop(s.spawn(busy))));
        poller.remove();
        let times = times.lock().unwrap();
        for pair in times.windows(2).filter(|pair| !pair[1].1) {
            assert!(pair[1].0 - pair[0].0 >= GAP, "{:?}", pair[1].0 - pair[0].0);
        }
    });
}

/// A worker that stands in one turn comes to no boundary; another one, which sleeps, asks.
#[test]
fn a_sleeper_asks_while_the_others_stand_in_long_turns() {
    let begin_and_spin = || {
        for _ in 0..10 {
            let (poller, calls) = counting(SHORT, SHORT);
            poller.begin(1);
            while count(&calls) < 3 {
                std::hint::spin_loop();
            }
        }
    };
    runtime(2).run(begin_and_spin);
    Runtime::builder().workers(2).balance(Balance::Share).build().expect("a runtime").run(begin_and_spin);
}

/// A worker sleeps for as long as the poller has answered; another one, which stands in one turn, has it ask anew.
#[test]
fn one_that_sleeps_for_long_asks_anew_when_it_is_told() {
    let rt = runtime(2);
    let (poller, calls) = rt.run(|| counting(SHORT, HOUR));
    poller.begin(1);
    while count(&calls) == 0 {
        std::thread::yield_now();
    }
    let asked = rt.run(move || {
        // Whoever lies down anew looks once; then all is still but for this one.
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(100) {
            std::hint::spin_loop();
        }
        let seen = count(&calls);
        poller.ask_anew();
        while count(&calls) == seen && began.elapsed() < Duration::from_secs(20) {
            std::hint::spin_loop();
        }
        poller.end(1);
        poller.ask_anew(); // of nothing
        began.elapsed()
    });
    assert!(asked < Duration::from_secs(10), "{asked:?}");
}

/// A worker that is asked to look again at once, and fell idle while another one searched, takes what only a thief can
/// start: what a process has spawned that keeps its own worker for itself.
#[test]
fn one_that_is_asked_again_at_once_steals() {
    /// A process of that worker; what it answers comes when the word is set and woken.
    fn waits_on<T: Send + 'static>(
        (rt, worker): (&Runtime, usize),
        then: impl FnOnce() -> T + Send + 'static,
    ) -> (Arc<AtomicU32>, csp::JoinHandle<T>) {
        let word = Arc::new(AtomicU32::new(0));
        let waits = word.clone();
        let process = move || {
            while waits.load(Ordering::Relaxed) == 0 {
                futex::wait(&*waits, 0, &WaitOptions::default());
            }
            then()
        };
        (word, rt.run(|| csp::spawn_on(worker, process)))
    }
    /// How long what it spawns waits while it keeps its worker for itself; no longer than for seconds.
    fn keeps_its_worker() -> Duration {
        let stolen = Arc::new(AtomicBool::new(false));
        let done = stolen.clone();
        let began = Instant::now();
        let child = csp::spawn(move || done.store(true, Ordering::Relaxed));
        while !stolen.load(Ordering::Relaxed) && began.elapsed() < Duration::from_secs(20) {
            std::hint::spin_loop();
        }
        let waited = began.elapsed();
        child.join().unwrap();
        waited
    }
    fn wake(word: &AtomicU32) {
        std::thread::sleep(Duration::from_millis(20));
        word.store(1, Ordering::Relaxed);
        futex::wake(word, u32::MAX, ANY);
    }
    let rt = runtime(2);
    let (poller, _calls) = rt.run(|| counting(Duration::ZERO, Duration::ZERO));
    poller.begin(1);
    // Who falls idle last is asked from then on. It searches, too, if the one before it did not.
    for before in 0..4 {
        let (long, waited) = waits_on((&rt, before % 2), keeps_its_worker);
        let short: Vec<_> = (0..before).map(|turn| waits_on((&rt, turn % 2), || ())).collect();
        for (word, ended) in short {
            wake(&word);
            ended.join().unwrap();
        }
        wake(&long);
        let waited = waited.join().unwrap();
        assert!(waited < Duration::from_secs(10), "{waited:?}, after {before} that were short");
    }
}

#[test]
fn what_an_os_thread_begins_wakes_a_worker() {
    for workers in [1, 2] {
        let rt = runtime(workers);
        let (poller, calls) = rt.run(|| counting(SHORT, HOUR));
        let (other, others) = rt.run(|| counting(SHORT, HOUR));
        for n in 1..=20 {
            // The second of them finds a worker that sleeps for an hour.
            for (poller, calls) in [(&poller, &calls), (&other, &others)] {
                poller.begin(1);
                while count(calls) < n {
                    std::thread::yield_now();
                }
            }
            poller.end(1);
            other.end(1);
        }
    }
}

/// Tells when the call is dropped that has it.
struct Life(Arc<AtomicBool>);

impl Drop for Life {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn no_call_comes_after_a_removal() {
    let rt = runtime(2);
    let goes_on = Arc::new(AtomicBool::new(true));
    let busy = goes_on.clone();
    let yields = rt.spawn(move || {
        while busy.load(Ordering::Relaxed) {
            csp::yield_now();
        }
    });
    let remove = || {
        for n in 0..500 {
            let over = Arc::new(AtomicBool::new(false));
            let life = Life(over.clone());
            let poller = poller(Duration::ZERO, move |_| {
                let Life(over) = &life;
                assert!(!over.load(Ordering::Relaxed));
                Duration::ZERO
            });
            poller.begin(1);
            (0..n % 30).for_each(|_| std::hint::spin_loop());
            poller.remove();
            assert!(over.load(Ordering::Relaxed), "what the call has is still there");
        }
    };
    let removed = catch_unwind(AssertUnwindSafe(|| rt.run(remove)));
    goes_on.store(false, Ordering::Relaxed);
    yields.join().unwrap();
    assert!(removed.is_ok(), "see above");
}

#[test]
fn a_call_may_take_its_own_poller_away_or_another() {
    everywhere(|| {
        let cell = Arc::new(Mutex::new(None::<Poller>));
        let over = Arc::new(AtomicBool::new(false));
        let (own, life) = (cell.clone(), Life(over.clone()));
        *cell.lock().unwrap() = Some(poller(SHORT, move |asking| {
            let Life(over) = &life;
            drop(own.lock().unwrap().take());
            assert!(!over.load(Ordering::Relaxed), "the call is still under way");
            asking.begin(1);
            asking.end(1);
            SHORT
        }));
        cell.lock().unwrap().as_ref().unwrap().begin(3);
        while !over.load(Ordering::Relaxed) {
            csp::sleep(SHORT);
        }

        let (other, calls) = counting(SHORT, SHORT);
        other.begin(1);
        let (done, is_done) = channel::bounded(1);
        let mut other = Some(other);
        let poller = poller(SHORT, move |asking| {
            other.take().into_iter().for_each(|_| asking.end(1));
            done.try_send(()).unwrap();
            SHORT
        });
        poller.begin(1);
        is_done.recv().unwrap();
        csp::sleep(SHORT);
        let before = count(&calls);
        csp::sleep(Duration::from_millis(1));
        // One call may be under way on another worker.
        assert!(count(&calls) <= before + 1);
    });
}

#[test]
fn a_call_must_not_wait_and_is_told_so() {
    everywhere(|| {
        let (said, hears) = channel::bounded(1);
        let word = AtomicU32::new(0);
        let poller = poller(SHORT, move |asking| {
            assert!(is_asked_here());
            let wait = || futex::wait(&word, 0, &WaitOptions::default());
            let panic = catch_unwind(AssertUnwindSafe(wait)).expect_err("it must not wait");
            let text = panic.downcast_ref::<String>().expect("a text").clone();
            let _full = said.try_send(text);
            asking.end(1);
            SHORT
        });
        assert!(!is_asked_here());
        poller.begin(1);
        let text = hears.recv().unwrap();
        assert!(text.starts_with("`futex::wait` waits, and a poller's call must not: "), "{text}");
    });
}

#[test]
fn a_call_may_spawn_and_begin_more() {
    everywhere(|| {
        let (sender, receiver) = channel::unbounded();
        let mut left = 10;
        let poller = poller(SHORT, move |asking| {
            asking.begin(1);
            asking.end(if left > 1 { 1 } else { 2 });
            let sender = sender.clone();
            drop(csp::spawn(move || sender.send(left).unwrap()));
            left -= 1;
            SHORT
        });
        poller.begin(1);
        // On two workers they may overtake each other.
        let mut all: Vec<i32> = receiver.iter().take(10).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(1..=10));
        assert_eq!(poller.outstanding(), 0);
    });
}

#[test]
fn a_call_that_panics_is_the_last() {
    let (panics, panicked) = mpsc::channel();
    let panics = Mutex::new(panics);
    let handler = move |panic: Box<dyn std::any::Any + Send>| {
        panics.lock().unwrap().send(*panic.downcast_ref::<&str>().expect("a text")).unwrap();
    };
    let mut hooks = Hooks::default();
    hooks.panic = Some(Arc::new(handler));
    let rt = Runtime::builder().workers(2).hooks(hooks).build().expect("a runtime");
    let over = Arc::new(AtomicBool::new(false));
    let life = Life(over.clone());
    let poller = rt.run(|| {
        poller(SHORT, move |_| {
            let _held = &life;
            panic!("the network is down");
        })
    });
    poller.begin(7);
    assert_eq!(panicked.recv(), Ok("the network is down"));
    assert!(over.load(Ordering::Relaxed));
    assert_eq!(poller.outstanding(), 0);
    // Nothing is outstanding at one that is over.
    poller.begin(1);
    poller.end(1);
    drop(rt);
    assert!(panicked.try_recv().is_err());
}

#[test]
fn a_runtime_ends_when_nothing_is_outstanding_any_more() {
    for workers in [1, 2] {
        let rt = runtime(workers);
        let word = Arc::new(AtomicU32::new(0));
        let woken = word.clone();
        let waits = rt.spawn(move || {
            while word.load(Ordering::Relaxed) == 0 {
                futex::wait(&*word, 0, &WaitOptions::default());
            }
        });
        let mut calls = 0;
        let by_a_call = rt.run(|| {
            poller(SHORT, move |asking| {
                calls += 1;
                if calls == 50 {
                    woken.store(1, Ordering::Relaxed);
                    futex::wake(&*woken, 1, ANY);
                    asking.end(1);
                }
                SHORT
            })
        });
        by_a_call.begin(1);
        drop(rt);
        waits.join().unwrap();

        // By whoever is no worker.
        let rt = runtime(workers);
        let (poller, calls) = rt.run(|| counting(SHORT, HOUR));
        poller.begin(1);
        while count(&calls) == 0 {
            std::thread::yield_now();
        }
        let ends = std::thread::spawn(move || drop(rt));
        poller.end(1);
        ends.join().unwrap();
    }
}

#[test]
fn more_cannot_end_than_has_begun() {
    runtime(1).run(|| {
        let (poller, _calls) = counting(SHORT, SHORT);
        poller.begin(2);
        let panic = catch_unwind(AssertUnwindSafe(|| poller.end(3))).expect_err("that is too much");
        let text = panic.downcast_ref::<String>().expect("a text");
        assert_eq!(text, "poller 'test': 3 are to end, and 2 are outstanding");
        poller.end(2);
    });
}

/// A run by a seed asks, too, and says that no seed decides what is found.
#[test]
fn a_seeded_runtime_waits_for_what_is_outstanding() {
    let rt = Runtime::builder().seed(7).build().expect("a runtime");
    rt.run(|| {
        let (done, is_done) = channel::bounded(1);
        let mut calls = 0;
        let poller = poller(HOUR, move |asking| {
            calls += 1;
            if calls == 20 {
                done.try_send(calls).unwrap();
                asking.end(1);
            }
            SHORT
        });
        poller.begin(1);
        assert_eq!(is_done.recv(), Ok(20));
    });
}
