//! Owns: the signal mask of the helpers' OS threads.
//! May use: `libc`.
//! Never: a thread of the program's.

/// The program's signals are for its own threads.
pub(crate) fn block_signals() {
    // SAFETY: a set of bits, for which all zeroes is a value.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: writes the set.
    unsafe { libc::sigfillset(&raw mut all) };
    // SAFETY: reads the set. The C library leaves out what it needs itself.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut()) };
}
