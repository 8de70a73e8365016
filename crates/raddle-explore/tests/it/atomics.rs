//! Bugs between two accesses to variables of `raddle::sync::atomic`: found without a yield by hand.

use crate::bugs::find;
use raddle::csp;
use raddle::explore::{Kind, Options, try_explore};
use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering, fence};
use std::ptr::null_mut;

#[test]
fn a_lost_update() {
    find(
        || {
            let count = Arc::new(AtomicU32::new(0));
            let add = || {
                let count = count.clone();
                csp::spawn(move || count.store(count.load(Ordering::SeqCst) + 1, Ordering::SeqCst))
            };
            let both = [add(), add()];
            both.into_iter().for_each(|one| one.join().unwrap());
            assert_eq!(count.load(Ordering::SeqCst), 2, "an addition was lost");
        },
        Kind::Panic,
        "an addition was lost",
    );
}

#[test]
fn an_initialiser_that_runs_twice() {
    find(
        || {
            let (is_made, made) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
            let get = || {
                let (is_made, made) = (is_made.clone(), made.clone());
                csp::spawn(move || {
                    if !is_made.load(Ordering::Acquire) {
                        made.fetch_add(1, Ordering::Relaxed);
                        is_made.store(true, Ordering::Release);
                    }
                })
            };
            let both = [get(), get()];
            both.into_iter().for_each(|one| one.join().unwrap());
            assert_eq!(made.load(Ordering::Relaxed), 1, "it was made twice");
        },
        Kind::Panic,
        "it was made twice",
    );
}

/// A stack of the numbers below 3, each of which lies in it once at most. What lies under a number is in `next`.
struct Stack {
    top: AtomicUsize,
    next: [AtomicUsize; 3],
}

const NONE: usize = 3;

impl Stack {
    fn push(&self, number: usize) {
        let mut top = self.top.load(Ordering::Acquire);
        loop {
            self.next[number].store(top, Ordering::Relaxed);
            match self.top.compare_exchange(top, number, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    /// The mistake: between its two accesses the top may go, and come back with another one under it.
    fn pop(&self) -> Option<usize> {
        loop {
            let top = self.top.load(Ordering::Acquire);
            if top == NONE {
                return None;
            }
            let next = self.next[top].load(Ordering::Relaxed);
            if self.top.compare_exchange(top, next, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return Some(top);
            }
        }
    }
}

#[test]
fn a_stack_whose_top_comes_back() {
    find(
        || {
            let next = [0, 0, 0].map(AtomicUsize::new);
            let stack = Arc::new(Stack { top: AtomicUsize::new(NONE), next });
            (0..3).for_each(|number| stack.push(number));
            let other = stack.clone();
            let pops = csp::spawn(move || other.pop());
            let (first, second) = (stack.pop(), stack.pop());
            first.into_iter().for_each(|number| stack.push(number));
            let mut all: Vec<_> = second.into_iter().chain(pops.join().unwrap()).collect();
            while let Some(number) = stack.pop() {
                all.push(number);
                assert!(all.len() <= 3, "a number came twice: {all:?}");
            }
        },
        Kind::Panic,
        "a number came twice",
    );
}

/// The one who waits makes no operation of Raddle but this access: it must let the other run, whatever the seed.
#[test]
fn a_loop_that_looks_until_it_is_true_ends() {
    let waits = || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = flag.clone();
        let sets = csp::spawn(move || other.store(true, Ordering::Release));
        while !flag.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
        sets.join().unwrap();
    };
    try_explore(Options::default(), waits).expect("it ends under each schedule");
}

#[test]
fn what_is_right_is_found_right() {
    let right = || {
        let (count, head) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicPtr::<u32>::new(null_mut())));
        let add = || {
            let (count, head) = (count.clone(), head.clone());
            csp::spawn(move || {
                let mut mine = 7;
                let old = head.swap(&raw mut mine, Ordering::AcqRel);
                fence(Ordering::SeqCst);
                // Whoever comes second finds an address that is not null, which it does not follow.
                count.fetch_add(usize::from(!old.is_null()), Ordering::Relaxed);
                count.update(Ordering::Relaxed, Ordering::Relaxed, |n| n + 10);
            })
        };
        let both = [add(), add()];
        both.into_iter().for_each(|one| one.join().unwrap());
        assert_eq!(count.load(Ordering::Relaxed), 21);
    };
    try_explore(Options::default(), right).expect("no schedule fails");
}

/// The line of the program, by the caller's own word: a build without debug information has it, too.
#[test]
fn a_schedule_says_where_the_access_stands() {
    let failure = try_explore(Options::default(), || {
        let count = Arc::new(AtomicU32::new(0));
        let other = count.clone();
        let adds = csp::spawn(move || other.fetch_add(1, Ordering::SeqCst));
        let seen = count.load(Ordering::SeqCst);
        count.store(seen + 1, Ordering::SeqCst);
        let line = line!() - 1;
        adds.join().unwrap();
        assert_eq!(count.load(Ordering::SeqCst), 2, "lost before line {line}");
    })
    .expect_err("there is a schedule that loses it");
    let text = failure.to_string();
    let line = text.split_once("lost before line ").expect(&text).1;
    let line: String = line.chars().take_while(char::is_ascii_digit).collect();
    let place = format!("AtomicU32::store at {}:{line}:", file!());
    assert!(text.contains(&place), "{text}");
}
