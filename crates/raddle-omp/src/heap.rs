//! Owns: memory of the C library, aligned.
//! May use: `libc`.
//! Never: an allocator of the interface.

use std::ptr::null_mut;

/// Null if there is none. `free` takes it back.
pub(crate) fn allocate(bytes: usize, align: usize) -> *mut u8 {
    let mut memory = null_mut();
    let align = align.max(16).next_power_of_two();
    // SAFETY: a place for the address.
    let refused = unsafe { libc::posix_memalign(&raw mut memory, align, bytes.max(1)) };
    if refused == 0 { memory.cast() } else { null_mut() }
}
