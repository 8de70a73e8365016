//! Thread-local storage in a run: each process begins with first values, and its destructors run at its end.

use crate::child::{in_child_with, stderr};
use raddle::csp;
use raddle::explore::{Kind, Options, try_explore};
use raddle::sync::{Arc, Mutex};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicUsize, Ordering};

thread_local! {
    static MARK: Cell<usize> = const { Cell::new(7) };
    static COUNTED: RefCell<Option<Counted>> = const { RefCell::new(None) };
    static LOCKS: RefCell<Option<Locks>> = const { RefCell::new(None) };
}

struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A destructor in which others may be chosen to go on.
struct Locks(Arc<Mutex<usize>>);

impl Drop for Locks {
    fn drop(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}

fn options(seed: u64) -> Options {
    Options { iterations: 1, seed, ..Options::default() }
}

#[test]
fn each_process_finds_first_values_and_its_destructors_run() {
    let drops = Arc::new(AtomicUsize::new(0));
    for seed in 0..50 {
        let counts = drops.clone();
        try_explore(options(seed), move || {
            let visits = |n: usize| {
                let counts = counts.clone();
                csp::spawn(move || {
                    assert_eq!(MARK.replace(n), 7);
                    assert!(COUNTED.replace(Some(Counted(counts))).is_none());
                    csp::yield_now();
                    assert_eq!(MARK.get(), n);
                })
            };
            (0..3).map(visits).collect::<Vec<_>>().into_iter().for_each(|it| it.join().unwrap());
            let before = counts.load(Ordering::Relaxed);
            assert_eq!(before % 3, 0, "who has been joined has dropped what it left");
            assert_eq!(MARK.replace(1), 7, "and so does the first one");
            raddle::join(|| assert_eq!(MARK.replace(2), 1), || assert!([1, 2, 7].contains(&MARK.get())));
        })
        .unwrap_or_else(|failure| panic!("{failure}"));
    }
    // The last seed is run twice.
    assert_eq!(drops.load(Ordering::Relaxed), 3 * 2 * 50);
}

#[test]
fn destructors_are_a_part_of_the_run() {
    let way = |seed| {
        let ends = try_explore(options(seed), || {
            let lock = Arc::new(Mutex::new(0));
            let leaves = |lock: &Arc<Mutex<usize>>| {
                let lock = lock.clone();
                csp::spawn(move || LOCKS.set(Some(Locks(lock))))
            };
            let all: Vec<_> = (0..4).map(|_| leaves(&lock)).collect();
            *lock.lock().unwrap() += 1;
            all.into_iter().for_each(|it| it.join().unwrap());
            assert_eq!(*lock.lock().unwrap(), 5);
        });
        ends.unwrap_or_else(|failure| panic!("{failure}"))
    };
    assert_eq!(way(5), way(5));
    assert!((6..30).any(|seed| way(seed) != way(5)));
}

/// A run that fails is taken down, destructors that lock included.
#[test]
fn a_failed_run_runs_them_too() {
    let drops = Arc::new(AtomicUsize::new(0));
    let counts = drops.clone();
    let failure = try_explore(options(0), move || {
        let (lock, counts) = (Arc::new(Mutex::new(0)), counts.clone());
        COUNTED.set(Some(Counted(counts.clone())));
        let locks = lock.clone();
        let child = csp::spawn(move || {
            COUNTED.set(Some(Counted(counts)));
            LOCKS.set(Some(Locks(locks)));
            csp::park();
        });
        let _held = lock.lock().unwrap();
        child.join().unwrap();
    });
    assert_eq!(failure.expect_err("it hangs").kind(), Kind::Deadlock);
    let drops = drops.load(Ordering::Relaxed);
    assert!(drops >= 2 && drops.is_multiple_of(2), "{drops}");
}

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("the program's own memory");
    statm.split(' ').nth(1).and_then(|n| n.parse::<usize>().ok()).expect("a number of pages") * 4096
}

#[test]
fn runs_keep_no_memory() {
    let one_arena = [("MALLOC_ARENA_MAX", "1")];
    let output = in_child_with("storage::runs_keep_no_memory", &one_arena, || {
        // Each call makes a runtime of its own, and ends it.
        let explore = |times| {
            for seed in 0..times {
                let run = try_explore(options(seed), || {
                    let visits = |n| csp::spawn(move || MARK.set(n));
                    let all: Vec<_> = (0..3).map(visits).collect();
                    all.into_iter().for_each(|it| it.join().unwrap());
                });
                run.unwrap_or_else(|failure| panic!("{failure}"));
            }
        };
        explore(200);
        let before = resident_bytes();
        explore(5_000);
        let grown = resident_bytes().saturating_sub(before);
        assert!(grown < 4 << 20, "{grown} bytes more");
    });
    assert!(output.status.success(), "{}", stderr(&output));
}
