//! The futex: no wake is lost between a look at the word and sleep, each wait has one outcome, counts add up, and
//! nobody is left in a bucket.
//!
//! Three threads at one bucket, or two at two: of three at two locks loom lets two spin for ever.

use crate::{ALL, Guarded, check, go};
use loom::sync::atomic::{AtomicU32, Ordering};
use raddle_protocol::model::Futex;
use raddle_protocol::protocol::futex::{Requeued, Waited};
use std::sync::Arc;

const ANY: u32 = u32::MAX;

/// A table, and words; a word's address is its number.
struct Words {
    futex: Futex,
    words: [AtomicU32; 2],
    guarded: Guarded,
}

fn words(buckets: usize) -> Arc<Words> {
    let words = [(); 2].map(|()| AtomicU32::new(0));
    Arc::new(Words { futex: Futex::new(buckets), words, guarded: Guarded::default() })
}

impl Words {
    /// Sleeps while the word is 0, as a user does: again and again. Relaxed: what orders it is the futex.
    fn wait_while_zero(&self, word: usize) {
        let is_zero = || self.words[word].load(Ordering::Relaxed) == 0;
        while is_zero() {
            let waited = self.futex.wait(word, ANY, false, is_zero);
            assert_ne!(waited, Waited::Expired, "there is no deadline");
        }
    }

    fn set_and_wake(&self, word: usize, count: u32) -> u32 {
        self.words[word].store(1, Ordering::Relaxed);
        self.futex.wake(word, count, ANY)
    }

    /// Waits at once, whatever the word; gives up at once if `expires`.
    fn sleep(&self, address: usize, expires: bool) -> Waited {
        self.futex.wait(address, ANY, expires, || true)
    }
}

fn woken(waited: Waited) -> u32 {
    u32::from(waited == Waited::Woken)
}

#[test]
fn a_change_is_seen_or_wakes() {
    check(ALL, || {
        let words = words(1);
        let other = words.clone();
        let waits = go(move || other.wait_while_zero(0));
        words.set_and_wake(0, 1);
        waits.join().unwrap();
        assert!(words.futex.is_empty());
    });
}

#[test]
fn all_who_wait_for_a_change_see_it() {
    check(Some(2), || {
        let words = words(1);
        let waits = [words.clone(), words.clone()].map(|other| go(move || other.wait_while_zero(0)));
        words.set_and_wake(0, u32::MAX);
        waits.into_iter().for_each(|waits| waits.join().unwrap());
        assert!(words.futex.is_empty());
    });
}

/// Two words in one bucket: the tree is changed by both at a time.
#[test]
fn who_waits_for_other_words_is_not_disturbed() {
    check(Some(2), || {
        let words = words(1);
        let waits = [(words.clone(), 0), (words.clone(), 1)];
        let waits = waits.map(|(other, word)| go(move || other.wait_while_zero(word)));
        words.set_and_wake(0, 1);
        words.set_and_wake(1, 1);
        waits.into_iter().for_each(|waits| waits.join().unwrap());
        assert!(words.futex.is_empty());
    });
}

/// One who is woken sees what its waker did before, whatever the word says.
#[test]
fn who_is_woken_sees_what_was_done_before() {
    check(ALL, || {
        let words = words(1);
        let other = words.clone();
        let waits = go(move || {
            if other.futex.wait(0, ANY, false, || other.words[0].load(Ordering::Relaxed) == 0)
                == Waited::Woken
            {
                assert_eq!(other.guarded.read(), 1);
            }
        });
        words.guarded.add_one();
        words.set_and_wake(0, 1);
        waits.join().unwrap();
    });
}

#[test]
fn a_wake_and_a_deadline_end_a_wait_once() {
    check(ALL, || {
        let words = words(1);
        let other = words.clone();
        let waits = go(move || other.sleep(0, true));
        let count = words.futex.wake(0, 1, ANY);
        assert_eq!(count, woken(waits.join().unwrap()), "the count is wrong");
        assert!(words.futex.is_empty());
    });
}

/// A wake that meets one whose deadline passes goes to the next, if there is one.
#[test]
fn a_deadline_does_not_swallow_a_wake() {
    check(Some(2), || {
        let words = words(1);
        let (gives_up, waits) = (words.clone(), words.clone());
        let gives_up = go(move || gives_up.sleep(0, true));
        let waits = go(move || waits.wait_while_zero(0));
        words.words[0].store(1, Ordering::Relaxed);
        // As an unlock by who has been woken and does not want it any more.
        if words.futex.wake(0, 1, ANY) == woken(gives_up.join().unwrap()) {
            words.futex.wake(0, 1, ANY);
        }
        waits.join().unwrap();
        assert!(words.futex.is_empty());
    });
}

