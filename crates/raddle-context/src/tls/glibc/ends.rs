//! Owns: `pthread_exit` and `pthread_cancel`: for threads with storage of their own, an error message.
//! May use: `interpose`, `overflow::handler`, `overflow::writer`, `libc`.
//! Never: a frame of ours between the C library's function and its caller: both unwind.
//!
//! To end a thread from within, glibc unwinds its stack down to a frame of its own at the base, which a thread of ours
//! does not have; it would crash there. Nor could Rust's frames be unwound by it: `std::thread`, too, aborts when a
//! forced unwinding meets its `catch_unwind`. So both are refused, loudly.
//!
//! An adaptor that can end a thread from within, on a base of its own (`crate::foreign`), says so by [`set_ends`]: then
//! the calls for threads of ours are its.
//!
//! As for `pthread_getattr_np` the program's definition of a name comes before a shared library's. Each function here
//! asks where to go on, and jumps there.
//!
//! It uses the C library's, for all others.

use super::{facts, machine};
use crate::interpose::Next;
use crate::overflow::{RawWriter, describe_current};
use core::ffi::{c_int, c_void};
use core::fmt::Write;
use std::sync::OnceLock;

static EXIT: Next = Next::of(c"pthread_exit");
static CANCEL: Next = Next::of(c"pthread_cancel");

/// What an adaptor does in place of the C library, for threads with storage of ours.
#[derive(Clone, Copy, Debug)]
pub struct ThreadEnds {
    /// `pthread_exit`, of the thread that calls.
    pub exit: unsafe extern "C-unwind" fn(*mut c_void) -> !,
    /// `pthread_cancel`, of any.
    pub cancel: unsafe extern "C-unwind" fn(libc::pthread_t) -> c_int,
}

static OURS: OnceLock<ThreadEnds> = OnceLock::new();

/// From now on these are called for threads with storage of ours, which else abort. The first call counts.
pub fn set_ends(ends: ThreadEnds) {
    let _first = OURS.set(ends);
}

/// So that a linker which takes from a library only what is referred to takes these.
pub(super) fn link() {
    let both: [unsafe extern "C" fn(); 2] = [pthread_exit, pthread_cancel];
    core::hint::black_box(both);
}

machine::jumping! {
    /// Ends the calling thread, as the C library's function of this name; aborts in a thread of ours.
    ///
    /// # Safety
    /// As that one's.
    pthread_exit asks after_exit
}

machine::jumping! {
    /// Cancels a thread, as the C library's function of this name; aborts if it is one of ours.
    ///
    /// # Safety
    /// As that one's.
    pthread_cancel asks after_cancel
}

/// Where `pthread_exit` goes on.
extern "C" fn after_exit(_value: *mut c_void) -> *mut c_void {
    if facts::known().is_some_and(|facts| facts.is_ours(machine::thread_pointer())) {
        if let Some(ends) = OURS.get() {
            return ends.exit as *mut c_void;
        }
        let mut out = RawWriter::new();
        let _ = write!(out, "raddle: fatal: `pthread_exit` was called in ");
        describe_current(&mut out);
        let _ = writeln!(
            out,
            ", which it cannot end: there is no frame of the C library's below it; return from the thread's \
             function instead, or panic and have the joiner look at it"
        );
        out.flush();
        std::process::abort();
    }
    EXIT.address()
}

/// Where `pthread_cancel` goes on.
extern "C" fn after_cancel(thread: libc::pthread_t) -> *mut c_void {
    // SAFETY: the caller vouches that the thread lives.
    let is_ours = |facts: &facts::Facts| unsafe { facts.is_descriptor_of_ours(thread as usize) };
    if facts::known().is_some_and(is_ours) {
        if let Some(ends) = OURS.get() {
            return ends.cancel as *mut c_void;
        }
        let mut out = RawWriter::new();
        let _ = writeln!(
            out,
            "raddle: fatal: `pthread_cancel` was called for a thread of Raddle's, which cannot be cancelled: no \
             frame of the C library's could be unwound to; have the thread look at a flag, or end a channel that it \
             reads"
        );
        out.flush();
        std::process::abort();
    }
    CANCEL.address()
}
