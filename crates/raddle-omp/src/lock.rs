//! Owns: locks of the program's: critical names, `omp_lock_t`, `omp_nest_lock_t`.
//! May use: `abi`, `engine::member`, `wait`, `raddle-core`.
//! Never: a lock of the runtime's own.
//!
//! gcc's `omp_lock_t` has four bytes, clang's eight: a futex word fits into both. A nested lock is an address of what
//! it needs; gcc's type has sixteen bytes, clang's eight.

use crate::abi::At;
use crate::engine::member::{Member, me};
use crate::wait;
use raddle_core::door::futex;
use raddle_core::wait::{CallOn, Subject, WaitReason};
use std::cell::Cell;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// The word that the program has for a lock.
pub(crate) fn word(lock: At<u32>) -> &'static AtomicU32 {
    // SAFETY: the program keeps the lock for as long as anybody uses it.
    unsafe { AtomicU32::from_ptr(lock.pointer()) }
}

/// A lock of the program's that a member waits for.
struct WantedLock {
    word: usize,
    member: &'static Member,
}

impl Subject for WantedLock {
    const KIND: &'static str = "region";

    fn address(&self) -> *const () {
        std::ptr::without_provenance(self.word)
    }

    fn state(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        self.member.write_place(out)
    }
}

/// Takes a lock, and says in reports in which region the caller waits for it.
#[inline]
pub(crate) fn take(word: &AtomicU32) {
    static LOCK: CallOn<WantedLock> = CallOn::new("a lock", WaitReason::Lock);
    wait::lock(word, |word, seen| {
        let wanted = WantedLock { word: std::ptr::from_ref(word).addr(), member: me() };
        let _ = futex::wait_in(word, seen, None, (&LOCK, &wanted, Location::caller()));
    });
}

pub(crate) struct Nested {
    word: AtomicU32,
    /// The task that has it.
    owner: AtomicUsize,
    count: Cell<i32>,
}

fn nested(lock: At<*mut Nested>) -> &'static Nested {
    // SAFETY: made by `init`, and kept until the program destroys it.
    unsafe { &*lock.get() }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_init_lock(lock: At<u32>) {
    lock.set(0);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_init_lock_with_hint(lock: At<u32>, _: u32) {
    lock.set(0);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_destroy_lock(_: At<u32>) {}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn omp_set_lock(lock: At<u32>) {
    take(word(lock));
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn omp_unset_lock(lock: At<u32>) {
    wait::unlock(word(lock));
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn omp_test_lock(lock: At<u32>) -> i32 {
    wait::try_lock(word(lock)).into()
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn omp_init_nest_lock(lock: At<*mut Nested>) {
    let made = Nested { word: AtomicU32::new(0), owner: AtomicUsize::new(0), count: Cell::new(0) };
    lock.set(Box::into_raw(Box::new(made)));
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_init_nest_lock_with_hint(lock: At<*mut Nested>, _: u32) {
    omp_init_nest_lock(lock);
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn omp_destroy_nest_lock(lock: At<*mut Nested>) {
    // SAFETY: made by `init`, and the program has it no more.
    drop(unsafe { Box::from_raw(lock.get()) });
}

fn caller() -> usize {
    me().task.get().addr()
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn omp_set_nest_lock(lock: At<*mut Nested>) {
    let lock = nested(lock);
    if lock.owner.load(Ordering::Relaxed) != caller() {
        take(&lock.word);
        lock.owner.store(caller(), Ordering::Relaxed);
    }
    lock.count.set(lock.count.get() + 1);
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn omp_unset_nest_lock(lock: At<*mut Nested>) {
    let lock = nested(lock);
    lock.count.set(lock.count.get() - 1);
    if lock.count.get() == 0 {
        lock.owner.store(0, Ordering::Relaxed);
        wait::unlock(&lock.word);
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn omp_test_nest_lock(lock: At<*mut Nested>) -> i32 {
    let lock = nested(lock);
    if lock.owner.load(Ordering::Relaxed) != caller() {
        if !wait::try_lock(&lock.word) {
            return 0;
        }
        lock.owner.store(caller(), Ordering::Relaxed);
    }
    lock.count.set(lock.count.get() + 1);
    lock.count.get()
}
