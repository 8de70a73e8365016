//! The user-level futex of the door: who waits, in which order they are woken, and how else a wait ends.

use crate::child::{assert_success, in_child};
use crate::futex_locks::{Barrier, Condition, Lock};
use crate::runtime;
use raddle::cancel::Token;
use raddle::explore::{Kind, Options, explore, try_explore};
use raddle::{csp, task, thread};
use raddle_core::door::futex::{self, ANY, Requeued, WaitOptions, WaitOutcome, requeue, wait, wake};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);

fn for_ever() -> WaitOptions<'static> {
    WaitOptions::default()
}

fn by_bits(bits: u32) -> WaitOptions<'static> {
    WaitOptions { bits, ..for_ever() }
}

fn for_a_while(timeout: Duration) -> WaitOptions<'static> {
    WaitOptions { until: futex::deadline(timeout), ..for_ever() }
}

/// Lets others run until `count` have been counted.
fn until(count: impl Fn() -> u32, wanted: u32) {
    let mut seen = 0;
    while seen < wanted {
        csp::yield_now();
        seen += count();
    }
    assert_eq!(seen, wanted);
}

/// Starts one after the other `count` processes of the caller's worker, its only one, which wait and then run `then`.
fn waiting(
    count: usize,
    word: &Arc<AtomicU32>,
    wait: impl Fn(usize, &AtomicU32) + Clone + Send + 'static,
) -> Vec<csp::JoinHandle<()>> {
    let one = |number| {
        let (word, wait, come) = (word.clone(), wait.clone(), Arc::new(AtomicUsize::new(0)));
        let comes = come.clone();
        let handle = csp::spawn(move || {
            comes.store(1, Ordering::Relaxed);
            wait(number, &word);
        });
        while come.load(Ordering::Relaxed) == 0 {
            csp::yield_now();
        }
        handle
    };
    (0..count).map(one).collect()
}

fn joined(all: Vec<csp::JoinHandle<()>>) {
    all.into_iter().for_each(|one| one.join().unwrap());
}

#[test]
fn a_word_with_another_value_is_not_waited_for() {
    let (word, long) = (AtomicU32::new(7), AtomicU64::new(7 << 32));
    let differs = move || {
        assert_eq!(wait(&word, 8, &for_ever()), WaitOutcome::Differs);
        // All of a long word counts.
        assert_eq!(wait(&long, 0, &for_ever()), WaitOutcome::Differs);
        assert_eq!(wake(&raw const word, 1, ANY), 0);
        word.into_inner()
    };
    let rt = runtime(1);
    assert_eq!(rt.run(|| csp::spawn(differs).join().unwrap()), 7);
    let word = AtomicU32::new(7);
    assert_eq!(wait(&word, 8, &for_ever()), WaitOutcome::Differs);
    // A future may look, and must not wait.
    let task = rt.run(|| {
        task::spawn(async move {
            let differs = wait(&word, 8, &for_ever());
            let panics = catch_unwind(AssertUnwindSafe(|| wait(&word, 7, &for_ever())));
            (differs, panics.unwrap_err().downcast::<String>().unwrap())
        })
    });
    let (differs, text) = rt.block_on(task).unwrap();
    assert_eq!(differs, WaitOutcome::Differs);
    assert!(text.contains("`futex::wait` waits, and a task must not"), "{text}");
}

#[test]
fn who_has_waited_longest_is_woken_first() {
    runtime(1).run(|| {
        let (word, order) = (Arc::new(AtomicU32::new(0)), Arc::new(Mutex::new(Vec::new())));
        let noted = order.clone();
        let all = waiting(10, &word, move |number, word| {
            assert_eq!(wait(word, 0, &for_ever()), WaitOutcome::Woken);
            noted.lock().unwrap().push(number);
        });
        for (count, woken) in [(0, 0), (1, 1), (3, 3), (100, 6), (1, 0)] {
            assert_eq!(wake(&raw const *word, count, ANY), woken);
        }
        joined(all);
        assert_eq!(*order.lock().unwrap(), (0..10).collect::<Vec<_>>());
    });
}

#[test]
fn a_wake_finds_those_who_have_one_of_its_bits() {
    runtime(1).run(|| {
        let (word, woken) = (Arc::new(AtomicU32::new(0)), Arc::new(Mutex::new(Vec::new())));
        let noted = woken.clone();
        // 40 of each: more than are woken at a time.
        let all = waiting(120, &word, move |number, word| {
            wait(word, 0, &by_bits(1 << (number % 3)));
            noted.lock().unwrap().push(number % 3);
        });
        assert_eq!(wake(&raw const *word, u32::MAX, 0b1000), 0);
        assert_eq!(wake(&raw const *word, 35, 0b010), 35);
        assert_eq!(wake(&raw const *word, u32::MAX, 0b010), 5);
        assert_eq!(wake(&raw const *word, u32::MAX, 0b101), 80);
        joined(all);
        let woken = woken.lock().unwrap();
        assert!(woken[..40].iter().all(|bit| *bit == 1) && woken[40..].iter().all(|bit| *bit != 1));
    });
}

