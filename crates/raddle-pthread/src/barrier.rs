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
    /// How many have yet to leave a round that is over.
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

    /// The round that the caller belongs to, and whether it has ended that. Who ends it counts all that are to leave,
    /// before they may: one addition for all.
    fn come(&self) -> (u32, bool) {
        let count = self.count.load(Ordering::Relaxed);
        let last = u64::from(count).wrapping_sub(1);
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let is_last = state / ONE_CAME == last;
            let next = if is_last { u64::from((state as u32).wrapping_add(1)) } else { state + ONE_CAME };
            if is_last {
                // Before the exchange, whose release shows it.
                self.inside.fetch_add(count, Ordering::Relaxed);
            }
            // pairs with itself, and with the acquire in `pthread_barrier_wait`: all see what all did before
            match self.state.compare_exchange_weak(state, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return (state as u32, is_last),
                Err(other) => state = other,
            }
            if is_last {
                self.inside.fetch_sub(count, Ordering::Relaxed);
            }
        }
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
