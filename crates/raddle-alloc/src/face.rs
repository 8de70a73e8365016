//! Owns: what programs and libraries call.
//! May use: `arena`, `front`, `heap`, `page`, `profile`, `spare`, `thread`.
//! Never: a decision.
//!
//! It is unsafe because it is an allocator.

use std::alloc::{GlobalAlloc, Layout};

use crate::{arena, front, spare, thread};

/// The allocator, for `#[global_allocator]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RaddleAlloc;

// SAFETY: each block is given out once, at the alignment and of the size that is asked for, and stays until it is
// freed.
unsafe impl GlobalAlloc for RaddleAlloc {
    #[inline(always)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= 16 {
            front::allocate(layout.size())
        } else {
            aligned(layout.size(), layout.align())
        }
    }

    #[inline(always)]
    unsafe fn dealloc(&self, block: *mut u8, _layout: Layout) {
        // SAFETY: passed on to the caller.
        unsafe { front::free(block) };
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        front::allocate_aligned_zeroed(layout.size(), layout.align())
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: passed on to the caller.
        unsafe { front::reallocate(block, size, layout.align()) }
    }
}

#[inline(never)]
fn aligned(size: usize, align: usize) -> *mut u8 {
    front::allocate_aligned(size, align)
}

/// As `malloc`: `size` bytes at a multiple of 16; null if there is no memory. `errno` stays as it is.
#[inline]
pub fn allocate(size: usize) -> *mut u8 {
    front::allocate(size)
}

/// As [`allocate`]; but where the thread's cache has no such block, the answer is that of `otherwise`, which then calls
/// [`allocate`], and may do something if there is no memory.
#[inline(always)]
pub fn allocate_or(size: usize, otherwise: impl FnOnce(usize) -> *mut u8) -> *mut u8 {
    front::allocate_or(size, otherwise)
}

/// As [`allocate`], of zeroes.
#[inline]
pub fn allocate_zeroed(size: usize) -> *mut u8 {
    front::allocate_zeroed(size)
}

/// As [`allocate`], at a multiple of `align`, which is a power of two.
#[inline]
pub fn allocate_aligned(size: usize, align: usize) -> *mut u8 {
    front::allocate_aligned(size, align)
}

/// As `free`.
///
/// # Safety
/// `block` is null, or was given out by this allocator and not been freed; nobody uses it any more.
#[inline]
pub unsafe fn free(block: *mut u8) {
    // SAFETY: passed on to the caller.
    unsafe { front::free(block) };
}

/// As `realloc`, of what is at a multiple of `align`; `block` is not null.
///
/// # Safety
/// `block` was given out by this allocator, at that alignment, and has not been freed.
#[inline]
pub unsafe fn reallocate(block: *mut u8, size: usize, align: usize) -> *mut u8 {
    // SAFETY: passed on to the caller.
    unsafe { front::reallocate(block, size, align) }
}

/// As `malloc_usable_size`: how many bytes of `block` may be used.
///
/// # Safety
/// As for [`reallocate`].
#[inline]
pub unsafe fn usable_size(block: *mut u8) -> usize {
    // SAFETY: passed on to the caller.
    unsafe { front::usable_size(block) }
}

/// Gives free memory back to the kernel at once; how many bytes.
pub fn purge() -> usize {
    arena::purge(true) * crate::page::SLICE + spare::purge(0)
}

/// Leaves to others all that this OS thread's heap has: for a thread that is about to block for long. Its next
/// allocation takes a heap again. Not for a signal handler: it may have interrupted an allocation that has just begun.
pub fn leave_heap() {
    thread::leave_for_now();
}

/// Writes the heap profile to the file that the option `profile` names; false if there is none, or that fails.
pub fn write_profile() -> bool {
    crate::profile::write()
}

/// Lets others have all that this OS thread's heap has, if they need it before the thread allocates or frees again: for
/// a thread that is about to sleep. Unlike [`leave_heap`] it costs some tens of instructions. Not for a signal handler
/// either.
///
/// ```
/// let word = String::from("kept");
/// raddle_alloc::rest_heap();
/// // A long sleep, of which another thread may make use.
/// assert_eq!(word.clone(), "kept");
/// ```
pub fn rest_heap() {
    thread::rest();
}

/// For a runtime that gives its contexts thread-local storage of their own: where the words lie, from the thread
/// pointer, that it carries along when it changes the storage, so that heaps stay with OS threads; `begin` is called as
/// soon as there is something to carry. Each OS thread that is to run such contexts calls it, in its own storage.
///
/// Raddle's runtime finds this by itself where both are in one program or library, and by the name
/// `raddle_worker_words` in a shared library, which has it exported. `raddle-context` says which words they are, and
/// how they are carried (`crates/raddle-context/src/arch/carried.rs`).
///
/// ```
/// extern "C" fn begin() {}
/// let distance = raddle_alloc::words_of_worker(begin);
/// assert_eq!(distance, raddle_alloc::words_of_worker(begin));
/// ```
pub fn words_of_worker(begin: extern "C" fn()) -> isize {
    thread::words_of_worker(begin)
}

/// Whether this OS thread is at work in its heap, or was when a signal interrupted it. Who takes threads off their
/// processor at any instruction must not do so then, if another may allocate on the same OS thread.
pub fn is_in_heap() -> bool {
    thread::own().is_some_and(crate::heap::Heap::is_busy)
}
