//! Owns: `PthreadSemaphore`, a `sem_t` of one program's, and its calls.
//! May use: `errno`, `thread`, `libc`, `raddle-core`.
//! Never: one that is shared with other programs, or has a name: those are the C library's.

use crate::errno::fail;
use crate::next::next;
use crate::thread::cancel;
use crate::thread::told::{self, ToldWait};
use crate::thread::wait::{self, Handlers, PointEnd};
use raddle_core::blocking;
use std::ffi::{c_int, c_uint};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

/// A `sem_t`, as the C library has it: the value below, how many wait above; whether it is shared.
#[repr(C)]
pub(crate) struct PthreadSemaphore {
    data: AtomicU64,
    shared: AtomicU32,
    last: [AtomicU32; 5],
}

const _: () = assert!(size_of::<PthreadSemaphore>() == size_of::<libc::sem_t>());

const ONE_WAITS: u64 = 1 << 32;

type SemCall = unsafe extern "C" fn(&PthreadSemaphore) -> c_int;
type SemTimed = unsafe extern "C" fn(&PthreadSemaphore, &libc::timespec) -> c_int;
type SemClocked = unsafe extern "C" fn(&PthreadSemaphore, libc::clockid_t, &libc::timespec) -> c_int;

impl PthreadSemaphore {
    fn is_of_c(&self) -> bool {
        self.shared.load(Ordering::Relaxed) != 0
    }

    fn value(&self) -> &AtomicU32 {
        // SAFETY: the low half of the word comes first; both are atomic.
        unsafe { AtomicU32::from_ptr(self.data.as_ptr().cast()) }
    }

    /// Takes one; of those who wait if `waits`.
    fn take(&self, waits: u64) -> bool {
        let take = |data: u64| (data as u32 != 0).then(|| data - 1 - waits);
        // pairs with the release in `sem_post`
        self.data.fetch_update(Ordering::Acquire, Ordering::Relaxed, take).is_ok()
    }

    fn wait(&self, until: Option<Instant>) -> PointEnd {
        let told = ToldWait::of(&told::SEMAPHORE, self);
        self.data.fetch_add(ONE_WAITS, Ordering::Relaxed);
        loop {
            if self.take(ONE_WAITS) {
                return PointEnd::Woken;
            }
            let ended = wait::sleep_at_point(self.value(), 0, until, (Handlers::Breaking, &told));
            if ended != PointEnd::Woken {
                let left = self.data.fetch_sub(ONE_WAITS, Ordering::Relaxed) - ONE_WAITS;
                if left >= ONE_WAITS && left as u32 != 0 {
                    // It may have been woken by a post, too, which then is another's.
                    wait::wake(std::ptr::from_ref(self.value()), 1);
                }
                return ended;
            }
        }
    }
}

fn wait_by(semaphore: &PthreadSemaphore, until: impl FnOnce() -> Result<Option<Instant>, c_int>) -> c_int {
    cancel::point();
    if semaphore.take(0) {
        return 0;
    }
    match until().map(|until| semaphore.wait(until)) {
        Ok(PointEnd::Woken) => 0,
        Ok(PointEnd::TimedOut) => fail(libc::ETIMEDOUT),
        Ok(PointEnd::Interrupted) => fail(libc::EINTR),
        Ok(PointEnd::Cancelled) => cancel::cancel_here(),
        Err(error) => fail(error),
    }
}

fn wait_until(semaphore: &PthreadSemaphore, clock: libc::clockid_t, time: &libc::timespec) -> c_int {
    // As the C library has it, also who need not wait must know a time.
    if wait::is_time(clock, time) {
        wait_by(semaphore, || wait::until_by(clock, time))
    } else {
        fail(libc::EINVAL)
    }
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn sem_init(semaphore: &PthreadSemaphore, shared: c_int, value: c_uint) -> c_int {
    type SemInit = unsafe extern "C" fn(&PthreadSemaphore, c_int, c_uint) -> c_int;
    // SAFETY: the caller's arguments.
    unsafe { next!(c"sem_init": SemInit)(semaphore, shared, value) }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn sem_wait(semaphore: &PthreadSemaphore) -> c_int {
    if semaphore.is_of_c() {
        let next = next!(c"sem_wait": SemCall);
        // SAFETY: the caller's argument.
        return blocking(|| unsafe { next(semaphore) });
    }
    wait_by(semaphore, || Ok(None))
}

#[unsafe(no_mangle)]
extern "C" fn sem_trywait(semaphore: &PthreadSemaphore) -> c_int {
    if semaphore.take(0) {
        return 0;
    }
    wait::let_others_run();
    fail(libc::EAGAIN)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn sem_timedwait(semaphore: &PthreadSemaphore, time: &libc::timespec) -> c_int {
    if semaphore.is_of_c() {
        let next = next!(c"sem_timedwait": SemTimed);
        // SAFETY: the caller's arguments.
        return blocking(|| unsafe { next(semaphore, time) });
    }
    wait_until(semaphore, libc::CLOCK_REALTIME, time)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn sem_clockwait(
    semaphore: &PthreadSemaphore,
    clock: libc::clockid_t,
    time: &libc::timespec,
) -> c_int {
    if semaphore.is_of_c() {
        let next = next!(c"sem_clockwait": SemClocked);
        // SAFETY: the caller's arguments.
        return blocking(|| unsafe { next(semaphore, clock, time) });
    }
    wait_until(semaphore, clock, time)
}

#[unsafe(no_mangle)]
extern "C" fn sem_post(semaphore: &PthreadSemaphore) -> c_int {
    if semaphore.is_of_c() {
        // SAFETY: the caller's argument.
        return unsafe { next!(c"sem_post": SemCall)(semaphore) };
    }
    const MOST: u32 = c_int::MAX as u32;
    let word = std::ptr::from_ref(semaphore.value());
    let add = |data: u64| (data as u32 != MOST).then(|| data + 1);
    // pairs with the acquire in `take`; the semaphore may be gone from here on
    match semaphore.data.fetch_update(Ordering::Release, Ordering::Relaxed, add) {
        Ok(data) => {
            if data >= ONE_WAITS {
                wait::wake(word, 1);
            }
            0
        }
        Err(_) => fail(libc::EOVERFLOW),
    }
}
