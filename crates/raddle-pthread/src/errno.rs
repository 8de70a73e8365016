//! Owns: `errno`, and answers of C: zero, or minus one with a number in `errno`.
//! May use: `libc`, `raddle-syscall`.
//! Never: another thread's.

use raddle_syscall::Errno;
use std::ffi::{c_int, c_long};

/// Sets the caller's `errno`; minus one.
pub(crate) fn fail(number: c_int) -> c_int {
    // SAFETY: the address of the caller's variable.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { errno.write(number) };
    -1
}

/// The caller's `errno`.
pub(crate) fn last() -> c_int {
    // SAFETY: the address of the caller's variable.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { errno.read() }
}

/// What a call of the C library's returns for an answer of the kernel's.
pub(crate) fn answer(answer: Result<usize, Errno>) -> c_long {
    match answer {
        Ok(answer) => answer as c_long,
        Err(Errno(number)) => fail(number).into(),
    }
}
