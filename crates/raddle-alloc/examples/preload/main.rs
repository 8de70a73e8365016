//! Owns: the names of the C library and of C++ by which programs that know nothing of it have this allocator.
//! May use: `libc`, `raddle-alloc`.
//! Never: a decision about memory.
//!
//! ```console
//! $ cargo build --release --package raddle-alloc --example raddle_alloc
//! $ LD_PRELOAD=target/release/examples/libraddle_alloc.so python3 -c 'print(1)'
//! ```
//!
//! It is unsafe because it exports names.

mod cpp;
mod glibc;
mod start;

use raddle_alloc as alloc;
use std::ffi::{c_int, c_void};
use std::ptr;

const OS_PAGE: usize = 4096;

fn set_errno(number: c_int) {
    // SAFETY: no preconditions.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the thread's own.
    unsafe { *place = number };
}

/// What C is given: nothing has a reason.
fn told(block: *mut u8) -> *mut c_void {
    if block.is_null() {
        set_errno(libc::ENOMEM);
    }
    block.cast()
}

/// Looked for by Raddle's runtime.
#[unsafe(no_mangle)]
extern "C" fn raddle_worker_words(begin: extern "C" fn()) -> isize {
    alloc::words_of_worker(begin)
}

#[unsafe(no_mangle)]
extern "C" fn malloc(size: usize) -> *mut c_void {
    alloc::allocate_or(size, |size| allocate_slowly(size)).cast()
}

#[cold]
#[inline(never)]
extern "C" fn allocate_slowly(size: usize) -> *mut u8 {
    told(alloc::allocate(size)).cast()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut c_void) {
    // SAFETY: passed on to the program.
    unsafe { alloc::free(block.cast()) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cfree(block: *mut c_void) {
    // SAFETY: passed on to the program.
    unsafe { alloc::free(block.cast()) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free_sized(block: *mut c_void, _size: usize) {
    // SAFETY: passed on to the program.
    unsafe { alloc::free(block.cast()) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free_aligned_sized(block: *mut c_void, _align: usize, _size: usize) {
    // SAFETY: passed on to the program.
    unsafe { alloc::free(block.cast()) };
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    told(count.checked_mul(size).map_or(ptr::null_mut(), alloc::allocate_zeroed))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if block.is_null() {
        return malloc(size);
    }
    if size == 0 {
        // SAFETY: passed on to the program.
        unsafe { alloc::free(block.cast()) };
        return ptr::null_mut();
    }
    // SAFETY: passed on to the program.
    told(unsafe { alloc::reallocate(block.cast(), size, 16) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: passed on to the program.
        Some(bytes) => unsafe { realloc(block, bytes) },
        None => told(ptr::null_mut()),
    }
}

#[unsafe(no_mangle)]
extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    match align.checked_next_power_of_two() {
        Some(align) => told(alloc::allocate_aligned(size, align)),
        None => told(ptr::null_mut()),
    }
}

#[unsafe(no_mangle)]
extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    if !align.is_power_of_two() {
        set_errno(libc::EINVAL);
        return ptr::null_mut();
    }
    told(alloc::allocate_aligned(size, align))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(place: *mut *mut c_void, align: usize, size: usize) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    let block = alloc::allocate_aligned(size, align);
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: passed on to the program.
    unsafe { place.write(block.cast()) };
    0
}

#[unsafe(no_mangle)]
extern "C" fn valloc(size: usize) -> *mut c_void {
    told(alloc::allocate_aligned(size, OS_PAGE))
}

#[unsafe(no_mangle)]
extern "C" fn pvalloc(size: usize) -> *mut c_void {
    match size.checked_next_multiple_of(OS_PAGE) {
        Some(size) => told(alloc::allocate_aligned(size, OS_PAGE)),
        None => told(ptr::null_mut()),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    if block.is_null() {
        return 0;
    }
    // SAFETY: passed on to the program.
    unsafe { alloc::usable_size(block.cast()) }
}

#[unsafe(no_mangle)]
extern "C" fn malloc_trim(_keep: usize) -> c_int {
    c_int::from(alloc::purge() > 0)
}

/// There is nothing of glibc's to be set; a program that tries goes on.
#[unsafe(no_mangle)]
extern "C" fn mallopt(_what: c_int, _value: c_int) -> c_int {
    1
}
