//! Slices that keep others waiting.

use crate::child::{in_program, stderr};
use crate::{light_runtime, runtime};
use crate::{said_until, until_input_ends};
use raddle::csp;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

pub(super) fn long_loop() {
    let rt = runtime(1);
    drop(rt.spawn(|| {
        drop(csp::spawn(|| ()));
        spin_for_ever();
    }));
    until_input_ends();
}

#[inline(never)]
fn spin_for_ever() {
    while std::hint::black_box(true) {}
}

/// A lock of `std` is held over a switch, and its next user stops the only worker, to which the holder is bound.
pub(super) fn lock_of_std() {
    let rt = light_runtime();
    let lock = Arc::new(std::sync::Mutex::new(()));
    let other = lock.clone();
    drop(rt.spawn(move || {
        let _held = lock.lock().unwrap();
        drop(csp::spawn(move || drop(other.lock().unwrap())));
        csp::yield_now();
    }));
    until_input_ends();
}

/// So many begin, wait and end that the runtime's own lists are long.
pub(super) fn many_threads() {
    runtime(2).run(|| {
        let (done, all) = (Arc::new(AtomicBool::new(false)), 5_000);
        let begun = Arc::new(AtomicUsize::new(0));
        let waits = |_| {
            let (done, begun) = (done.clone(), begun.clone());
            raddle::thread::spawn(move || {
                begun.fetch_add(1, Ordering::Relaxed);
                while !done.load(Ordering::Relaxed) {
                    csp::park();
                }
            })
        };
        let threads: Vec<_> = (0..all).map(waits).collect();
        while begun.load(Ordering::Relaxed) < all {
            csp::yield_now();
        }
        done.store(true, Ordering::Relaxed);
        threads.iter().for_each(|one| one.thread().unpark());
        threads.into_iter().for_each(|one| one.join().unwrap());
    });
}

#[test]
fn no_foreign_lock_is_told_where_there_is_none() {
    let output = in_program("many_threads", &[("RADDLE_SLOW_SLICE", "10ms")]);
    assert!(output.status.success(), "{output:?}");
    assert!(!stderr(&output).contains("none of ours"), "{output:?}");
}

#[test]
fn a_long_slice_is_told_with_its_functions() {
    let text =
        said_until("long_loop", "a long loop without a switch; `yield_now` in it would let them run\n");
    assert!(text.contains("raddle: slow: process #"), "{text}");
    if cfg!(all(target_arch = "x86_64", not(any(raddle_tsan, raddle_twin)))) {
        let text = said_until("long_loop", "spin_for_ever");
        assert!(text.contains("    in it::slow::spin_for_ever"), "{text}");
    }
}

#[test]
fn a_lock_of_std_that_is_held_over_a_switch_is_told() {
    let text = said_until("lock_of_std", "`raddle::sync` has locks");
    assert!(text.contains("raddle: slow: process #"), "{text}");
}
