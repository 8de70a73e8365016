//! Owns: `stopped_after`, by which a thread of a model stops for ever after so many atomics; and what others do then.
//! May use: `protocol`, `loom`.
//! Never: a wait for who was stopped.
//!
//! In each model one thread, the victim, is stopped after its first atomic, after its second, and so on, until it comes
//! to its end. The others must end in every interleaving (loom refuses what does not), and find all but what the victim
//! may hold.

use super::check;
use super::page_word::PageModel;
use super::records::RecordList;
use crate::prim::AtomicU64;
use crate::protocol::{bits, slots};
use loom::sync::Arc;
use loom::thread;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What a thread throws that is stopped. It runs nothing more than where that is caught: nothing here has a drop.
struct Stopped;

loom::thread_local! {
    /// So many atomics the thread may still do; 0 if nobody stops it.
    static LEFT: Cell<u32> = Cell::new(0);
}

/// The calling thread has done an atomic.
pub(crate) fn step() {
    let is_last = LEFT.with(|left| match left.get() {
        0 => false,
        n => {
            left.set(n - 1);
            n == 1
        }
    });
    if is_last {
        resume_unwind(Box::new(Stopped));
    }
}

/// What `act` returns, if it does not take more atomics than these; else the thread goes no further.
fn stopped_after<R>(atomics: u32, act: impl FnOnce() -> R) -> Option<R> {
    LEFT.with(|left| left.set(atomics));
    let done = catch_unwind(AssertUnwindSafe(act));
    LEFT.with(|left| left.set(0));
    match done {
        Ok(result) => Some(result),
        Err(thrown) if thrown.is::<Stopped>() => None,
        Err(panic) => resume_unwind(panic),
    }
}

/// Runs a model with the victim stopped after each of its atomics. The model returns whether the victim was stopped.
fn at_each_atomic(model: impl Fn(u32) -> bool + Send + Sync + 'static) {
    let model = std::sync::Arc::new(model);
    let mut atomics = 0;
    loop {
        atomics += 1;
        let (model, stops) = (model.clone(), std::sync::Arc::new(AtomicBool::new(false)));
        let noted = stops.clone();
        check(Some(3), move || {
            if model(atomics) {
                noted.store(true, Relaxed);
            }
        });
        if !stops.load(Relaxed) {
            break;
        }
    }
    assert!(atomics > 1, "the victim was never stopped");
}

/// Its chain is there, or is lost with it; the other's is there.
#[test]
fn who_stops_while_it_gives_back_keeps_its_own_blocks_alone() {
    at_each_atomic(|atomics| {
        let shared = PageModel::new();
        let (of_victim, of_other) = (shared.clone(), shared.clone());
        let victim = thread::spawn(move || stopped_after(atomics, || of_victim.push(&[1, 2])).is_none());
        let other = thread::spawn(move || of_other.push(&[3, 4]));
        shared.collect();
        assert!(!other.join().unwrap(), "the page has a holder");
        let was_stopped = victim.join().unwrap();
        shared.collect();
        let held = shared.all_held();
        assert!(held == [1, 2, 3, 4] || (was_stopped && held == [3, 4]), "{held:?}");
        was_stopped
    });
}

/// The page is its own for good, or somebody else's; who gives back goes on.
#[test]
fn who_stops_while_it_leaves_a_page_keeps_that_page_alone() {
    at_each_atomic(|atomics| {
        let shared = PageModel::new();
        let (of_victim, of_other) = (shared.clone(), shared.clone());
        let victim = thread::spawn(move || {
            let leaves = || {
                of_victim.collect();
                if !of_victim.word.disown_empty() {
                    of_victim.word.disown();
                }
            };
            stopped_after(atomics, leaves).is_none()
        });
        let other = thread::spawn(move || of_other.push(&[1]) || of_other.push(&[2]));
        let claimed = shared.word.claim();
        let adopted = other.join().unwrap();
        let was_stopped = victim.join().unwrap();
        assert!(was_stopped || claimed || adopted || shared.word.claim(), "the page is nobody's");
        was_stopped
    });
}

/// Of four bits it wanted three.
#[test]
fn who_stops_with_a_run_keeps_no_more_than_it_wanted() {
    at_each_atomic(|atomics| {
        let words = Arc::new([AtomicU64::new(3 << 62), AtomicU64::new(3)]);
        let of_victim = words.clone();
        let victim = thread::spawn(move || {
            let takes_and_gives = || {
                if let Some(first) = bits::take_any(&*of_victim, 3, 1, 0) {
                    bits::give(&*of_victim, first, 3);
                }
            };
            stopped_after(atomics, takes_and_gives).is_none()
        });
        let mine = bits::take_any(&*words, 1, 1, 1).expect("one of four is left");
        bits::give(&*words, mine, 1);
        let was_stopped = victim.join().unwrap();
        let left: u32 = words.iter().map(|word| word.load(Relaxed).count_ones()).sum();
        assert!(if was_stopped { left >= 1 } else { left == 4 }, "{left} are left");
        was_stopped
    });
}

#[test]
fn who_stops_with_a_record_keeps_that_alone() {
    at_each_atomic(|atomics| {
        let shared = RecordList::new(2);
        let of_victim = shared.clone();
        let victim = thread::spawn(move || {
            let takes_and_gives = || {
                if let Some(record) = of_victim.take() {
                    of_victim.give(record);
                }
            };
            stopped_after(atomics, takes_and_gives).is_none()
        });
        let mine = shared.take().expect("one of two is left");
        shared.give(mine);
        let was_stopped = victim.join().unwrap();
        let left = std::iter::from_fn(|| shared.take()).count();
        assert!(if was_stopped { left >= 1 } else { left == 2 }, "{left} are left");
        was_stopped
    });
}

#[test]
fn who_stops_with_a_word_keeps_that_alone() {
    at_each_atomic(|atomics| {
        let all = Arc::new([AtomicU64::new(1), AtomicU64::new(2)]);
        let of_victim = all.clone();
        let take = |all: &[AtomicU64]| {
            let look = |slot: usize| all[slot].load(Relaxed);
            (0..2)
                .map(|slot| (slot, look(slot)))
                .find(|(slot, word)| *word != 0 && slots::take(all, *slot, *word))
        };
        let victim = thread::spawn(move || stopped_after(atomics, || take(&*of_victim)).is_none());
        let mine = take(&*all).expect("one of two is left").1;
        let was_stopped = victim.join().unwrap();
        assert_eq!(slots::put(&*all, mine).map(|slot| slot < 2), Some(true), "there is room");
        was_stopped
    });
}
