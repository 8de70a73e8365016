//! Owns: the memory manager for C: blocks, options, what a thread leaves to others, figures.
//! May use: `fault`, `handle`, `libc`, `raddle-alloc`.
//! Never: a block of the C library's; `malloc` under its own name, which is the preloaded library's.
//!
//! It is unsafe because it frees what it is told to.

use crate::fault::{Fault, entry};
use crate::handle::{copy_for_program, expect, put, text};
use raddle_alloc as alloc;
use std::ffi::{c_char, c_int, c_void};

/// What the functions give that refuse by a null pointer.
fn told(block: *mut u8) -> *mut c_void {
    if block.is_null() {
        // SAFETY: no preconditions.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: the thread's own.
        unsafe { *errno = libc::ENOMEM };
    }
    block.cast()
}

#[unsafe(no_mangle)]
extern "C" fn raddle_malloc(size: usize) -> *mut c_void {
    told(alloc::allocate(size))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_calloc(count: usize, size: usize) -> *mut c_void {
    told(count.checked_mul(size).map_or(std::ptr::null_mut(), alloc::allocate_zeroed))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_aligned_alloc(align: usize, size: usize) -> *mut c_void {
    told(if align.is_power_of_two() { alloc::allocate_aligned(size, align) } else { std::ptr::null_mut() })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn raddle_realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if block.is_null() {
        return raddle_malloc(size);
    }
    // SAFETY: passed on to the program.
    told(unsafe { alloc::reallocate(block.cast(), size, 16) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn raddle_free(block: *mut c_void) {
    // SAFETY: passed on to the program.
    unsafe { alloc::free(block.cast()) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn raddle_usable_size(block: *mut c_void) -> usize {
    // SAFETY: passed on to the program.
    if block.is_null() { 0 } else { unsafe { alloc::usable_size(block.cast()) } }
}

#[unsafe(no_mangle)]
extern "C" fn raddle_memory_options(options: *const c_char) -> c_int {
    entry(|| alloc::configure(text(options)?).map_err(|error| Fault::Settings.told(error)))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_memory_rest() -> c_int {
    entry(|| {
        alloc::rest_heap();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_memory_purge() -> usize {
    alloc::purge()
}

#[unsafe(no_mangle)]
extern "C" fn raddle_memory_stats(out: *mut *mut u8) -> c_int {
    entry(|| {
        expect(out)?;
        put(out, copy_for_program(alloc::statistics().to_string().as_bytes())?)
    })
}
