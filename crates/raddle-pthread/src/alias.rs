//! Owns: other names of the same calls, by which older programs know them.
//! May use: `mutex`, `once`, `rwlock`.
//! Never: a call that differs.

use crate::mutex::{self, PthreadMutex};
use crate::once;
use crate::rwlock::{self, RwLock};
use std::ffi::c_int;
use std::sync::atomic::AtomicU32;

macro_rules! aliases {
    ($($name:ident($kind:ty) => $ours:path;)+) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(it: &$kind) -> c_int {
            $ours(it)
        }
    )+};
}

aliases! {
    __pthread_mutex_lock(PthreadMutex) => mutex::pthread_mutex_lock;
    __pthread_mutex_trylock(PthreadMutex) => mutex::pthread_mutex_trylock;
    __pthread_mutex_unlock(PthreadMutex) => mutex::pthread_mutex_unlock;
    __pthread_rwlock_rdlock(RwLock) => rwlock::pthread_rwlock_rdlock;
    __pthread_rwlock_wrlock(RwLock) => rwlock::pthread_rwlock_wrlock;
    __pthread_rwlock_tryrdlock(RwLock) => rwlock::pthread_rwlock_tryrdlock;
    __pthread_rwlock_trywrlock(RwLock) => rwlock::pthread_rwlock_trywrlock;
    __pthread_rwlock_unlock(RwLock) => rwlock::pthread_rwlock_unlock;
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __pthread_once(
    once: &AtomicU32,
    routine: unsafe extern "C-unwind" fn(),
) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { once::pthread_once(once, routine) }
}
