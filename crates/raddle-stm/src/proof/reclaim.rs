//! Owns: the tests that nothing is freed that somebody reads, and that all is freed in the end.
//! May use: `atomically`, `tvar`.
//! Never: a look at memory that may be gone: what is dropped says so elsewhere.

use super::{PATIENCE, on_threads};
use crate::{TVar, atomically};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Instant;

/// Says elsewhere that it was dropped.
struct Telltale(Arc<AtomicBool>);

impl Drop for Telltale {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One reads a value, and others replace it a thousand times.
#[test]
fn a_value_is_there_while_it_is_read() {
    for _ in 0..20 {
        let first = Arc::new(AtomicBool::new(false));
        let variable = TVar::new(Telltale(first.clone()));
        let (reads, is_read) = channel();
        let (replaced, is_replaced) = channel();
        let (other, watched) = (variable.clone(), first.clone());
        let reader = std::thread::spawn(move || {
            let mut once = true;
            atomically(|tx| {
                tx.with(&other, |_| {
                    if std::mem::take(&mut once) {
                        reads.send(()).unwrap();
                        is_replaced.recv().unwrap();
                        assert!(!watched.load(Ordering::Relaxed), "it was dropped while it is read");
                    }
                })
            });
        });
        is_read.recv().unwrap();
        for _ in 0..500 {
            atomically(|tx| tx.write(&variable, Telltale(Arc::default())));
        }
        replaced.send(()).unwrap();
        reader.join().unwrap();
    }
}

/// The last handle of a variable goes while a transaction that has read it runs on.
#[test]
fn a_variable_is_there_while_a_transaction_runs_that_has_read_it() {
    for _ in 0..200 {
        let outer = TVar::new(Some(TVar::new(7)));
        let bystander = TVar::new(0);
        let (other, noise) = (outer.clone(), bystander.clone());
        let taker = std::thread::spawn(move || {
            other.store(None);
            for n in 0..200 {
                noise.store(n);
            }
        });
        atomically(|tx| {
            let Some(inner) = tx.read(&outer)? else { return Ok(()) };
            assert_eq!(tx.read(&inner)?, 7);
            drop(inner);
            raddle_syscall::yield_processor();
            // Looks at the word of what it has read before, if that was moved meanwhile.
            tx.modify(&bystander, |n| n)
        });
        taker.join().unwrap();
    }
}

/// Counts those that live.
pub(super) struct Counted(Arc<AtomicUsize>);

impl Counted {
    pub(super) fn new(alive: &Arc<AtomicUsize>) -> Counted {
        alive.fetch_add(1, Ordering::Relaxed);
        Counted(alive.clone())
    }
}

impl Clone for Counted {
    fn clone(&self) -> Counted {
        Counted::new(&self.0)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let before = self.0.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0, "dropped twice");
    }
}

/// Other tests run transactions meanwhile, some of them long ones: what waits for those is freed later.
#[track_caller]
pub(super) fn check_freed(alive: &AtomicUsize, more: impl Fn()) {
    let begin = Instant::now();
    while alive.load(Ordering::Relaxed) > 500 {
        assert!(begin.elapsed() < PATIENCE, "{alive:?} are alive");
        (0..100).for_each(|_| more());
    }
}

#[test]
fn what_was_replaced_is_freed() {
    let alive = Arc::new(AtomicUsize::new(0));
    let counted = alive.clone();
    on_threads(4, 5, move |_| {
        let variables: Vec<_> = (0..8).map(|_| TVar::new(Counted::new(&counted))).collect();
        for round in 0..4000 {
            variables[round % 8].store(Counted::new(&counted));
        }
        check_freed(&counted, || variables[0].store(Counted::new(&counted)));
    });
}

#[test]
fn variables_are_freed_if_nobody_writes() {
    let alive = Arc::new(AtomicUsize::new(0));
    let once = || drop(TVar::new(Counted::new(&alive)).load());
    (0..5000).for_each(|_| once());
    check_freed(&alive, once);
}

/// Each of a list holds the next one: all go with the first, in a small stack.
#[test]
fn a_long_list_goes_in_a_small_stack() {
    #[derive(Clone)]
    #[allow(dead_code, reason = "they are dropped, and that is all")]
    struct Link(Counted, Option<TVar<Link>>);

    const STACK_BYTES: usize = 128 << 10;
    let alive = Arc::new(AtomicUsize::new(0));
    let mut lists = vec![None; 128];
    for _ in 0..500 {
        let longer = |list: Option<TVar<Link>>| Some(TVar::new(Link(Counted::new(&alive), list)));
        lists = lists.into_iter().map(longer).collect();
    }
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let goes = move || {
        drop(lists);
        let variable = TVar::new(Counted::new(&alive));
        check_freed(&alive, || variable.store(Counted::new(&alive)));
    };
    thread.spawn(goes).expect("an OS thread").join().expect("no panic");
}

/// Each has a slot of its own, in which what it has replaced waits.
#[test]
fn what_transactions_inside_of_others_replace_is_freed() {
    let alive = Arc::new(AtomicUsize::new(0));
    let (outer, inner) = (TVar::new(0), TVar::new(Counted::new(&alive)));
    let both = || {
        atomically(|tx| {
            inner.store(Counted::new(&alive));
            tx.modify(&outer, |n| n + 1)
        });
    };
    (0..5000).for_each(|_| both());
    check_freed(&alive, both);
}
