//! Owns: `PthreadBarrier`, a `pthread_barrier_t`, and its calls.
//! May use: `thread::told`, `thread::wait`, `libc`, `raddle-core`.
//! Never: a barrier that is gone before all have left it.

use crate::next::next;
use crate::thread::told::{self, ToldWait};
use crate::thread::wait;
use raddle_core::blocking;
use std::ffi::{c_int, c_uint};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A `pthread_barrier_t`; the fourth word is the C library's: whether it is shared with other programs.
#[repr(C)]
pub(crate) struct PthreadBarrier {
    /// The number of the round below, at which who waits sleeps; how many have come above. One word: who comes when
    /// the last one of a round has just come belongs to the next round, as more threads than `count` may use it.
    state: AtomicU64,
    count: AtomicU32,
    shared: AtomicU32,
    /// How many are inside.
    inside: AtomicU32,
    last: [AtomicU32; 3],
}

const _: () = assert!(size_of::<PthreadBarrier>() == size_of::<libc::pthread_barrier_t>());

const ONE_CAME: u64 = 1 << 32;

impl PthreadBarrier {
    fn round(&self) -> &AtomicU32 {
        // SAFETY: the low half of the word comes first; both are atomic.
        unsafe { AtomicU32::from_ptr(self.state.as_ptr().cast()) }
    }

    /// The round that the caller belongs to, and whether it has ended that.
    fn come(&self) -> (u32, bool) {
        let last = u64::from(self.count.load(Ordering::Relaxed)).wrapping_sub(1);
        let is_last = |state: u64| state / ONE_CAME == last;
        let next = |state: u64| {
            Some(if is_last(state) { u64::from((state as u32).wrapping_add(1)) } else { state + ONE_CAME })
        };
        // pairs with itself, and with the acquire in `pthread_barrier_wait`: all see what all did before
        let before = self.state.fetch_update(Ordering::AcqRel, Ordering::Relaxed, next);
        let (Ok(before) | Err(before)) = before;
        (before as u32, is_last(before))
    }
}

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
        barrier.state.store(0, Ordering::Relaxed);
        barrier.count.store(count, Ordering::Relaxed);
        barrier.inside.store(0, Ordering::Relaxed);
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
    let (round, is_last) = barrier.come();
    let word = barrier.round();
    if is_last {
        wait::wake(std::ptr::from_ref(word), u32::MAX);
    } else {
        // pairs with the release in `come`
        while word.load(Ordering::Acquire) == round {
            wait::sleep(word, round, None, &ToldWait::of(&told::BARRIER, barrier));
        }
    }
    barrier.inside.fetch_sub(1, Ordering::Release); // pairs with the acquire in `pthread_barrier_destroy`
    if is_last { libc::PTHREAD_BARRIER_SERIAL_THREAD } else { 0 }
}
