//! Owns: `RwLock`, a `pthread_rwlock_t`, and its calls.
//! May use: `thread::told`, `thread::wait`, `libc`, `raddle-core`.
//! Never: a word of memory beyond the program's 56 bytes; one of them after the lock was given back.
//!
//! A short lock over the other words, which is held for some instructions: how many read, whether one writes, how many
//! wait to write; and a number for each side, at which who waits sleeps.

use crate::next::next;
use crate::thread::told::{self, ToldWait};
use crate::thread::wait;
use raddle_core::blocking;
use raddle_core::door::futex::Owner;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// A `pthread_rwlock_t`; `shared` and `flags` are the C library's.
#[repr(C)]
pub(crate) struct RwLock {
    short: AtomicU32,
    readers: AtomicU32,
    writes: AtomicU32,
    writers_wait: AtomicU32,
    readers_wait: AtomicU32,
    read_number: AtomicU32,
    write_number: AtomicU32,
    shared: AtomicU32,
    unused: u64,
    owner: Owner,
    flags: AtomicU32,
    last: AtomicU32,
}

const _: () = assert!(size_of::<RwLock>() == size_of::<libc::pthread_rwlock_t>());

/// `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`.
const PREFERS_WRITERS: u32 = 2;

type RwLockCall = unsafe extern "C" fn(&RwLock) -> c_int;
type RwLockTimed = unsafe extern "C" fn(&RwLock, &libc::timespec) -> c_int;
type RwLockClocked = unsafe extern "C" fn(&RwLock, libc::clockid_t, &libc::timespec) -> c_int;

/// How long to wait.
#[derive(Clone, Copy)]
enum HowLong<'t> {
    Not,
    Ever,
    Until(libc::clockid_t, &'t libc::timespec),
}

fn get(word: &AtomicU32) -> u32 {
    word.load(Ordering::Relaxed)
}

fn add(word: &AtomicU32, by: u32) {
    word.store(get(word).wrapping_add(by), Ordering::Relaxed);
}

fn subtract_one(word: &AtomicU32) {
    word.store(get(word).wrapping_sub(1), Ordering::Relaxed);
}

impl RwLock {
    fn is_of_c(&self) -> bool {
        get(&self.shared) != 0
    }

    fn enter(&self) {
        // pairs with the release in `leave`
        if self.short.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            // pairs with the same
            while self.short.swap(2, Ordering::Acquire) != 0 {
                wait::sleep(&self.short, 2, None, &ToldWait::of(&told::RWLOCK, self));
            }
        }
    }

    fn leave(&self) {
        let word = &raw const self.short;
        // pairs with the acquires in `enter`
        if self.short.swap(0, Ordering::Release) == 2 {
            wait::wake(word, 1);
        }
    }

    fn is_free_to_read(&self) -> bool {
        let prefers_writers = get(&self.flags) == PREFERS_WRITERS;
        get(&self.writes) == 0 && !(prefers_writers && get(&self.writers_wait) > 0)
    }

    fn is_free_to_write(&self) -> bool {
        get(&self.writes) == 0 && get(&self.readers) == 0
    }

    /// Takes it in one of two ways.
    fn take(&self, writes: bool, wait: HowLong<'_>) -> c_int {
        if let HowLong::Until(clock, time) = wait
            && !wait::is_time(clock, time)
        {
            return libc::EINVAL;
        }
        self.enter();
        if get(&self.writes) == 1 && self.owner.is_caller() {
            self.leave();
            return if matches!(wait, HowLong::Not) { libc::EBUSY } else { libc::EDEADLK };
        }
        let is_free = || if writes { self.is_free_to_write() } else { self.is_free_to_read() };
        if !is_free() {
            let error = self.wait_inside(writes, wait, is_free);
            if error != 0 {
                self.leave();
                return error;
            }
        }
        if writes {
            self.writes.store(1, Ordering::Relaxed);
            self.owner.set();
        } else {
            add(&self.readers, 1);
        }
        self.leave();
        0
    }

    /// Within the short lock, which it leaves meanwhile.
    fn wait_inside(&self, writes: bool, wait: HowLong<'_>, is_free: impl Fn() -> bool) -> c_int {
        let until: Option<Instant> = match wait {
            HowLong::Not => return libc::EBUSY,
            HowLong::Ever => None,
            HowLong::Until(clock, time) => match wait::until_by(clock, time) {
                Ok(until) => until,
                Err(error) => return error,
            },
        };
        let (number, waiting) = if writes {
            (&self.write_number, &self.writers_wait)
        } else {
            (&self.read_number, &self.readers_wait)
        };
        add(waiting, 1);
        let mut in_time = true;
        while in_time && !is_free() {
            let seen = get(number);
            self.leave();
            in_time =
                wait::sleep(number, seen, until, &ToldWait::of(&told::RWLOCK, self).held_by(&self.owner));
            self.enter();
        }
        subtract_one(waiting);
        if in_time || is_free() {
            return 0;
        }
        // It may have been what readers waited for, or have been woken in vain.
        self.wake_inside();
        libc::ETIMEDOUT
    }

    /// Within the short lock: wakes who may go on. They take the short lock first, and so wait for the caller.
    fn wake_inside(&self) {
        if get(&self.readers_wait) > 0 && self.is_free_to_read() {
            add(&self.read_number, 1);
            wait::wake(&raw const self.read_number, u32::MAX);
        }
        if get(&self.writers_wait) > 0 && self.is_free_to_write() {
            add(&self.write_number, 1);
            wait::wake(&raw const self.write_number, 1);
        }
    }

    fn give_back(&self) -> c_int {
        self.enter();
        if get(&self.writes) == 1 {
            self.owner.clear();
            self.writes.store(0, Ordering::Relaxed);
        } else if get(&self.readers) > 0 {
            subtract_one(&self.readers);
        }
        self.wake_inside();
        self.leave();
        0
    }
}

