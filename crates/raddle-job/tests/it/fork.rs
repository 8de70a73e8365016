//! What a forked child finds of jobs.

use crate::child::{assert_said, assert_success, in_child};
use crate::forked::fork;
use crate::runtime;
use raddle::csp;
use std::panic::catch_unwind;

/// A fork while other workers take jobs: the locks of their queues are free in the child, and what was not taken comes
/// back there; a half that was taken is a panic, since its taker does not exist.
#[test]
fn who_forks_in_a_join_has_its_own_half_back_or_a_panic() {
    use raddle::join;
    use std::sync::atomic::{AtomicBool, Ordering};
    const TAKEN: i32 = 7;
    fn halves(depth: u32) {
        join(
            || match depth {
                0 => forks(),
                _ => halves(depth - 1),
            },
            || (0..2000_u64).map(std::hint::black_box).sum::<u64>(),
        );
    }
    fn forks() {
        match fork() {
            // SAFETY: a hang ends.
            None => drop(unsafe { libc::alarm(900) }),
            Some(code) => assert!(code == 0 || code == TAKEN, "the child ended with {code}"),
        }
    }
    fn endless(over: &AtomicBool) {
        while !over.load(Ordering::Relaxed) {
            join(|| (0..300_u64).map(std::hint::black_box).sum::<u64>(), csp::yield_now);
        }
    }
    let output = in_child("fork::who_forks_in_a_join_has_its_own_half_back_or_a_panic", || {
        let parent = std::process::id();
        let over = AtomicBool::new(false);
        runtime(3).run(|| {
            csp::scope(|s| {
                s.spawn(|| endless(&over));
                for _ in 0..200 {
                    let ended = catch_unwind(|| halves(6));
                    if std::process::id() != parent {
                        // SAFETY: the child ends.
                        unsafe { libc::_exit(if ended.is_err() { TAKEN } else { 0 }) };
                    }
                    ended.unwrap();
                }
                over.store(true, Ordering::Relaxed);
            });
        });
    });
    assert_success(&output);
}

/// Jobs that lie in the list of the one who forks are its own in the child; it takes new ones to another runtime.
#[test]
fn who_forks_in_a_scope_runs_its_own_jobs_in_the_child() {
    use raddle::{join, scope};
    use std::sync::atomic::{AtomicUsize, Ordering};
    let output = in_child("fork::who_forks_in_a_scope_runs_its_own_jobs_in_the_child", || {
        runtime(1).run(|| {
            let parent = std::process::id();
            let ran = AtomicUsize::new(0);
            let tick = || {
                ran.fetch_add(1, Ordering::Relaxed);
            };
            scope(|s| {
                (0..10).for_each(|_| s.spawn(|_| tick()));
                let code = join(fork, tick).0;
                // SAFETY: a hang ends.
                code.is_none().then(|| unsafe { libc::alarm(900) });
                assert!(matches!(code, None | Some(0)), "the child ended with {code:?}");
                (0..10).for_each(|_| s.spawn(|_| tick()));
            });
            assert_eq!(ran.into_inner(), 21);
            if std::process::id() != parent {
                eprintln!("the child is done");
                // SAFETY: the child ends.
                unsafe { libc::_exit(0) };
            }
        });
    });
    assert_success(&output);
    assert_said(&output, &["the child is done"]);
}

/// A child does not wait for what its parent's workers do: it waits for its own, and panics then.
#[test]
fn a_scope_of_before_ends_in_the_child_with_a_panic() {
    use raddle::scope;
    let output = in_child("fork::a_scope_of_before_ends_in_the_child_with_a_panic", || {
        runtime(2).run(|| {
            let code = csp::scope(|s| {
                let waits = s.spawn(csp::park);
                let code = fork();
                // SAFETY: a hang ends.
                code.is_none().then(|| unsafe { libc::alarm(900) });
                if code.is_none() {
                    s.spawn(|| eprintln!("the child's own runs"));
                }
                waits.process().unpark();
                code
            });
            assert_eq!(code, Some(101), "the child has panicked: it never comes here");
            let begun = std::sync::Barrier::new(2);
            let code = scope(|s| {
                s.spawn(|_| {
                    begun.wait();
                });
                begun.wait();
                let code = fork();
                // SAFETY: a hang ends.
                code.is_none().then(|| unsafe { libc::alarm(900) });
                code
            });
            assert!(matches!(code, Some(0 | 101)), "{code:?}: the job may have ended before the fork");
        });
    });
    assert_success(&output);
    assert_said(&output, &["the child's own runs", "which a forked child does not have"]);
}
