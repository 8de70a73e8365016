//! What has not begun when its region is cancelled does not begin, and what others have taken is in the region, too.

use crate::runtime;
use crate::watch::{Progress, Watchdog};
use raddle::cancel::{Token, shield};
use raddle::{csp, join, par_for, par_for_each, par_map, scope, scope_fifo};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const TURNS: usize = 1_000_000;

/// What each turn, leaf or job of a call does.
type Turn<'a> = &'a (dyn Fn() + Sync);

/// In a process of a runtime with so many workers.
fn on(workers: usize, test: impl FnOnce() + Send) {
    let _dog = Watchdog::new(format!("{workers} workers"), Progress::default(), || String::from("it hangs"));
    runtime(workers).run(test);
}

/// How many turns of a loop begin, of which the hundredth cancels its region; each waits. Others may be on the way, and
/// come to one more.
fn begun(turns: impl FnOnce(Turn<'_>)) -> usize {
    let (token, count) = (Token::new(), AtomicUsize::new(0));
    let turn = || {
        if count.fetch_add(1, Ordering::Relaxed) == 99 {
            token.cancel();
        }
        csp::yield_now();
    };
    token.run(|| turns(&turn)).expect_err("cancelled");
    count.into_inner()
}

#[test]
fn no_turn_of_a_loop_begins_after_the_cancellation() {
    on(1, || {
        assert!(begun(|turn| par_for(0..TURNS, |_| turn())) < 110);
        assert!(begun(|turn| par_for_each(&mut vec![0_u8; TURNS], |_| turn())) < 110);
        assert!(begun(|turn| drop(par_map(&vec![0_u8; TURNS], |_| turn()))) < 110);
        assert!(begun(|turn| csp::par_for(0..TURNS, |_| turn())) < 110);
    });
    on(2, || {
        assert!(begun(|turn| par_for(0..TURNS, |_| turn())) < TURNS / 2);
        assert!(begun(|turn| par_for_each(&mut vec![0_u8; TURNS], |_| turn())) < TURNS / 2);
        assert!(begun(|turn| drop(par_map(&vec![0_u8; TURNS], |_| turn()))) < TURNS / 2);
        assert!(begun(|turn| csp::par_for(0..TURNS, |_| turn())) < TURNS / 2);
    });
}

#[test]
fn a_loop_whose_turns_do_not_wait_ends_after_a_block() {
    on(1, || {
        let (token, count) = (Token::new(), AtomicUsize::new(0));
        let done = token.run(|| {
            par_for(0..TURNS, |_| {
                if count.fetch_add(1, Ordering::Relaxed) == 0 {
                    token.cancel();
                }
            });
        });
        done.expect_err("cancelled");
        assert!(count.into_inner() < TURNS / 10);
    });
}

#[test]
fn what_a_loop_has_made_is_dropped_once() {
    struct Counted<'a>(&'a AtomicUsize);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
    for workers in [1, 2] {
        on(workers, || {
            let alive = AtomicUsize::new(0);
            let made = begun(|turn| {
                let values = par_map(&vec![0_u8; TURNS], |_| {
                    turn();
                    alive.fetch_add(1, Ordering::Relaxed);
                    Counted(&alive)
                });
                assert_ne!(values.len(), TURNS);
            });
            assert!(made >= 100);
            assert_eq!(alive.into_inner(), 0);
        });
    }
}

#[test]
fn the_second_of_a_join_does_not_begin_after_the_cancellation() {
    on(1, || {
        let (token, ran) = (Token::new(), AtomicBool::new(false));
        let second = || ran.store(true, Ordering::Relaxed);
        token.run(|| join(|| token.cancel(), second)).expect_err("cancelled");
        assert!(!ran.load(Ordering::Relaxed));
        // As in any region that is left.
        let token = Token::new();
        let done = join(|| token.run(|| token.cancel()), second);
        assert!(done.0.is_ok() && ran.into_inner());
    });
}

