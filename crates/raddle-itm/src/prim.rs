//! Owns: the atomics of the protocol, which are loom's in the models; and a sleep on one of them.
//! May use: `model`, `libc`, `loom`.
//! Never: a policy.
//!
//! It holds `unsafe` for the system call, with an address that is an atomic's.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Sleeps until woken, if the lower half of `word` is still that of `seen`. May return early.
///
/// The C library's `syscall` is called, and not the kernel: where POSIX threads are Raddle's they sleep in the
/// scheduler.
#[cfg(not(loom))]
pub(crate) fn sleep(word: &AtomicU64, seen: u64) {
    #[expect(clippy::cast_possible_truncation, reason = "the lower half, which the kernel compares")]
    sleep_at(word.as_ptr().cast(), seen as u32);
}

/// Wakes all who sleep on `word`.
#[cfg(not(loom))]
pub(crate) fn wake(word: &AtomicU64) {
    wake_at(word.as_ptr().cast());
}

/// As [`sleep`], on a word of half the size.
#[cfg(not(loom))]
pub(crate) fn sleep_at(word: *mut u32, seen: u32) {
    let wait = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the kernel reads an atomic's word; without a time it is told of none.
    unsafe { libc::syscall(libc::SYS_futex, word, wait, seen, std::ptr::null::<libc::timespec>()) };
}

/// As [`wake`].
#[cfg(not(loom))]
pub(crate) fn wake_at(word: *mut u32) {
    let wake = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the kernel compares an address.
    unsafe { libc::syscall(libc::SYS_futex, word, wake, i32::MAX) };
}

/// A sleep on a futex, for loom: it knows of no time, and so of no sleep that nothing ends.
#[cfg(loom)]
pub(crate) fn sleep(word: &AtomicU64, seen: u64) {
    crate::model::sleep(word, seen);
}

#[cfg(loom)]
pub(crate) fn wake(_word: &AtomicU64) {
    crate::model::wake();
}
