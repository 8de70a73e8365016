//! Owns: where the stack of the calling OS thread lies.
//! May use: `orphan`, `libc`, `raddle-syscall`.
//! Never: a list of all mappings read for the program's first stack, if the loader says where it began.
//!
//! It uses the C library's list of OS threads.

use crate::orphan;
use std::ops::Range;

/// The program's first stack, if the calling OS thread is the one that has it. The C library would read a list of all
/// mappings for it (PERF: 50 us).
#[cfg(target_env = "gnu")]
fn first_stack() -> Option<Range<usize>> {
    // SAFETY: the loader exports it under that name and with that type, for debuggers among others.
    unsafe extern "C" {
        /// Where the program's first stack began, as glibc's loader found it.
        #[link_name = "__libc_stack_end"]
        static STACK_END: *const u8;
    }
    let thread = raddle_syscall::thread_number();
    // SAFETY: as above.
    if thread != unsafe { libc::getpid() } || orphan::generation() != 0 {
        return None;
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes the limits.
    if unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) } != 0 {
        return None;
    }
    // SAFETY: written before the program began.
    let end = unsafe { STACK_END }.addr();
    let bytes = usize::try_from(limit.rlim_cur).ok().filter(|&bytes| bytes < end)?;
    let here = std::ptr::from_ref(&limit).addr();
    (end - bytes..end).contains(&here).then_some(end - bytes..end)
}

#[cfg(not(target_env = "gnu"))]
fn first_stack() -> Option<Range<usize>> {
    None
}

/// The stack of the calling OS thread, on which it runs; empty if it is not known.
pub(super) fn own_stack() -> Range<usize> {
    if let Some(first) = first_stack() {
        return first;
    }
    // SAFETY: all zeroes is a value of this struct.
    let mut attributes: libc::pthread_attr_t = unsafe { std::mem::zeroed() };
    // SAFETY: touches no memory of ours.
    let own = unsafe { libc::pthread_self() };
    // SAFETY: writes the attributes, which are destroyed below.
    if unsafe { libc::pthread_getattr_np(own, &raw mut attributes) } != 0 {
        return 0..0;
    }
    let (mut begin, mut bytes) = (std::ptr::null_mut(), 0);
    // SAFETY: reads the attributes, and writes the two.
    let known = unsafe { libc::pthread_attr_getstack(&raw const attributes, &raw mut begin, &raw mut bytes) };
    // SAFETY: made above.
    unsafe { libc::pthread_attr_destroy(&raw mut attributes) };
    if known == 0 { begin.addr()..begin.addr() + bytes } else { 0..0 }
}
