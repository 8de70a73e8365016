//! Owns: the address of a function that need not be linked in, on aarch64.
//! May use: nothing.
//! Never: a call.

use core::arch::asm;
use core::ffi::c_void;

/// Where it is; null if it is not.
pub(super) fn linked() -> *mut c_void {
    let place: usize;
    // SAFETY: reads a word that the linker has filled.
    unsafe {
        asm!(
            // Weak: the linker gives null where there is none. Hidden: that of another library is not meant. Said here,
            // since a compiler may put each function into an object of its own.
            ".weak raddle_words_of_worker",
            ".hidden raddle_words_of_worker",
            "adrp {place}, :got:raddle_words_of_worker",
            "ldr {place}, [{place}, :got_lo12:raddle_words_of_worker]",
            place = out(reg) place,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    core::ptr::with_exposed_provenance_mut(place)
}
