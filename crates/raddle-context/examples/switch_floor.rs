//! Nanoseconds per switch, ours beside corosensei's, for 2, 64 and 1000 contexts.
//!
//! `cargo run --release -p raddle-context --example switch_floor`
//!
//! Ours is symmetric: each context goes straight to the next, by a yield that is not inlined, as a scheduler's
//! would be. corosensei's coroutines are asymmetric, so that one yield is two of its switches: a suspend
//! to the driver and a resume of the next; its column is per such pair.
#![allow(clippy::print_stdout, reason = "a program that prints a table")]

use corosensei::{Coroutine, CoroutineResult};
use raddle_context::{Context, SizeClass, StackDepot, StackPool, transfer};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

const YIELDS: usize = 10_000_000;
const RUNS: usize = 5;

/// One OS thread runs the ring, so that relaxed accesses suffice: they are plain moves.
static CONTEXTS: AtomicPtr<Context> = AtomicPtr::new(core::ptr::null_mut());
static COUNT: AtomicUsize = AtomicUsize::new(0);
static RUNNING: AtomicUsize = AtomicUsize::new(0);
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// Goes from the running context to context `to`.
#[inline(always)]
fn go(to: usize) {
    let base = CONTEXTS.load(Relaxed);
    let from = base.wrapping_add(RUNNING.load(Relaxed));
    RUNNING.store(to, Relaxed);
    // SAFETY: `from` runs, `to` is primed or suspended; both are below COUNT, and they differ.
    unsafe { transfer(from, base.wrapping_add(to)) };
}

/// Goes to the next context of the ring, in a frame of its own.
#[inline(never)]
fn yield_now() {
    let next = RUNNING.load(Relaxed) + 1;
    go(if next == COUNT.load(Relaxed) { 0 } else { next });
}

/// Yields until the turns are used up; whoever sees that goes to the driver, which is context 0.
#[inline(never)]
fn spin() {
    loop {
        let left = LEFT.load(Relaxed);
        if left > 0 {
            LEFT.store(left - 1, Relaxed);
            yield_now();
        } else if RUNNING.load(Relaxed) == 0 {
            return;
        } else {
            go(0);
        }
    }
}

unsafe extern "C" fn entry(_me: *mut Context) -> *mut Context {
    spin();
    unreachable!("only the driver returns from spin")
}

fn ours(n: usize) -> f64 {
    let mut pool = StackPool::new(StackDepot::new());
    let stacks: Vec<_> = (1..n).map(|_| pool.take(SizeClass::DEFAULT).expect("a stack")).collect();
    let mut contexts: Vec<Context> = (0..n).map(|_| Context::empty()).collect();
    for (context, stack) in contexts[1..].iter_mut().zip(&stacks) {
        // SAFETY: the stacks are given back below, when no context will be resumed any more.
        unsafe { context.prime(stack, entry) };
    }
    CONTEXTS.store(contexts.as_mut_ptr(), Relaxed);
    COUNT.store(n, Relaxed);
    let best = best_ns(|yields| {
        LEFT.store(yields, Relaxed);
        spin();
    });
    stacks.into_iter().for_each(|stack| pool.give(stack));
    best
}

fn best_ns(mut run: impl FnMut(usize)) -> f64 {
    run(YIELDS / 10);
    let timed = (0..RUNS).map(|_| {
        let start = Instant::now();
        run(YIELDS);
        start.elapsed().as_nanos() as f64 / YIELDS as f64
    });
    timed.fold(f64::MAX, f64::min)
}

fn theirs(n: usize) -> f64 {
    let mut ring: Vec<Coroutine<(), (), ()>> = (0..n)
        .map(|_| {
            Coroutine::new(|yielder, ()| {
                loop {
                    yielder.suspend(());
                }
            })
        })
        .collect();
    let best = best_ns(|yields| {
        let mut next = 0;
        for _ in 0..yields {
            assert!(matches!(ring[next].resume(()), CoroutineResult::Yield(())));
            next = if next + 1 == n { 0 } else { next + 1 };
        }
    });
    // SAFETY: the coroutines own nothing that would have to be dropped.
    ring.iter_mut().for_each(|coroutine| unsafe { coroutine.force_reset() });
    best
}

fn main() {
    println!("ns per yield, best of {RUNS} runs of {YIELDS}");
    println!("{:>8} {:>8} {:>24}", "contexts", "raddle", "corosensei (2 switches)");
    for n in [2, 64, 1000] {
        println!("{n:>8} {:>8.2} {:>24.2}", ours(n), theirs(n));
    }
}
