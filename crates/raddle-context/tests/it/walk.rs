//! The walk over a suspended context: it finds the functions, ends at the base, and bears a stack that was overwritten.

use crate::support::{Coroutine, Yielder, pool};
use raddle_context::SizeClass;
use std::hint::black_box;

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn walk_test_inner(y: &Yielder, depth: u32) -> u32 {
    let room = black_box([depth; 40]);
    y.pause();
    room[7] + 1
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn walk_test_outer(y: &Yielder, depth: u32) -> u32 {
    if depth == 0 {
        return walk_test_inner(y, depth) + 1;
    }
    let rest = walk_test_outer(y, depth - 1);
    black_box(rest) + 1
}

/// How many of these addresses lie in the function that begins at `begin`.
fn within(addresses: &[usize], begin: usize, bytes: usize) -> usize {
    addresses.iter().filter(|address| (begin..begin + bytes).contains(address)).count()
}

fn suspended(depth: u32) -> (raddle_context::StackPool, Coroutine) {
    let mut pool = pool();
    let flow = Coroutine::new(pool.take(SizeClass::DEFAULT).unwrap(), move |y| {
        black_box(walk_test_outer(y, depth));
    });
    flow.resume();
    (pool, flow)
}

#[test]
fn a_suspended_context_shows_its_functions() {
    let (mut pool, flow) = suspended(4);
    let addresses = flow.walk();
    let (inner, outer) = (walk_test_inner as *const () as usize, walk_test_outer as *const () as usize);
    // Nobody says how long a function is: one ends where the other begins, at the latest.
    let length = |begin: usize, other: usize| if other > begin { 300.min(other - begin) } else { 300 };
    assert_eq!(within(&addresses, inner, length(inner, outer)), 1, "{addresses:x?}");
    assert!(within(&addresses, outer, length(outer, inner)) >= 5, "{addresses:x?}");
    // What lies above: the closure, its box, the entry; and there it ends.
    assert!(addresses.len() < 20, "{addresses:x?}");
    while flow.resume() {}
    pool.give(flow.finish());
}

#[test]
fn a_context_that_has_not_begun_shows_nothing() {
    let mut pool = pool();
    let flow = Coroutine::new(pool.take(SizeClass::DEFAULT).unwrap(), |_| ());
    assert_eq!(flow.walk(), []);
    while flow.resume() {}
    pool.give(flow.finish());
}

/// Each word above the saved registers becomes, in its turn, something that leads nowhere, or in a circle.
#[test]
fn an_overwritten_stack_ends_the_walk() {
    let (mut pool, flow) = suspended(2);
    let whole = flow.walk().len();
    let top = flow.stack().top();
    for back in 1..60 {
        let word = top.cast::<usize>().wrapping_sub(back);
        // SAFETY: a word of a stack on which nobody runs.
        let before = unsafe { word.read_volatile() };
        for nonsense in [0, 1, usize::MAX, word.addr(), top.addr(), before ^ 8] {
            // SAFETY: as above; it is put back before anybody runs there.
            unsafe { word.write_volatile(nonsense) };
            assert!(flow.walk().len() <= whole + 128);
        }
        // SAFETY: as above.
        unsafe { word.write_volatile(before) };
    }
    assert_eq!(flow.walk().len(), whole);
    while flow.resume() {}
    pool.give(flow.finish());
}
