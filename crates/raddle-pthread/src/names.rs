//! Owns: what is known of a thread besides: its name, its clock.
//! May use: `report`, `thread::record`, `libc`, `raddle-core`.
//! Never: a change for the worker, which others run on.

use crate::next::next;
use crate::report;
use crate::thread::record;
use raddle_core::door::thread::pthread_self;
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::Ordering;

type Pthread = libc::pthread_t;

/// A name has so many bytes, with the zero.
const NAME: usize = 16;

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setname_np(thread: Pthread, name: *const c_char) -> c_int {
    type SetOfThread = unsafe extern "C" fn(Pthread, *const c_char) -> c_int;
    let Some(record) = record::of(thread) else {
        // SAFETY: the caller's arguments.
        return unsafe { next!(c"pthread_setname_np": SetOfThread)(thread, name) };
    };
    // SAFETY: the caller's string.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes_with_nul();
    if name.len() > NAME {
        return libc::ERANGE;
    }
    record.name.iter().zip(name).for_each(|(place, &byte)| place.store(byte, Ordering::Relaxed));
    0
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getname_np(thread: Pthread, name: *mut c_char, bytes: usize) -> c_int {
    type Get = unsafe extern "C" fn(Pthread, *mut c_char, usize) -> c_int;
    let Some(record) = record::of(thread) else {
        // SAFETY: the caller's arguments.
        return unsafe { next!(c"pthread_getname_np": Get)(thread, name, bytes) };
    };
    if bytes < NAME {
        return libc::ERANGE;
    }
    // SAFETY: the caller's memory, of at least so many bytes.
    let place = unsafe { std::slice::from_raw_parts_mut(name.cast::<u8>(), NAME) };
    place.iter_mut().zip(&record.name).for_each(|(place, byte)| *place = byte.load(Ordering::Relaxed));
    if place[0] == 0 {
        let program = program_name();
        place[..program.len()].copy_from_slice(&program);
    }
    0
}

/// What a thread without a name of its own is called: the program.
fn program_name() -> Vec<u8> {
    let mut name = std::fs::read("/proc/self/comm").unwrap_or_default();
    name.retain(|&byte| byte != b'\n');
    name.truncate(NAME - 1);
    name
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getcpuclockid(thread: Pthread, clock: &mut libc::clockid_t) -> c_int {
    type Get = unsafe extern "C" fn(Pthread, &mut libc::clockid_t) -> c_int;
    if record::of(thread).is_none() {
        // SAFETY: the caller's arguments.
        return unsafe { next!(c"pthread_getcpuclockid": Get)(thread, clock) };
    }
    report::once("clocks of threads count all that their worker has run");
    let is_own = thread as usize == pthread_self();
    *clock = if is_own { libc::CLOCK_THREAD_CPUTIME_ID } else { libc::CLOCK_PROCESS_CPUTIME_ID };
    0
}
