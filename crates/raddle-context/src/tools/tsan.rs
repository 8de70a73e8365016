//! Owns: the calls that tell ThreadSanitizer of contexts and switches.
//! May use: `arch::machine`, `context`, `stack`, `tls::world`, `libc`.
//! Never: an instrumented frame between the announcement of a switch and the switch.
//!
//! Each primed context is a fiber of ThreadSanitizer's, made when it is primed and destroyed by whoever it
//! goes to at its end. An OS thread's own context is the fiber that it is born with. The switch is
//! announced inside the assembly: it tracks calls and returns per fiber, so that an instrumented function
//! that announces in one and returns in another unbalances both. Flags 0 make a switch an edge of
//! synchronisation, which is what program order over a switch is.
//!
//! A context with thread-local storage of its own has ThreadSanitizer's word in it, too: see `word`, and
//! `arch/x86_64_tsan.rs`.
//!
//! At most about 8000 fibers can be alive at once: that is ThreadSanitizer's limit.
//!
//! It uses its fiber interface, the assembly that calls it.

use crate::context::{Context, Entry};
use crate::stack::Stack;
use core::ffi::{c_int, c_void};
use core::ops::Range;
use core::ptr::null_mut;

// SAFETY: as `llvm:sanitizer/tsan_interface.h` declares them.
unsafe extern "C" {
    fn __tsan_get_current_fiber() -> *mut c_void;
    fn __tsan_create_fiber(flags: u32) -> *mut c_void;
    fn __tsan_switch_to_fiber(fiber: *mut c_void, flags: u32);
    fn __tsan_destroy_fiber(fiber: *mut c_void);
}

/// ThreadSanitizer's name for a context.
#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct Fiber(*mut c_void);

impl Fiber {
    pub(crate) const fn new() -> Self {
        Fiber(null_mut())
    }

    /// A context is about to be primed; returns the entry to use.
    pub(crate) fn primed(&mut self, _stack: &Stack, entry: Entry) -> Entry {
        // SAFETY: no preconditions.
        self.0 = unsafe { __tsan_create_fiber(0) };
        entry
    }
}

/// The offset from the thread pointer of the word by which ThreadSanitizer knows the running fiber. It is the one word
/// of the program's thread-local storage that changes when another fiber is announced, and changes back afterwards.
pub(crate) fn word() -> Option<isize> {
    // SAFETY: no preconditions.
    let own = unsafe { __tsan_get_current_fiber() };
    // SAFETY: as above.
    let other = unsafe { __tsan_create_fiber(0) };
    let storage = program_storage()?;
    let words = storage.clone().step_by(8).filter(|&at| read(at) == own.addr()).collect::<Vec<_>>();
    let mut found = Vec::with_capacity(words.len());
    // SAFETY: a fiber that nobody else runs as.
    unsafe { __tsan_switch_to_fiber(other, 0) };
    found.extend(words.iter().filter(|&&at| read(at) == other.addr()));
    // SAFETY: the one that this was before.
    unsafe { __tsan_switch_to_fiber(own, 0) };
    // SAFETY: made above, and left.
    unsafe { __tsan_destroy_fiber(other) };
    found.retain(|&at| read(at) == own.addr());
    let pointer = crate::tls::base();
    if let [one] = found[..] { Some(one.wrapping_sub(pointer).cast_signed()) } else { None }
}

fn read(address: usize) -> usize {
    let word: *const usize = core::ptr::with_exposed_provenance(address);
    // SAFETY: the caller found it within this thread's storage.
    unsafe { word.read_volatile() }
}

/// The program's own variables in the storage of this thread.
fn program_storage() -> Option<Range<usize>> {
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
        // SAFETY: `dl_iterate_phdr` passes a valid description.
        let info = unsafe { &*info };
        // SAFETY: the headers are mapped as long as the object is.
        let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let tls = headers.iter().find(|h| h.p_type == libc::PT_TLS);
        let from = info.dlpi_tls_data.addr();
        // SAFETY: what `program_storage` passed.
        let found = unsafe { &mut *data.cast::<Option<Range<usize>>>() };
        *found = tls.map(|tls| from.next_multiple_of(8)..from + tls.p_memsz as usize - 7);
        1 // The program comes first.
    }
    let mut found = None;
    // SAFETY: the function is called before this returns.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    found
}

/// The switch, announced.
///
/// # Safety
/// As [`crate::transfer`].
#[inline(always)]
pub(crate) unsafe fn switch(from: *mut Context, to: *mut Context, storage: usize) {
    // SAFETY: the caller owns `from`.
    let own = unsafe { &mut (*from).fiber };
    if own.0.is_null() {
        // SAFETY: no preconditions.
        own.0 = unsafe { __tsan_get_current_fiber() };
    }
    // SAFETY: the caller's guarantees are exactly `arch::switch`'s.
    unsafe { crate::arch::switch(from, to, storage) };
}

/// A context that had storage of its own continues with its OS thread's: nothing to do.
#[inline(always)]
pub(crate) fn back_home(_stack: &Stack) {}

/// The OS thread's storage is about to be left other than by a switch: nothing to do.
#[inline(always)]
pub(crate) fn leave_behind() {}

/// As [`switch`], with the OS thread's storage.
///
/// # Safety
/// As [`crate::transfer`].
#[inline(always)]
pub(crate) unsafe fn switch_here(from: *mut Context, to: *mut Context) {
    // SAFETY: passed on to the caller.
    unsafe { switch(from, to, 0) };
}
