//! `join`: what rayon-core promises of it, and that both of its closures may wait.

use crate::runtime;
use crate::watch::{Progress, Watchdog};
use raddle::{Runtime, csp, join, join_context, task};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// In a process of one, two and eight workers, and on an OS thread, which uses the default runtime.
fn everywhere(test: impl Fn() + Sync) {
    for workers in [1, 2, 8] {
        let _dog = Watchdog::new(format!("join, {workers} workers"), Progress::default(), || {
            String::from("it hangs")
        });
        // Frames are large where nothing is optimised.
        let rt = Runtime::builder().workers(workers).stack_size(256 << 10).build().expect("a runtime");
        rt.run(&test);
    }
    test();
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Sets the flag, and runs until the other one is set, too: both run at once, or each lets the other run.
fn meet(mine: &AtomicBool, other: &AtomicBool) {
    mine.store(true, Ordering::Release);
    while !other.load(Ordering::Acquire) {
        csp::yield_now();
    }
}

/// The payload of the panic with which `f` ends.
fn panic_of<T>(f: impl FnOnce() -> T) -> &'static str {
    let panic = catch_unwind(AssertUnwindSafe(f)).err().expect("it panics");
    panic.downcast_ref::<&str>().expect("a text")
}

fn throw(text: &'static str) {
    resume_unwind(Box::new(text));
}

#[test]
fn both_closures_run_and_both_results_come_back() {
    everywhere(|| {
        assert_eq!(join(|| 1, || "two"), (1, "two"));
        assert_eq!(fib(20), 6765);
        let mut numbers = [1, 2, 3, 4];
        let (left, right) = numbers.split_at_mut(2);
        join(|| left.reverse(), || right.fill(7));
        assert_eq!(numbers, [2, 1, 7, 7]);
    });
}

#[test]
fn large_and_dropped_captures_are_moved_once() {
    everywhere(|| {
        let (big, text) = ([3_u8; 5000], String::from("text"));
        let (a, b) = join(move || big.iter().map(|&n| usize::from(n)).sum::<usize>(), move || text + "!");
        assert_eq!((a, b.as_str()), (15000, "text!"));
    });
}

#[test]
fn closures_may_wait_for_each_other_on_one_worker_too() {
    everywhere(|| {
        let flags = [AtomicBool::new(false), AtomicBool::new(false)];
        join(|| meet(&flags[0], &flags[1]), || meet(&flags[1], &flags[0]));
        let (a, b) = join(|| fib(10), || join(|| meet(&flags[0], &flags[1]), || fib(5)).1);
        assert_eq!((a, b), (55, 5));
    });
}

#[test]
fn a_parked_closure_lets_the_other_run() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let me = csp::current().unwrap();
            let woken = AtomicBool::new(false);
            let wait = || {
                while !woken.load(Ordering::Acquire) {
                    csp::park();
                }
            };
            let wake = || {
                woken.store(true, Ordering::Release);
                me.unpark();
            };
            join(wait, wake);
        });
    }
}

#[test]
fn an_idle_worker_takes_a_fork_without_the_help_of_a_flow_that_is_busy() {
    let rt = runtime(2);
    for _ in 0..10 {
        // Both sides block their OS threads, so each needs a worker of its own.
        let barrier = Barrier::new(2);
        let wait = || barrier.wait().is_leader();
        let (a, b) = rt.run(|| join(wait, wait));
        assert!(a != b);
    }
    let stats = rt.stats();
    assert!(stats.iter().map(|s| s.jobs_stolen).sum::<u64>() >= 10, "{stats:?}");
}

#[test]
fn a_fork_that_was_left_alone_has_not_migrated_and_one_that_was_taken_has() {
    runtime(1).run(|| {
        let (a, b) = join_context(|context| context.migrated(), |context| context.migrated());
        assert_eq!((a, b), (false, false));
    });
    runtime(2).run(|| {
        let barrier = Barrier::new(2);
        let wait = |migrated| {
            barrier.wait();
            migrated
        };
        let (a, b) = join_context(|context| wait(context.migrated()), |context| wait(context.migrated()));
        assert_eq!((a, b), (false, true));
    });
}

#[test]
fn both_run_whatever_panics_and_the_first_panic_goes_on() {
    everywhere(|| {
        let ran = AtomicUsize::new(0);
        let count = || ran.fetch_add(1, Ordering::Relaxed);
        let bad = |text| {
            count();
            throw(text);
        };
        assert_eq!(panic_of(|| join(|| bad("a"), count)), "a");
        assert_eq!(panic_of(|| join(count, || bad("b"))), "b");
        assert_eq!(panic_of(|| join(|| bad("a"), || bad("b"))), "a");
        assert_eq!(ran.into_inner(), 6);
    });
}