/// Who wakes all does not wake those again who come back.
#[test]
fn a_wake_of_all_ends_though_the_woken_wait_again() {
    for workers in [1, 2] {
        let rt = runtime(workers);
        let (word, rounds) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicUsize::new(0)));
        let wait_again = |_| {
            let (word, rounds) = (word.clone(), rounds.clone());
            rt.spawn(move || {
                while word.load(Ordering::Relaxed) == 0 {
                    wait(&*word, 0, &for_ever());
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            })
        };
        let all: Vec<_> = (0..200).map(wait_again).collect();
        let mut most = 0;
        while rounds.load(Ordering::Relaxed) < 2000 {
            most = most.max(wake(&raw const *word, u32::MAX, ANY));
            std::thread::yield_now();
        }
        assert!(most <= 200, "{most} were woken at once");
        word.store(1, Ordering::Relaxed);
        wake(&raw const *word, u32::MAX, ANY);
        all.into_iter().for_each(|one| one.join().unwrap());
    }
}

/// A process, a thread and an OS thread hand a number around.
#[test]
fn processes_threads_and_os_threads_wake_each_other() {
    const ROUNDS: u32 = 300;
    for workers in [1, 2] {
        let rt = runtime(workers);
        let word = Arc::new(AtomicU32::new(0));
        let player = |me: u32| {
            let word = word.clone();
            move || {
                for round in 0..ROUNDS {
                    let turn = round * 3 + me;
                    loop {
                        let seen = word.load(Ordering::Acquire);
                        if seen == turn {
                            break;
                        }
                        wait(&*word, seen, &for_ever());
                    }
                    word.store(turn + 1, Ordering::Release);
                    wake(&raw const *word, u32::MAX, ANY);
                }
            }
        };
        let (process, outside) = (rt.spawn(player(0)), std::thread::spawn(player(2)));
        let second = player(1);
        rt.run(|| thread::spawn(second).join().unwrap());
        process.join().unwrap();
        outside.join().unwrap();
        assert_eq!(word.load(Ordering::Relaxed), 3 * ROUNDS);
    }
}

#[test]
fn a_deadline_ends_a_wait_and_leaves_nobody_behind() {
    let times_out = || {
        let word = AtomicU32::new(0);
        let past = WaitOptions { until: Some(Instant::now()), ..for_ever() };
        assert_eq!(wait(&word, 0, &past), WaitOutcome::TimedOut);
        let begun = Instant::now();
        assert_eq!(wait(&word, 0, &for_a_while(Duration::from_millis(5))), WaitOutcome::TimedOut);
        assert!(begun.elapsed() >= Duration::from_millis(5), "too early");
        assert_eq!(wake(&raw const word, 1, ANY), 0);
    };
    times_out();
    let rt = runtime(1);
    rt.run(times_out);
    rt.run(move || thread::spawn(times_out).join().unwrap());
    rt.run(|| {
        let word = Arc::new(AtomicU32::new(0));
        let all = waiting(3, &word, |number, word| {
            let options = if number == 1 { for_a_while(Duration::from_millis(1)) } else { for_a_while(HOUR) };
            let outcome = wait(word, 0, &options);
            assert_eq!(outcome, if number == 1 { WaitOutcome::TimedOut } else { WaitOutcome::Woken });
        });
        while !all[1].is_finished() {
            csp::yield_now();
        }
        assert_eq!(wake(&raw const *word, 3, ANY), 2);
        joined(all);
    });
}

#[test]
fn a_requeue_moves_those_behind_the_woken() {
    runtime(1).run(|| {
        let (word, order) = (Arc::new(AtomicU32::new(5)), Arc::new(Mutex::new(Vec::new())));
        let noted = order.clone();
        let all = waiting(60, &word, move |number, word| {
            assert_eq!(wait(word, 5, &for_ever()), WaitOutcome::Woken);
            noted.lock().unwrap().push(number);
        });
        let others = [const { AtomicU32::new(0) }; 100];
        assert_eq!(requeue(&*word, 6, 1, &raw const others[0], 1), None);
        // More than are woken at a time.
        let done = requeue(&*word, 5, 40, &raw const others[0], 5);
        assert_eq!(done, Some(Requeued { woken: 40, moved: 5 }));
        // To a word in each of many buckets and back again; and to where they are.
        let all_of_them = Some(Requeued { woken: 0, moved: 15 });
        for other in &others[1..] {
            assert_eq!(requeue(&*word, 5, 0, other, u32::MAX), all_of_them);
            assert_eq!(requeue(other, 0, 0, &raw const *word, u32::MAX), all_of_them);
        }
        assert_eq!(requeue(&*word, 5, 0, &raw const *word, u32::MAX), all_of_them);
        assert_eq!(wake(&raw const others[0], 9, ANY), 5);
        assert_eq!(requeue(&*word, 5, 100, &raw const others[0], 1), Some(Requeued { woken: 15, moved: 0 }));
        joined(all);
        let mut order = order.lock().unwrap();
        if cfg!(raddle_tsan) {
            // Its runtime sleeps in the kernel for long enough that an extra worker runs one of them meanwhile.
            order.sort_unstable();
        }
        assert_eq!(*order, (0..60).collect::<Vec<_>>());
    });
}

