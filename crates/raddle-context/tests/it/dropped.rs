//! A context that is dropped while it is suspended: its stack may be used again.

use crate::support::{Coroutine, pool, run_on};
use raddle_context::SizeClass;
use std::hint::black_box;

#[inline(never)]
fn with_frames(depth: usize, bottom: &dyn Fn()) -> u8 {
    let mut here = black_box([depth as u8; 200]);
    if depth == 0 {
        bottom()
    } else {
        here[7] += with_frames(depth - 1, bottom)
    }
    black_box(&here)[7]
}

#[test]
fn the_stack_of_a_dropped_context_is_as_good_as_new() {
    let mut pool = pool();
    let flow = Coroutine::new(pool.take(SizeClass::DEFAULT).unwrap(), |y| {
        black_box(with_frames(20, &|| y.pause()));
    });
    assert!(flow.resume());
    pool.give(flow.abandon());
    run_on(&mut pool, SizeClass::DEFAULT, |_| {
        black_box([3_u8; 8000]);
        black_box(with_frames(9, &|| ()));
    });
}