/// Joins, in a tree, whose leaves wait.
fn tree(depth: usize, leaf: Turn<'_>) {
    if depth == 0 {
        return leaf();
    }
    join(|| tree(depth - 1, leaf), || tree(depth - 1, leaf));
}

#[test]
fn a_tree_of_joins_is_left_at_once() {
    on(1, || assert!(begun(|leaf| tree(20, leaf)) < 110));
    on(2, || assert!(begun(|leaf| tree(20, leaf)) < TURNS / 2));
}

/// Waits until the flag is set.
fn until(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        csp::yield_now();
    }
}

#[test]
fn who_takes_a_fork_waits_in_its_region() {
    for workers in [1, 2] {
        on(workers, || {
            let (token, taken) = (Token::new(), AtomicBool::new(false));
            let done = token.run(|| {
                let parks = || {
                    taken.store(true, Ordering::Release);
                    csp::park();
                };
                join(
                    || {
                        until(&taken);
                        token.cancel();
                    },
                    parks,
                )
            });
            done.expect_err("cancelled");
        });
    }
}

#[test]
fn a_shield_holds_for_what_is_forked_in_it() {
    on(1, || {
        let (token, count) = (Token::new(), AtomicUsize::new(0));
        let turn = |n| {
            token.cancel();
            csp::yield_now();
            count.fetch_add(n, Ordering::Relaxed);
        };
        token.run(|| shield(|| par_for(0..100, turn))).expect("nothing in it was cancelled");
        assert_eq!(count.into_inner(), 4950);
    });
}

#[test]
fn a_panic_goes_before_a_cancellation() {
    on(1, || {
        let (token, taken, cancelled) = (Token::new(), AtomicBool::new(false), AtomicBool::new(false));
        let waits = || {
            until(&taken);
            token.cancel();
            cancelled.store(true, Ordering::Release);
            csp::yield_now();
        };
        let panics = || {
            taken.store(true, Ordering::Release);
            shield(|| until(&cancelled));
            resume_unwind(Box::new("a panic"));
        };
        let run = AssertUnwindSafe(|| token.run(|| join(waits, panics)));
        let panic = catch_unwind(run).expect_err("a panic");
        assert_eq!(panic.downcast_ref(), Some(&"a panic"));
    });
}

#[test]
fn no_job_of_a_scope_begins_after_the_cancellation() {
    on(1, || {
        let jobs = |turn: Turn<'_>| scope(|s| (0..1000).for_each(|_| s.spawn(|_| turn())));
        assert!(begun(jobs) < 110);
        let jobs = |turn: Turn<'_>| scope_fifo(|s| (0..1000).for_each(|_| s.spawn_fifo(|_| turn())));
        assert!(begun(jobs) < 110);
    });
}

/// On an OS thread a call is run by a process of a runtime: in the region of the OS thread.
#[test]
fn the_region_of_an_os_thread_comes_along() {
    let _dog = Watchdog::new(String::from("an OS thread"), Progress::default(), || String::from("it hangs"));
    let (rt, pool) = (runtime(1), raddle::ThreadPoolBuilder::new().num_threads(1).build().unwrap());
    let calls: [&(dyn Fn(Turn<'_>) + Sync); 7] = [
        &|turn| assert_eq!(join(turn, turn), ((), ())),
        &|turn| par_for(0..2, |_| turn()),
        &|turn| scope(|s| s.spawn(|_| turn())),
        &|turn| scope_fifo(|s| s.spawn_fifo(|_| turn())),
        &|turn| csp::par_for(0..2, |_| turn()),
        &|turn| rt.run(turn),
        &|turn| pool.install(turn),
    ];
    for call in calls {
        let (token, waits) = (Token::new(), AtomicBool::new(false));
        std::thread::scope(|s| {
            s.spawn(|| {
                until(&waits);
                token.cancel();
            });
            let parks = || {
                waits.store(true, Ordering::Release);
                csp::park();
            };
            token.run(|| call(&parks)).expect_err("cancelled");
        });
    }
}
