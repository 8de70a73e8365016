//! Whose the modes of floating-point arithmetic are: the rounding mode, and whether denormal numbers count as zero.
//!
//! An OS thread's, as the kernel sees to it: so a worker's, and what runs on it finds them as whoever ran there last
//! has left them. A thread of C has its own: `door`. In the twin each context is an OS thread.
#![cfg_attr(raddle_twin, allow(dead_code, unused_imports, reason = "`door` uses a part"))]

use crate::runtime;
use raddle::{Runtime, blocking, csp, thread};
use std::ffi::c_int;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;

#[link(name = "m")]
unsafe extern "C" {
    fn fesetround(mode: c_int) -> c_int;
    fn fegetround() -> c_int;
}

pub(crate) const NEAREST: c_int = 0;
pub(crate) const UPWARD: c_int = if cfg!(target_arch = "x86_64") { 0x800 } else { 0x40_0000 };

pub(crate) fn round(mode: c_int) {
    // SAFETY: a mode that there is.
    assert_eq!(unsafe { fesetround(mode) }, 0);
}

pub(crate) fn rounding() -> c_int {
    // SAFETY: no preconditions.
    unsafe { fegetround() }
}

/// The word in which the processor keeps whether denormal numbers count as zero, and the bit.
#[cfg(target_arch = "x86_64")]
fn flush_to_zero(on: bool) {
    const BIT: u32 = 1 << 15;
    let mut word = 0_u32;
    // SAFETY: writes the word.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack)) };
    word = if on { word | BIT } else { word & !BIT };
    // SAFETY: what the processor had, but for a bit that there is.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack)) };
}

#[cfg(target_arch = "aarch64")]
fn flush_to_zero(on: bool) {
    const BIT: u64 = 1 << 24;
    let mut word: u64;
    // SAFETY: reads a register.
    unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) word, options(nostack)) };
    word = if on { word | BIT } else { word & !BIT };
    // SAFETY: what the processor had, but for a bit that there is.
    unsafe { std::arch::asm!("msr fpcr, {}", in(reg) word, options(nostack)) };
}

fn flushes_to_zero() -> bool {
    black_box(f64::MIN_POSITIVE) * black_box(0.5) == 0.0
}

/// Sets both; what else runs on the OS thread finds them so.
fn set(on: bool) {
    round(if on { UPWARD } else { NEAREST });
    flush_to_zero(on);
}

#[track_caller]
fn assert_set(on: bool) {
    assert_eq!((rounding() == UPWARD, flushes_to_zero()), (on, on));
}

fn os_thread() -> libc::pid_t {
    // SAFETY: no preconditions.
    unsafe { libc::gettid() }
}

/// On one worker, whatever runs there and however it waits.
#[cfg(not(raddle_twin))]
#[test]
fn modes_are_the_workers() {
    runtime(1).run(|| {
        assert_set(false);
        csp::spawn(|| set(true)).join().unwrap();
        assert_set(true);
        csp::spawn(|| assert_set(true)).join().unwrap();
        thread::spawn(|| assert_set(true)).join().unwrap();
        csp::sleep(std::time::Duration::from_micros(10));
        assert_set(true);
        raddle::join(|| assert_set(true), || assert_set(true));
        raddle::task::block_on(raddle::task::spawn(async { assert_set(true) })).unwrap();
        // Another OS thread, which has what its maker had when it was made.
        std::thread::spawn(|| assert_set(true)).join().unwrap();
        set(false);
        csp::spawn(|| assert_set(false)).join().unwrap();
        std::thread::spawn(|| assert_set(false)).join().unwrap();
    });
}

/// Who goes on on another worker leaves them behind, and finds that one's.
#[cfg(not(raddle_twin))]
#[test]
fn a_migration_leaves_modes_behind() {
    let moved = Arc::new(AtomicUsize::new(0));
    let runtime = Runtime::builder().workers(2).scatter_threads(true).build().unwrap();
    runtime.run(|| {
        let set_on = os_thread();
        set(true);
        let all: Vec<_> = (0..20)
            .map(|_| {
                let moved = moved.clone();
                csp::spawn(move || {
                    for _ in 0..20 {
                        let here = os_thread();
                        assert_set(here == set_on);
                        csp::yield_now();
                        moved.fetch_add(usize::from(os_thread() != here), Ordering::Relaxed);
                    }
                })
            })
            .collect();
        all.into_iter().for_each(|it| it.join().unwrap());
        assert_set(os_thread() == set_on);
        while os_thread() != set_on {
            csp::yield_now();
        }
        set(false);
    });
    assert!(moved.load(Ordering::Relaxed) > 0, "none has moved");
}

/// A job begins with its worker's, as with Rayon, and keeps its worker.
#[cfg(not(raddle_twin))]
#[test]
fn a_job_finds_its_threads() {
    for prepared in [false, true] {
        let mut pool = raddle::ThreadPoolBuilder::new().num_threads(2);
        if prepared {
            pool = pool.start_handler(|index| set(index == 1));
        }
        let pool = pool.build().unwrap();
        if !prepared {
            pool.broadcast(|context| set(context.index() == 1));
        }
        pool.scope(|s| {
            for _ in 0..200 {
                s.spawn(|_| {
                    assert_set(raddle::current_thread_index() == Some(1));
                    raddle::join(|| (), || ());
                    assert_set(raddle::current_thread_index() == Some(1));
                });
            }
        });
    }
}

/// The spare on which a call is made has its own.
#[cfg(not(raddle_twin))]
#[test]
fn a_call_that_blocks_finds_the_spares() {
    runtime(1).run(|| {
        let (go_on, waits) = channel();
        let is_made = Arc::new(AtomicBool::new(false));
        let makes = is_made.clone();
        let calls = csp::spawn(move || {
            blocking(move || {
                // It may have been made by a worker of another test, that had them set.
                set(false);
                makes.store(true, Ordering::Relaxed);
                waits.recv().unwrap();
                assert_set(false);
            });
            assert_set(true);
        });
        while !is_made.load(Ordering::Relaxed) {
            csp::yield_now();
        }
        // Whoever is made later has its maker's.
        set(true);
        go_on.send(()).unwrap();
        calls.join().unwrap();
        assert_set(true);
        set(false);
    });
}