#[test]
fn two_wakers_wake_one_once() {
    check(Some(3), || {
        let words = words(1);
        let (waits, wakes) = (words.clone(), words.clone());
        let waits = go(move || waits.sleep(0, true));
        let wakes = go(move || wakes.futex.wake(0, 1, ANY));
        let count = words.futex.wake(0, 1, ANY) + wakes.join().unwrap();
        assert_eq!(count, woken(waits.join().unwrap()), "woken twice, or counted for nothing");
        assert!(words.futex.is_empty());
    });
}

/// Bits that do not meet wake nobody.
#[test]
fn only_bits_in_common_wake() {
    check(Some(2), || {
        let words = words(1);
        let waits = [(words.clone(), 1), (words.clone(), 2)];
        let waits = waits.map(|(other, bits)| go(move || other.futex.wait(0, bits, true, || true)));
        let count = words.futex.wake(0, 2, 2);
        let [one, two] = waits.map(|waits| woken(waits.join().unwrap()));
        assert_eq!((one, two), (0, count));
        assert!(words.futex.is_empty());
    });
}

/// One is not meant, and stands before, between or behind the others: the first of those is woken from the batch, the
/// second in a row, or each in a batch, or they have given up before.
#[test]
fn those_behind_who_is_not_meant_are_woken_once() {
    check(Some(1), || {
        let words = words(1);
        let waits = [(words.clone(), 1), (words.clone(), 2), (words.clone(), 2)];
        let waits = waits.map(|(other, bits)| go(move || other.futex.wait(0, bits, true, || true)));
        let count = words.futex.wake(0, u32::MAX, 2);
        let [one, two, three] = waits.map(|waits| woken(waits.join().unwrap()));
        assert_eq!((one, two + three), (0, count));
        assert!(words.futex.is_empty());
    });
}

/// Moved, woken where it is now, or expired before, between or after: once, and out of whatever bucket it was in.
fn requeue_against_a_deadline(buckets: usize, apart: bool) {
    check(Some(3), move || {
        let words = words(buckets);
        let (from, to) = words.futex.addresses(64..128, apart);
        let other = words.clone();
        let waits = go(move || other.sleep(from, true));
        let Requeued { woken: none, moved } = words.futex.requeue(from, 0, to, 1);
        let (here, there) = (words.futex.wake(from, 1, ANY), words.futex.wake(to, 1, ANY));
        assert!(none == 0 && there <= moved, "it was woken where it never was");
        assert_eq!(here + there, woken(waits.join().unwrap()), "the count is wrong");
        assert!(words.futex.is_empty());
    });
}

#[test]
fn a_requeue_to_another_bucket_and_a_deadline() {
    requeue_against_a_deadline(2, true);
}

#[test]
fn a_requeue_within_a_bucket_and_a_deadline() {
    requeue_against_a_deadline(1, false);
}

/// One is moved and woken by two at a time, and gives up.
#[test]
fn a_requeue_and_a_wake_and_a_deadline() {
    check(Some(1), || {
        let words = words(1);
        let (from, to) = words.futex.addresses(64..128, false);
        let (waits, wakes) = (words.clone(), words.clone());
        let waits = go(move || waits.sleep(from, true));
        let wakes = go(move || wakes.futex.wake(to, 1, ANY));
        words.futex.requeue(from, 0, to, 1);
        let count = words.futex.wake(to, 1, ANY) + words.futex.wake(from, 1, ANY) + wakes.join().unwrap();
        assert_eq!(count, woken(waits.join().unwrap()), "the count is wrong");
        assert!(words.futex.is_empty());
    });
}

/// Each locks both buckets, from either side, and one of them waits in between.
#[test]
fn requeues_in_both_directions_do_not_block_each_other() {
    check(Some(3), || {
        let words = words(2);
        let (one, two) = words.futex.addresses(64..128, true);
        let other = words.clone();
        let other = go(move || {
            let waited = other.sleep(one, true);
            other.futex.requeue(one, 0, two, 1);
            waited
        });
        words.futex.requeue(one, 0, two, 1);
        words.futex.requeue(two, 0, one, 1);
        assert_eq!(other.join().unwrap(), Waited::Expired);
        assert!(words.futex.is_empty());
    });
}

/// A broadcast wakes one and moves the other to a word that is woken when it changes: nobody is left behind.
#[test]
fn a_broadcast_by_requeue_reaches_both() {
    check(Some(1), || {
        let words = words(1);
        let (from, to) = words.futex.addresses(64..128, false);
        let waits = [words.clone(), words.clone()].map(|other| {
            go(move || {
                let is_zero = || other.words[0].load(Ordering::Relaxed) == 0;
                let waited = other.futex.wait(from, ANY, false, is_zero);
                // Whoever goes on lets the next go on, as an unlock does.
                other.futex.wake(to, 1, ANY);
                waited
            })
        });
        words.words[0].store(1, Ordering::Relaxed);
        let done = words.futex.requeue(from, 1, to, u32::MAX);
        let count: u32 = waits.into_iter().map(|waits| woken(waits.join().unwrap())).sum();
        assert_eq!(count, done.woken + done.moved);
        assert!(words.futex.is_empty());
    });
}
