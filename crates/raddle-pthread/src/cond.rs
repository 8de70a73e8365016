//! Owns: `Cond`, a `pthread_cond_t`, and its calls.
//! May use: `mutex`, `thread`, `libc`, `raddle-core`.
//! Never: a word of memory beyond the program's 48 bytes; one that a waiter touches after `pthread_cond_destroy`.
//!
//! A number that each signal changes, at which who waits sleeps. A waiter reads it, *then* says that somebody waits,
//! then gives the mutex up and sleeps while the number is the same: a broadcast, which says that nobody waits any more
//! and then changes the number, so either wakes it or is seen by it; and what begins to wait after the change says so
//! anew. A variable may be destroyed as soon as all are woken; but one who has given the mutex up may not have looked
//! at the number yet, so that a destroyer waits until all who came have left. Who signals touches nothing after its
//! change.

use crate::mutex::PthreadMutex;
use crate::next::next;
use crate::thread::cancel;
use crate::thread::told::{self, ToldWait};
use crate::thread::wait::{self, Handlers, PointEnd};
use raddle_core::blocking;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Instant;

/// A `pthread_cond_t`.
#[repr(C)]
pub(crate) struct Cond {
    number: AtomicU32,
    /// Whether somebody may wait.
    waits: AtomicU32,
    /// How many may still look at the number.
    inside: AtomicU32,
    unused: [AtomicU32; 6],
    /// As the C library's: [`SHARED`], [`MONOTONIC`].
    flags: AtomicU32,
    last: [AtomicU32; 2],
}

const _: () = assert!(size_of::<Cond>() == size_of::<libc::pthread_cond_t>());

const SHARED: u32 = 1;
const MONOTONIC: u32 = 2;

type CondCall = unsafe extern "C" fn(&Cond) -> c_int;
type CondWait = unsafe extern "C" fn(&Cond, &PthreadMutex) -> c_int;
type CondTimed = unsafe extern "C" fn(&Cond, &PthreadMutex, &libc::timespec) -> c_int;
type CondClocked = unsafe extern "C" fn(&Cond, &PthreadMutex, libc::clockid_t, &libc::timespec) -> c_int;

impl Cond {
    fn is_of_c(&self) -> bool {
        self.flags.load(Ordering::Relaxed) & SHARED != 0
    }

    fn clock(&self) -> libc::clockid_t {
        if self.flags.load(Ordering::Relaxed) & MONOTONIC != 0 {
            libc::CLOCK_MONOTONIC
        } else {
            libc::CLOCK_REALTIME
        }
    }

    fn wait(&self, mutex: &PthreadMutex, until: Option<Instant>) -> Result<PointEnd, c_int> {
        let seen = self.number.load(Ordering::Relaxed);
        fence(Ordering::SeqCst); // pairs with the one in `wake`
        self.waits.store(1, Ordering::Release); // pairs with the acquire in `wake`
        self.inside.fetch_add(1, Ordering::Relaxed);
        let given_up = mutex.give_up();
        let word = &raw const self.number;
        let told = ToldWait::of(&told::COND, self);
        let ended =
            given_up.map(|_| wait::sleep_at_point(&self.number, seen, until, (Handlers::None, &told)));
        self.inside.fetch_sub(1, Ordering::Release); // pairs with the acquire in `pthread_cond_destroy`
        if ended == Ok(PointEnd::Cancelled) {
            // It may have been woken by a signal, too, which then is another's.
            wait::wake(word, 1);
        }
        match mutex.take_back(given_up?) {
            0 => ended,
            // A cancellation goes on whatever has become of the mutex.
            _ if ended == Ok(PointEnd::Cancelled) => ended,
            error => Err(error),
        }
    }

    fn wake(&self, all: bool) {
        fence(Ordering::SeqCst); // pairs with the one in `wait`
        // pairs with the release in `wait`
        if self.waits.load(Ordering::Acquire) == 0 {
            return;
        }
        if all {
            self.waits.store(0, Ordering::Relaxed);
            fence(Ordering::SeqCst); // pairs with the one in `wait`
        }
        let word = &raw const self.number;
        self.number.fetch_add(1, Ordering::Relaxed);
        wait::wake(word, if all { u32::MAX } else { 1 });
    }
}

