//! Owns: `PthreadBarrier`, a `pthread_barrier_t`, and its calls.
//! May use: `thread::wait`, `libc`, `raddle-core`.
//! Never: a barrier that is gone before all have left it.

use crate::next::next;
use crate::thread::wait;
use raddle_core::blocking;
use std::ffi::{c_int, c_uint};
use std::sync::atomic::{AtomicU32, Ordering};

/// A `pthread_barrier_t`; the fourth word is the C library's: whether it is shared with other programs.
#[repr(C)]
pub(crate) struct PthreadBarrier {
    round: AtomicU32,
    /// How many have yet to come.
    left: AtomicU32,
    count: AtomicU32,
    shared: AtomicU32,
    /// How many are inside.
    inside: AtomicU32,
    last: [AtomicU32; 3],
}

const _: () = assert!(size_of::<PthreadBarrier>() == size_of::<libc::pthread_barrier_t>());

type BarrierInit = unsafe extern "C" fn(&PthreadBarrier, *const libc::pthread_barrierattr_t, c_uint) -> c_int;
type BarrierCall = unsafe extern "C" fn(&PthreadBarrier) -> c_int;

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_barrier_init(
    barrier: &PthreadBarrier,
    attributes: *const libc::pthread_barrierattr_t,
    count: c_uint,
) -> c_int {
    // SAFETY: the caller's arguments.
    let answer = unsafe { next!(c"pthread_barrier_init": BarrierInit)(barrier, attributes, count) };
    if answer == 0 && barrier.shared.load(Ordering::Relaxed) == 0 {
        for (word, value) in
            [(&barrier.round, 0), (&barrier.left, count), (&barrier.count, count), (&barrier.inside, 0)]
        {
            word.store(value, Ordering::Relaxed);
        }
    }
    answer
}

#[unsafe(no_mangle)]
extern "C" fn pthread_barrier_destroy(barrier: &PthreadBarrier) -> c_int {
    if barrier.shared.load(Ordering::Relaxed) != 0 {
        let next = next!(c"pthread_barrier_destroy": BarrierCall);
        // SAFETY: the caller's argument.
        return blocking(|| unsafe { next(barrier) });
    }
    let mut times = 0;
    // pairs with the release in `pthread_barrier_wait`
    while barrier.inside.load(Ordering::Acquire) != 0 {
        wait::breathe(&mut times);
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn pthread_barrier_wait(barrier: &PthreadBarrier) -> c_int {
    if barrier.shared.load(Ordering::Relaxed) != 0 {
        let next = next!(c"pthread_barrier_wait": BarrierCall);
        // SAFETY: the caller's argument.
        return blocking(|| unsafe { next(barrier) });
    }
    barrier.inside.fetch_add(1, Ordering::Relaxed);
    let round = barrier.round.load(Ordering::Relaxed);
    // pairs with itself: the last one sees what the others did
    let is_last = barrier.left.fetch_sub(1, Ordering::AcqRel) == 1;
    if is_last {
        barrier.left.store(barrier.count.load(Ordering::Relaxed), Ordering::Relaxed);
        barrier.round.store(round.wrapping_add(1), Ordering::Release); // pairs with the acquire below
        wait::wake(&raw const barrier.round, u32::MAX);
    } else {
        // pairs with the release above
        while barrier.round.load(Ordering::Acquire) == round {
            wait::sleep(&barrier.round, round, None, None);
        }
    }
    barrier.inside.fetch_sub(1, Ordering::Release); // pairs with the acquire in `pthread_barrier_destroy`
    if is_last { libc::PTHREAD_BARRIER_SERIAL_THREAD } else { 0 }
}
