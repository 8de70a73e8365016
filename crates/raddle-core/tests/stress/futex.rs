//! Locks that are built on the user-level futex, under every policy, with an OS thread beside; and words at which many
//! wait, give up, are moved and are woken at once.

use super::{Progress, everywhere};
use crate::futex_locks::{Barrier, Condition, Lock};
use raddle::csp;
use raddle_core::door::futex::{self, ANY, WaitOptions, WaitOutcome};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// A queue of one number between those who put and those who take.
#[derive(Default)]
struct Place {
    lock: Lock,
    changed: Condition,
    full: AtomicBool,
    moved: AtomicU64,
}

impl Place {
    fn pass(&self, puts: bool, round: u64) {
        self.lock.lock();
        while self.full.load(Ordering::Relaxed) == puts {
            let patience = Duration::from_micros(round % 7 * 10);
            let until = if round.is_multiple_of(2) { None } else { futex::deadline(patience) };
            self.changed.wait(&self.lock, until);
        }
        self.full.store(puts, Ordering::Relaxed);
        self.moved.store(self.moved.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if round.is_multiple_of(3) {
            self.changed.notify_all(&self.lock);
            self.lock.unlock();
        } else {
            self.lock.unlock();
            self.changed.notify_all(&self.lock);
        }
    }
}

#[test]
fn a_mutex_a_condition_and_a_barrier_on_the_futex() {
    const ROUNDS: u64 = 20;
    const MEMBERS: u64 = 8;
    everywhere("futex locks", |rt, progress: &Progress| {
        let shared = Arc::new((Place::default(), Barrier::new(MEMBERS as u32)));
        let member = |number: u64| {
            let (shared, progress) = (shared.clone(), progress.clone());
            move || {
                for round in 0..ROUNDS {
                    shared.0.pass(number.is_multiple_of(2), round + number / 2);
                    if round % 5 == 0 {
                        shared.1.wait();
                    }
                }
                progress.note();
            }
        };
        let outside = std::thread::spawn(member(0));
        let inside: Vec<_> = (1..MEMBERS).map(|number| rt.spawn(member(number))).collect();
        inside.into_iter().for_each(|one| one.join().unwrap());
        outside.join().unwrap();
        assert_eq!(shared.0.moved.load(Ordering::Relaxed), MEMBERS * ROUNDS);
    });
}

/// So many woken are so many who say so.
#[test]
fn counts_add_up_while_many_give_up_and_are_moved() {
    const WAITERS: usize = 40;
    const ROUNDS: u64 = 10;
    everywhere("futex counts", |rt, progress: &Progress| {
        let words = Arc::new([const { AtomicU32::new(0) }; 5]);
        let over = Arc::new(AtomicBool::new(false));
        let waiter = |number: usize| {
            let (words, progress) = (words.clone(), progress.clone());
            rt.spawn(move || {
                let wait = |round: u64| {
                    let until = futex::deadline(Duration::from_micros((number as u64 * 7 + round) % 90));
                    let options = WaitOptions { until, bits: 1 << (number % 4), owner: None };
                    let outcome = futex::wait(&words[number % words.len()], 0, &options);
                    u64::from(outcome == WaitOutcome::Woken)
                };
                let woken: u64 = (0..ROUNDS).map(wait).sum();
                progress.note();
                woken
            })
        };
        let all: Vec<_> = (0..WAITERS).map(waiter).collect();
        let waker = || {
            let (words, over) = (words.clone(), over.clone());
            move || {
                let mut woken = 0;
                while !over.load(Ordering::Relaxed) {
                    for (at, word) in words.iter().enumerate() {
                        woken += u64::from(futex::wake(word, 2, 1 << (at % 4) | 1));
                        let to = &raw const words[(at * 3 + 1) % words.len()];
                        woken += u64::from(futex::requeue(word, 0, 1, to, 3).expect("it is 0").woken);
                    }
                    csp::yield_now();
                }
                woken
            }
        };
        let (inside, outside) = (rt.spawn(waker()), std::thread::spawn(waker()));
        let woken: u64 = all.into_iter().map(|one| one.join().unwrap()).sum();
        over.store(true, Ordering::Relaxed);
        assert_eq!(inside.join().unwrap() + outside.join().unwrap(), woken);
        assert_eq!(words.iter().map(|word| futex::wake(word, u32::MAX, ANY)).sum::<u32>(), 0);
    });
}