/// It leaves from wherever it is.
#[test]
fn the_deadline_of_one_that_is_moved_around_passes() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let words = Arc::new([const { AtomicU32::new(0) }; 16]);
            let waits = words.clone();
            let outcome = csp::spawn(move || wait(&waits[0], 0, &for_a_while(Duration::from_millis(3))));
            while !outcome.is_finished() {
                for (from, to) in words.iter().zip(words.iter().cycle().skip(1)) {
                    assert!(requeue(from, 0, 0, to, 1).unwrap().moved <= 1);
                }
                csp::yield_now();
            }
            assert_eq!(outcome.join().unwrap(), WaitOutcome::TimedOut);
            assert_eq!(words.iter().map(|word| wake(word, 1, ANY)).sum::<u32>(), 0);
        });
    }
}

#[test]
fn a_cancellation_ends_a_wait_and_leaves_nobody_behind() {
    let rt = runtime(1);
    let word = Arc::new(AtomicU32::new(0));
    let (unwinds, returns) = (Token::new(), Token::new());
    let both = [unwinds.clone(), returns.clone()];
    let outcome = Arc::new(Mutex::new(None));
    let (waits, noted) = (word.clone(), outcome.clone());
    rt.run(move || {
        let all = waiting(3, &waits, move |number, word| match number {
            2 => assert_eq!(wait(word, 0, &for_ever()), WaitOutcome::Woken),
            1 => {
                let at_end = both[1].run(|| {
                    let first = futex::wait_or_cancelled(word, 0, &for_ever());
                    *noted.lock().unwrap() = Some((first, futex::wait_or_cancelled(word, 0, &for_ever())));
                });
                at_end.unwrap();
            }
            _ => drop(both[0].run(|| wait(word, 0, &for_ever())).expect_err("it unwinds")),
        });
        unwinds.cancel();
        returns.cancel();
        while !(all[0].is_finished() && all[1].is_finished()) {
            csp::yield_now();
        }
        assert_eq!(wake(&raw const *waits, 3, ANY), 1);
        joined(all);
    });
    assert_eq!(*outcome.lock().unwrap(), Some((WaitOutcome::Cancelled, WaitOutcome::Cancelled)));
    // And of an OS thread.
    let token = Token::new();
    let (waits, region) = (word.clone(), token.clone());
    let outside = std::thread::spawn(move || region.run(|| wait(&*waits, 0, &for_ever())));
    token.cancel();
    outside.join().unwrap().expect_err("it unwinds");
    assert_eq!(wake(&raw const *word, 1, ANY), 0);
}

#[test]
fn a_hundred_thousand_wait_at_one_word_and_at_as_many() {
    // The twin's processes are OS threads, and the sanitizers' have large frames.
    const MANY: usize = if cfg!(any(raddle_asan, raddle_tsan, raddle_twin)) { 1_000 } else { 100_000 };
    for workers in [1, 2] {
        let rt = runtime(workers);
        let words: Arc<Vec<AtomicU32>> = Arc::new((0..MANY).map(|_| AtomicU32::new(0)).collect());
        for stride in [0, 1] {
            let waits = |number| {
                let words = words.clone();
                rt.spawn(move || wait(&words[number * stride], 0, &for_ever()))
            };
            let all: Vec<_> = (0..MANY).map(waits).collect();
            rt.run(|| {
                if stride == 0 {
                    until(|| wake(&raw const words[0], 1000, ANY), MANY as u32);
                } else {
                    words.iter().rev().for_each(|word| until(|| wake(word, 1, ANY), 1));
                }
            });
            assert!(all.into_iter().all(|one| one.join().unwrap() == WaitOutcome::Woken));
        }
    }
}

