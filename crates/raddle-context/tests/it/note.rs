//! Notes: found while the context that has left one is suspended there, and not where it is suspended in another way.

use crate::support::{Coroutine, pool};
use raddle_context::{SizeClass, note};
use std::cell::Cell;
use std::hint::black_box;
use std::rc::Rc;

/// What is found, where notes are kept.
#[track_caller]
fn check(flow: &Coroutine, expected: Option<(u32, [usize; 3])>) {
    assert_eq!(flow.note(), expected.filter(|_| note::ARE_KEPT));
}

#[test]
fn a_note_is_found_while_its_context_is_suspended_there() {
    let mut pool = pool();
    let flow = Coroutine::new(pool.take(SizeClass::DEFAULT).unwrap(), |y| {
        y.pause_noting::<7>([1, 2, 3]);
        y.pause();
        (0..3).for_each(|n| y.pause_noting::<{ u32::MAX }>([n, usize::MAX, 0]));
        y.pause();
    });
    check(&flow, None);
    flow.resume();
    check(&flow, Some((7, [1, 2, 3])));
    flow.resume();
    check(&flow, None);
    for n in 0..3 {
        flow.resume();
        check(&flow, Some((u32::MAX, [n, usize::MAX, 0])));
    }
    flow.resume();
    check(&flow, None);
    while flow.resume() {}
    pool.give(flow.finish());
}

/// The note's words lie where registers would: none of these may be lost.
#[test]
fn who_leaves_a_note_keeps_what_it_has() {
    let mut pool = pool();
    let sum = Rc::new(Cell::new(0));
    let told = sum.clone();
    let flow = Coroutine::new(pool.take(SizeClass::DEFAULT).unwrap(), move |y| {
        let mut all: [u64; 12] = std::array::from_fn(|at| black_box(1 << at));
        for round in 0..100 {
            y.pause_noting::<0>([round, round, round]);
            all.iter_mut().for_each(|one| *one = one.wrapping_mul(3));
        }
        told.set(all.iter().fold(0, |sum: u64, one| sum.wrapping_add(*one)));
    });
    let other = Coroutine::new(pool.take(SizeClass::DEFAULT).unwrap(), |y| {
        for round in 0_usize..100 {
            y.pause_noting::<1>([black_box(!round); 3]);
        }
    });
    while flow.resume() {
        other.resume();
    }
    while other.resume() {}
    let factor = (0..100).fold(1_u64, |factor, _| factor.wrapping_mul(3));
    assert_eq!(sum.get(), factor.wrapping_mul((1 << 12) - 1));
    pool.give(flow.finish());
    pool.give(other.finish());
}