/// As the C library's, which knows the attributes.
#[unsafe(no_mangle)]
extern "C" fn pthread_rwlock_init(lock: &RwLock, attributes: *const libc::pthread_rwlockattr_t) -> c_int {
    type RwLockInit = unsafe extern "C" fn(&RwLock, *const libc::pthread_rwlockattr_t) -> c_int;
    // SAFETY: the caller's arguments.
    unsafe { next!(c"pthread_rwlock_init": RwLockInit)(lock, attributes) }
}

#[unsafe(no_mangle)]
extern "C" fn pthread_rwlock_destroy(_lock: &RwLock) -> c_int {
    0
}

macro_rules! plain {
    ($($name:ident, $string:literal, $writes:literal, $wait:expr;)+) => {$(
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name(lock: &RwLock) -> c_int {
            if lock.is_of_c() {
                let next = next!($string: RwLockCall);
                // SAFETY: the caller's argument.
                return blocking(|| unsafe { next(lock) });
            }
            let answer = lock.take($writes, $wait);
            if answer == libc::EBUSY {
                wait::let_others_run();
            }
            answer
        }
    )+};
}

plain! {
    pthread_rwlock_rdlock, c"pthread_rwlock_rdlock", false, HowLong::Ever;
    pthread_rwlock_wrlock, c"pthread_rwlock_wrlock", true, HowLong::Ever;
    pthread_rwlock_tryrdlock, c"pthread_rwlock_tryrdlock", false, HowLong::Not;
    pthread_rwlock_trywrlock, c"pthread_rwlock_trywrlock", true, HowLong::Not;
}

macro_rules! timed {
    ($($name:ident, $string:literal, $clocked:ident, $clocked_string:literal, $writes:literal;)+) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(lock: &RwLock, time: &libc::timespec) -> c_int {
            if lock.is_of_c() {
                let next = next!($string: RwLockTimed);
                // SAFETY: the caller's arguments.
                return blocking(|| unsafe { next(lock, time) });
            }
            lock.take($writes, HowLong::Until(libc::CLOCK_REALTIME, time))
        }

        #[unsafe(no_mangle)]
        extern "C" fn $clocked(lock: &RwLock, clock: libc::clockid_t, time: &libc::timespec) -> c_int {
            if lock.is_of_c() {
                let next = next!($clocked_string: RwLockClocked);
                // SAFETY: the caller's arguments.
                return blocking(|| unsafe { next(lock, clock, time) });
            }
            lock.take($writes, HowLong::Until(clock, time))
        }
    )+};
}

timed! {
    pthread_rwlock_timedrdlock, c"pthread_rwlock_timedrdlock",
        pthread_rwlock_clockrdlock, c"pthread_rwlock_clockrdlock", false;
    pthread_rwlock_timedwrlock, c"pthread_rwlock_timedwrlock",
        pthread_rwlock_clockwrlock, c"pthread_rwlock_clockwrlock", true;
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn pthread_rwlock_unlock(lock: &RwLock) -> c_int {
    if lock.is_of_c() {
        // SAFETY: the caller's argument.
        return unsafe { next!(c"pthread_rwlock_unlock": RwLockCall)(lock) };
    }
    lock.give_back()
}