#[test]
fn panics_of_forks_that_were_taken_come_back() {
    everywhere(|| {
        let flags = [AtomicBool::new(false), AtomicBool::new(false)];
        let [one, two] = &flags;
        let bad = |mine, other, text| {
            meet(mine, other);
            throw(text);
        };
        assert_eq!(panic_of(|| join(|| bad(one, two, "a"), || meet(two, one))), "a");
        assert_eq!(panic_of(|| join(|| meet(one, two), || bad(two, one, "b"))), "b");
        assert_eq!(panic_of(|| join(|| bad(one, two, "a"), || bad(two, one, "b"))), "a");
    });
}

#[test]
fn a_panic_deep_in_a_tree_unwinds_through_its_forks() {
    fn tree(depth: u32, leaves: &AtomicUsize) {
        if depth == 0 {
            if leaves.fetch_add(1, Ordering::Relaxed) == 3 {
                throw("leaf");
            }
            return;
        }
        join(|| tree(depth - 1, leaves), || tree(depth - 1, leaves));
    }
    everywhere(|| {
        let leaves = AtomicUsize::new(0);
        assert_eq!(panic_of(|| tree(8, &leaves)), "leaf");
        assert_eq!(leaves.into_inner(), 256);
    });
}

#[test]
fn what_a_closure_captured_and_returned_is_dropped_once_and_in_order() {
    struct Noted<'a>(&'a AtomicUsize);
    impl Drop for Noted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    everywhere(|| {
        let dropped = AtomicUsize::new(0);
        let noted = || Noted(&dropped);
        let (captured, other) = (noted(), noted());
        let result = join(
            move || captured,
            move || {
                drop(other);
                noted()
            },
        );
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
        drop(result);
        assert_eq!(dropped.load(Ordering::Relaxed), 3);
        // A result of `a` is dropped when `b` panics, and a result of `b` when `a` did.
        assert_eq!(panic_of(|| join(noted, || throw("b"))), "b");
        assert_eq!(dropped.load(Ordering::Relaxed), 4);
        assert_eq!(panic_of(|| join(|| throw("a"), noted)), "a");
        assert_eq!(dropped.into_inner(), 5);
    });
}

#[test]
fn a_flow_that_unwinds_may_join_in_a_drop() {
    struct Joins<'a>(&'a Cell<u64>);
    impl Drop for Joins<'_> {
        fn drop(&mut self) {
            self.0.set(fib(10));
        }
    }
    everywhere(|| {
        let found = Cell::new(0);
        let unwinds = || {
            let _joins = Joins(&found);
            throw("unwinds");
        };
        assert_eq!(panic_of(unwinds), "unwinds");
        assert_eq!(found.get(), 55);
    });
}

#[test]
fn a_cell_runs_both_closures_in_its_poll() {
    let sum = runtime(2).block_on(async {
        let task = task::spawn(async { join(|| fib(10), || fib(11)) });
        task.await.unwrap()
    });
    assert_eq!(sum, (55, 89));
}

/// What deadlocks where a waiter runs foreign work on its own stack: the work wants the lock that the frame below
/// holds.
#[test]
fn a_lock_may_be_held_around_a_join() {
    everywhere(|| {
        let locked = AtomicBool::new(false);
        let holding = || {
            while locked.swap(true, Ordering::Acquire) {
                csp::yield_now();
            }
            let sum = join(|| fib(8), || fib(9));
            locked.store(false, Ordering::Release);
            sum.0 + sum.1
        };
        fn many(depth: u32, leaf: &(impl Fn() -> u64 + Sync)) -> u64 {
            if depth == 0 {
                return leaf();
            }
            let (a, b) = join(|| many(depth - 1, leaf), || many(depth - 1, leaf));
            a + b
        }
        assert_eq!(many(6, &holding), 64 * 55);
    });
}

/// What overflows where a waiter runs foreign work on its own stack: each of many waits takes another such job.
#[test]
fn a_thousand_jobs_that_each_wait_for_a_fork_stand_on_a_thousand_stacks() {
    everywhere(|| {
        fn many(depth: u32, all: usize, waiting: &AtomicUsize) {
            if depth > 0 {
                join(|| many(depth - 1, all, waiting), || many(depth - 1, all, waiting));
                return;
            }
            waiting.fetch_add(1, Ordering::Relaxed);
            while waiting.load(Ordering::Relaxed) < all {
                csp::yield_now();
            }
        }
        // A sanitizer, an emulator and the twin pay for a stack, and for a switch, a hundred times what we do.
        let depth = if cfg!(raddle_twin) || std::env::var_os("STRESS").is_some() { 5 } else { 10 };
        many(depth, 1 << depth, &AtomicUsize::new(0));
    });
}
