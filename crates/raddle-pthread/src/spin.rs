//! Owns: `pthread_spin_lock` and the rest: they yield when they have spun for a while.
//! May use: `thread::wait`, `libc`.
//! Never: a sleep.

use crate::thread::wait;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

/// As glibc has it: 1 is free, 0 taken.
const FREE: u32 = 1;
const TAKEN: u32 = 0;

#[unsafe(no_mangle)]
extern "C" fn pthread_spin_init(lock: &AtomicU32, _shared: c_int) -> c_int {
    lock.store(FREE, Ordering::Relaxed);
    0
}

#[unsafe(no_mangle)]
extern "C" fn pthread_spin_destroy(_lock: &AtomicU32) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn pthread_spin_lock(lock: &AtomicU32) -> c_int {
    let mut times = 0;
    // pairs with the release in `pthread_spin_unlock`
    while lock.swap(TAKEN, Ordering::Acquire) != FREE {
        while lock.load(Ordering::Relaxed) != FREE {
            wait::breathe(&mut times);
        }
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn pthread_spin_trylock(lock: &AtomicU32) -> c_int {
    // pairs with the release in `pthread_spin_unlock`
    if lock.swap(TAKEN, Ordering::Acquire) == FREE {
        return 0;
    }
    wait::let_others_run();
    libc::EBUSY
}

#[unsafe(no_mangle)]
extern "C" fn pthread_spin_unlock(lock: &AtomicU32) -> c_int {
    lock.store(FREE, Ordering::Release); // pairs with the acquire in `pthread_spin_lock`
    0
}