/// As the C library's, which knows the attributes.
#[unsafe(no_mangle)]
extern "C" fn pthread_cond_init(cond: &Cond, attributes: *const libc::pthread_condattr_t) -> c_int {
    type CondInit = unsafe extern "C" fn(&Cond, *const libc::pthread_condattr_t) -> c_int;
    // SAFETY: the caller's arguments.
    unsafe { next!(c"pthread_cond_init": CondInit)(cond, attributes) }
}

#[unsafe(no_mangle)]
extern "C" fn pthread_cond_destroy(cond: &Cond) -> c_int {
    if cond.is_of_c() {
        let next = next!(c"pthread_cond_destroy": CondCall);
        // SAFETY: the caller's argument.
        return blocking(|| unsafe { next(cond) });
    }
    // Who was woken a moment ago may have to look at the number still.
    let mut times = 0;
    // pairs with the release in `wait`
    while cond.inside.load(Ordering::Acquire) != 0 {
        wait::breathe(&mut times);
    }
    0
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn pthread_cond_signal(cond: &Cond) -> c_int {
    if cond.is_of_c() {
        // SAFETY: the caller's argument.
        return unsafe { next!(c"pthread_cond_signal": CondCall)(cond) };
    }
    cond.wake(false);
    0
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn pthread_cond_broadcast(cond: &Cond) -> c_int {
    if cond.is_of_c() {
        // SAFETY: the caller's argument.
        return unsafe { next!(c"pthread_cond_broadcast": CondCall)(cond) };
    }
    cond.wake(true);
    0
}

/// A wait of the C library's, on a spare OS thread. A robust mutex that is shared is lent to it meanwhile.
fn wait_of_c(mutex: &PthreadMutex, wait: impl FnOnce() -> c_int + Send) -> c_int {
    let Some(shared) = mutex.shared() else { return blocking(wait) };
    if !shared.lend() {
        return libc::EPERM;
    }
    let answer = blocking(wait);
    shared.take_back();
    answer
}

fn ended(result: Result<PointEnd, c_int>) -> c_int {
    match result {
        Ok(PointEnd::Woken | PointEnd::Interrupted) => 0,
        Ok(PointEnd::TimedOut) => libc::ETIMEDOUT,
        Ok(PointEnd::Cancelled) => cancel::cancel_here(),
        Err(error) => error,
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn pthread_cond_wait(cond: &Cond, mutex: &PthreadMutex) -> c_int {
    cancel::point();
    if cond.is_of_c() {
        let next = next!(c"pthread_cond_wait": CondWait);
        // SAFETY: the caller's arguments.
        return wait_of_c(mutex, || unsafe { next(cond, mutex) });
    }
    ended(cond.wait(mutex, None))
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn pthread_cond_timedwait(
    cond: &Cond,
    mutex: &PthreadMutex,
    time: &libc::timespec,
) -> c_int {
    cancel::point();
    if cond.is_of_c() {
        let next = next!(c"pthread_cond_timedwait": CondTimed);
        // SAFETY: the caller's arguments.
        return wait_of_c(mutex, || unsafe { next(cond, mutex, time) });
    }
    let until = wait::until(cond.clock(), time);
    ended(until.and_then(|until| cond.wait(mutex, until)))
}

#[unsafe(no_mangle)]
extern "C-unwind" fn pthread_cond_clockwait(
    cond: &Cond,
    mutex: &PthreadMutex,
    clock: libc::clockid_t,
    time: &libc::timespec,
) -> c_int {
    cancel::point();
    if cond.is_of_c() {
        let next = next!(c"pthread_cond_clockwait": CondClocked);
        // SAFETY: the caller's arguments.
        return wait_of_c(mutex, || unsafe { next(cond, mutex, clock, time) });
    }
    let until = wait::until_by(clock, time);
    ended(until.and_then(|until| cond.wait(mutex, until)))
}
