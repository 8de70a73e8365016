//! `join` and `join_context`.

use super::*;
use std::cell::Cell;

#[test]
fn both_closures_run_and_each_result_has_its_place() {
    everywhere(|| {
        assert_eq!(jobs::join(|| 1, || "two"), (1, "two"));
        assert_eq!(jobs::join(|| (), || [7_u64; 100]), ((), [7; 100]));
        assert_eq!(jobs::join(|| String::from("a"), || vec![1, 2]), (String::from("a"), vec![1, 2]));
    });
}

#[test]
fn closures_borrow_what_the_caller_has() {
    everywhere(|| {
        let mut numbers = [1, 2, 3, 4, 5];
        let text = String::from("text");
        let (left, right) = numbers.split_at_mut(2);
        let (length, ()) = jobs::join(
            || {
                left.fill(0);
                text.len()
            },
            || right.reverse(),
        );
        assert_eq!((numbers, length, text.as_str()), ([0, 0, 5, 4, 3], 4, "text"));
    });
}

/// `Send` is asked of closures and results, `Sync` of nothing.
#[test]
fn what_is_not_sync_moves_in_and_out() {
    everywhere(|| {
        let (a, b) = (Cell::new(1), Cell::new(2));
        let (a, b) = jobs::join(
            move || {
                a.set(a.get() + 10);
                a
            },
            move || {
                b.set(b.get() + 10);
                b
            },
        );
        assert_eq!((a.get(), b.get()), (11, 12));
    });
}

#[test]
fn joins_nest_in_both_closures() {
    fn fib(n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (a, b) = jobs::join(|| fib(n - 1), || fib(n - 2));
        a + b
    }
    everywhere(|| assert_eq!(fib(16), 987));
}

#[test]
fn one_worker_runs_the_first_closure_first() {
    on_workers(1, || {
        let notes = Notes::default();
        jobs::join(
            || jobs::join(|| notes.note("a.a"), || notes.note("a.b")),
            || jobs::join(|| notes.note("b.a"), || notes.note("b.b")),
        );
        assert_eq!(notes.all(), ["a.a", "a.b", "b.a", "b.b"]);
    });
}

#[test]
fn two_workers_run_both_at_once() {
    for _ in 0..10 {
        on_workers(2, || {
            // Each side blocks its worker until the other one has come.
            let barrier = Barrier::new(2);
            let (a, b) = jobs::join(|| barrier.wait().is_leader(), || barrier.wait().is_leader());
            assert!(a != b);
        });
    }
}

#[test]
fn a_closure_learns_whether_it_has_migrated() {
    on_workers(1, || {
        let (a, b) = jobs::join_context(|context| context.migrated(), |context| context.migrated());
        assert_eq!((a, b), (false, false));
    });
    on_workers(2, || {
        let barrier = Barrier::new(2);
        let migrated = |migrated| {
            barrier.wait();
            migrated
        };
        let (a, b) = jobs::join_context(
            |context| migrated(context.migrated()),
            |context| migrated(context.migrated()),
        );
        assert_eq!((a, b), (false, true));
    });
    // From outside both go to a worker's thread.
    let (a, b) = jobs::join_context(|context| context.migrated(), |context| context.migrated());
    assert_eq!((a, b), (true, true));
}

#[test]
fn captures_and_results_are_dropped_once() {
    everywhere(|| {
        let dropped = AtomicUsize::new(0);
        let (one, two) = (Dropped(&dropped), Dropped(&dropped));
        let results = jobs::join(
            move || one,
            || {
                drop(two);
                Dropped(&dropped)
            },
        );
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
        drop(results);
        assert_eq!(dropped.load(Ordering::Relaxed), 3);
    });
}
