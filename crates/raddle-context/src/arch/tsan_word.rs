//! Owns: where ThreadSanitizer keeps the word by which it knows whoever runs.
//! May use: `libc`.
//! Never: a guess: what does not change as that word must is not it.

use core::ffi::{c_int, c_void};
use core::ops::Range;

// SAFETY: as `llvm:sanitizer/tsan_interface.h` declares them.
unsafe extern "C" {
    fn __tsan_get_current_fiber() -> *mut c_void;
    fn __tsan_create_fiber(flags: u32) -> *mut c_void;
    fn __tsan_switch_to_fiber(fiber: *mut c_void, flags: u32);
    fn __tsan_destroy_fiber(fiber: *mut c_void);
}

/// The offset from this thread's `pointer` of the word by which ThreadSanitizer knows the running fiber. It is the
/// one word of the program's thread-local storage that changes when another fiber is announced, and changes back
/// afterwards.
pub(super) fn find(pointer: usize) -> Option<isize> {
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