/// In the child nobody waits: those who did are not there.
#[test]
fn a_forked_child_begins_with_nobody_waiting() {
    let output = in_child("futex::a_forked_child_begins_with_nobody_waiting", || {
        let rt = runtime(1);
        let word = Arc::new(AtomicU32::new(0));
        let (inside, outside) = (word.clone(), word.clone());
        let inside = rt.spawn(move || wait(&*inside, 0, &for_ever()));
        let outside = std::thread::spawn(move || wait(&*outside, 0, &for_ever()));
        // Both wait as soon as both are moved.
        let other = AtomicU32::new(0);
        until(|| requeue(&*word, 0, 0, &raw const other, 2).unwrap().moved, 2);
        // SAFETY: the child uses the futex only.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let nobody = wake(&raw const other, 2, ANY) == 0 && wake(&raw const *word, 2, ANY) == 0;
            let alone = wait(&other, 0, &for_a_while(Duration::from_millis(1))) == WaitOutcome::TimedOut;
            // SAFETY: ends the child.
            unsafe { libc::_exit(if nobody && alone { 0 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: waits for the child that was just made.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{status:#x}");
        assert_eq!(wake(&raw const other, 2, ANY), 2);
        assert_eq!(inside.join().unwrap(), WaitOutcome::Woken);
        assert_eq!(outside.join().unwrap(), WaitOutcome::Woken);
    });
    assert_success(&output);
}

/// Locks as an adaptor builds them, between processes, a thread and an OS thread.
#[test]
fn a_mutex_a_condition_and_a_barrier_can_be_built_on_it() {
    const MEMBERS: u32 = 6;
    const ROUNDS: u64 = 100;
    #[derive(Debug)]
    struct Shared {
        lock: Lock,
        changed: Condition,
        barrier: Barrier,
        count: AtomicU64,
    }
    for workers in [1, 2] {
        let (lock, changed) = (Lock::default(), Condition::default());
        let shared = Shared { lock, changed, barrier: Barrier::new(MEMBERS), count: AtomicU64::new(0) };
        let shared = Arc::new(shared);
        let member = |first: bool| {
            let shared = shared.clone();
            move || {
                let Shared { lock, changed, barrier, count } = &*shared;
                // A lock's word orders the relaxed loads and stores: none is lost.
                let add = |n| count.store(count.load(Ordering::Relaxed) + n, Ordering::Relaxed);
                for round in 1..=ROUNDS {
                    lock.with(|| add(1));
                    barrier.wait();
                    lock.lock();
                    if first {
                        add(1000);
                        changed.notify_all(lock);
                    }
                    while count.load(Ordering::Relaxed) < round * 1000 {
                        changed.wait(lock, None);
                    }
                    lock.unlock();
                    barrier.wait();
                }
            }
        };
        let rt = runtime(workers);
        let processes: Vec<_> = (2..MEMBERS).map(|_| rt.spawn(member(false))).collect();
        let (outside, first) = (std::thread::spawn(member(false)), member(true));
        rt.run(|| thread::spawn(first).join().unwrap());
        processes.into_iter().for_each(|one| one.join().unwrap());
        outside.join().unwrap();
        assert_eq!(shared.count.load(Ordering::Relaxed), ROUNDS * (1000 + u64::from(MEMBERS)));
    }
}

/// A seed stops processes before each operation, and goes on with whom it wakes.
#[cfg(not(any(raddle_asan, raddle_tsan, raddle_twin)))]
#[test]
fn a_seed_finds_a_lost_wake() {
    explore(Options { iterations: 200, ..Options::default() }, || {
        let shared = Arc::new((Lock::default(), Condition::default(), AtomicU32::new(0)));
        let waits = |_| {
            let shared = shared.clone();
            csp::spawn(move || {
                let (lock, changed, set) = &*shared;
                lock.lock();
                while set.load(Ordering::Relaxed) == 0 {
                    changed.wait(lock, None);
                }
                lock.unlock();
            })
        };
        let all: Vec<_> = (0..2).map(waits).collect();
        let (lock, changed, set) = &*shared;
        lock.with(|| set.store(1, Ordering::Relaxed));
        changed.notify_all(lock);
        joined(all);
    });
    let bug = || {
        let word = Arc::new(AtomicU32::new(0));
        let other = word.clone();
        let waits = csp::spawn(move || {
            // The value that it has now is not the one that was looked at.
            if other.load(Ordering::Relaxed) == 0 {
                csp::yield_now();
                wait(&*other, other.load(Ordering::Relaxed), &for_ever());
            }
        });
        word.store(1, Ordering::Relaxed);
        wake(&raw const *word, 1, ANY);
        waits.join().unwrap();
    };
    let failure = try_explore(Options::default(), bug).expect_err("there is a bug");
    assert_eq!(failure.kind(), Kind::Deadlock);
    assert!(failure.to_string().contains("waits in futex::wait at "), "{failure}");
}
