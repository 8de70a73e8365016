//! Owns: how much processor time was spent.
//! May use: `libc`.
//! Never: the time of day.

/// The processor time of this OS thread, in microseconds.
pub(crate) fn processor_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it is written there; that clock every OS thread has.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1000
}
