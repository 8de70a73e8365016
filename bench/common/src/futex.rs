//! Owns: the futex system call: wait and wake on a word.
//! May use: the futex system call.
//! Never: spinning; it is the floor for a runtime's own wake.

use std::sync::atomic::AtomicU32;

/// Sleeps while `word` is `expected`; may return early.
pub fn wait(word: &AtomicU32, expected: u32) {
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    let timeout = std::ptr::null::<libc::timespec>();
    // SAFETY: the word outlives the call, and a null time-out means none.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, expected, timeout) };
}

/// Wakes one thread that waits on `word`.
pub fn wake(word: &AtomicU32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word outlives the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 1) };
}
