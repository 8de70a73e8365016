//! How much of its stack a program may use: what it has asked for, less a page.

use crate::child::{assert_aborted, in_child};
use crate::runtime;
use raddle::csp;
use std::hint::black_box;

const PAGE: usize = 4096;
/// More than there are colours of stacks, so that the least room is among them.
const STACKS: usize = 64;

/// Uses `bytes` of stack below `base`, or up to a frame more.
#[inline(never)]
fn dive(base: usize, bytes: usize) -> usize {
    let here = black_box([0_u8; 64]);
    let used = base - (&raw const here).addr();
    if used >= bytes { used } else { black_box(dive(base, bytes)) + usize::from(here[7]) }
}

/// Processes with stacks of this size, all alive at once, each of which uses so much of it.
fn use_of_each(size: usize, bytes: usize) {
    runtime(1).run(|| {
        let uses = move || {
            csp::yield_now();
            let base = 0_u8;
            assert!(dive((&raw const base).addr(), bytes) >= bytes);
        };
        let spawn = |_| csp::Builder::new().name("deep").stack_size(size).spawn(uses).unwrap();
        let all: Vec<_> = (0..STACKS).map(spawn).collect();
        all.into_iter().for_each(|it| it.join().unwrap());
    });
}

#[test]
fn all_that_was_asked_for_may_be_used_but_a_page() {
    for size in [8 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20] {
        use_of_each(size, size - PAGE);
    }
    // Of a size between two classes, all of it.
    use_of_each(48 << 10, 48 << 10);
}

#[test]
fn a_page_more_than_was_asked_for_is_reported() {
    let output = in_child("stacks::a_page_more_than_was_asked_for_is_reported", || {
        use_of_each(64 << 10, (64 << 10) + PAGE);
    });
    assert_aborted(&output, &["stack overflow in process 'deep'", "65536-byte stack", "RADDLE_STACK_SIZE"]);
}
