//! Owns: the calls: which part of the allocator serves a request.
//! May use: `arena`, `class`, `hardened`, `heap`, `large`, `orphan`, `page`, `profile`, `registry`, `rested`, `thread`.
//! Never: `errno`; the C library's names.
//!
//! The usual calls are compiled to a dozen instructions without an atomic one: the class from a table, the thread's
//! heap, its cache. Everything else is out of line.
//!
//! It is unsafe because it frees what it is told to.

use std::ptr;

use crate::arena::{self, slice_of};
use crate::class::{self, CLASS_SIZE_MAX, CLASSES, TABLE_MAX, size_of_class};
use crate::heap::Heap;
use crate::large::{self, Fresh};
use crate::page::{Block, SLICE};
use crate::{hardened, orphan, profile, registry, rested, thread};

/// `size` bytes at a multiple of 16; null if there is no memory. Nought bytes have an address of their own.
#[inline(always)]
pub(crate) fn allocate(size: usize) -> *mut u8 {
    if size > TABLE_MAX {
        return allocate_more(size);
    }
    let block = allocate_cached(size);
    if block.is_null() { allocate_slowly(class::class_of(size)) } else { block }
}

#[inline(always)]
fn allocate_class(class: usize) -> *mut u8 {
    let block = thread::heap().and_then(Heap::work).map_or(ptr::null_mut(), |work| work.pop(class));
    if block.is_null() { allocate_slowly(class) } else { block.cast() }
}

/// A block of at most [`TABLE_MAX`] bytes of the thread's cache; null if there is none, or no cache.
#[inline(always)]
fn allocate_cached(size: usize) -> *mut u8 {
    thread::heap().and_then(Heap::work).map_or(ptr::null_mut(), |work| work.pop_small(size).cast())
}

/// As [`allocate`], for who has to do something where there is no memory: `otherwise` is the way out of the usual path,
/// which so needs no frame.
#[inline(always)]
pub(crate) fn allocate_or(size: usize, otherwise: impl FnOnce(usize) -> *mut u8) -> *mut u8 {
    if size <= TABLE_MAX {
        let block = allocate_cached(size);
        if !block.is_null() {
            return block;
        }
    }
    otherwise(size)
}

fn allocate_more(size: usize) -> *mut u8 {
    if size <= CLASS_SIZE_MAX {
        return allocate_class(class::class_of(size));
    }
    large(size, SLICE).block
}

/// A large block, and a sample of the profile if it is one's turn.
fn large(size: usize, align: usize) -> Fresh {
    let samples = if profile::is_on() {
        thread::heap_or_take().and_then(Heap::work).map_or(0, |work| work.samples(size))
    } else {
        0
    };
    sampled(size, align, samples)
}

fn sampled(size: usize, align: usize, samples: u32) -> Fresh {
    let fresh = large::allocate(size, align, seed());
    if samples > 0 && !fresh.block.is_null() {
        // SAFETY: a large block was just given out there.
        profile::mark(unsafe { slice_of(fresh.block) }, size, samples);
    }
    fresh
}

// PERF: by C's convention, as `HeapWork::flush`.
#[cold]
#[inline(never)]
extern "C" fn allocate_slowly(class: usize) -> *mut u8 {
    match thread::heap_or_take().and_then(Heap::work) {
        Some(work) => {
            let samples = if profile::is_on() { work.samples(size_of_class(class)) } else { 0 };
            if samples == 0 {
                if registry::any_rests() && work.lacks_pages(class) {
                    rested::leave_one();
                }
                return work.refill(class).cast();
            }
            drop(work);
            sampled(size_of_class(class), SLICE, samples).block
        }
        None => orphan::allocate(class, seed()).cast(),
    }
}

/// Where threads begin to look for slices.
fn seed() -> usize {
    thread::own().map_or(0, |heap| heap.number.load(std::sync::atomic::Ordering::Relaxed) as usize)
}

/// As [`allocate`], of zeroes.
pub(crate) fn allocate_zeroed(size: usize) -> *mut u8 {
    if size > CLASS_SIZE_MAX {
        return cleared(large(size, SLICE), size);
    }
    cleared(Fresh { block: allocate(size), zeroed: false }, size)
}

fn cleared(fresh: Fresh, size: usize) -> *mut u8 {
    if !fresh.block.is_null() && !fresh.zeroed {
        // SAFETY: the block holds as much, and is ours.
        unsafe { ptr::write_bytes(fresh.block, 0, size) };
    }
    fresh.block
}

/// `size` bytes at a multiple of `align`, which is a power of two; null if there is no memory.
pub(crate) fn allocate_aligned(size: usize, align: usize) -> *mut u8 {
    if align <= 16 {
        return allocate(size);
    }
    if size <= CLASS_SIZE_MAX && align <= CLASS_SIZE_MAX {
        return allocate_class(class::class_aligned(size, align));
    }
    large(size, align).block
}

/// As [`allocate_aligned`], of zeroes.
pub(crate) fn allocate_aligned_zeroed(size: usize, align: usize) -> *mut u8 {
    if align <= 16 {
        return allocate_zeroed(size);
    }
    if size <= CLASS_SIZE_MAX && align <= CLASS_SIZE_MAX {
        return cleared(Fresh { block: allocate_aligned(size, align), zeroed: false }, size);
    }
    cleared(large(size, align), size)
}

/// Gives a block back; null is none.
///
/// # Safety
/// It is null, or of this allocator and not given back yet, and nobody uses it any more.
#[inline(always)]
pub(crate) unsafe fn free(block: *mut u8) {
    if block.is_null() {
        return;
    }
    // Hardened, no thread has a heap, and nothing is looked up of a pointer before it has been checked.
    if let Some(work) = thread::heap().and_then(Heap::work) {
        // SAFETY: passed on.
        let class = usize::from(unsafe { arena::class_of(block) });
        if class < CLASSES {
            // SAFETY: passed on.
            if unsafe { work.put(class, block.cast()) } {
                return work.flush(class);
            }
            return;
        }
    }
    // SAFETY: passed on.
    unsafe { free_slowly(block) };
}

/// # Safety
/// As for [`free`].
// PERF: as `allocate_slowly`.
#[cold]
#[inline(never)]
unsafe extern "C" fn free_slowly(block: *mut u8) {
    if hardened::is_on() {
        hardened::check_pointer(block);
    }
    // SAFETY: passed on.
    let slice = unsafe { slice_of(block) };
    let class = usize::from(slice.class());
    if class >= CLASSES {
        // SAFETY: passed on.
        return unsafe { large::free(block, slice) };
    }
    match thread::heap_or_take().and_then(Heap::work) {
        Some(work) => {
            // SAFETY: passed on.
            if unsafe { work.put(class, block.cast()) } {
                work.flush(class);
            }
        }
        // SAFETY: passed on.
        None => unsafe { orphan::free(block.cast::<Block>()) },
    }
}

/// What a block holds.
///
/// # Safety
/// It is of this allocator, and not given back.
pub(crate) unsafe fn usable_size(block: *mut u8) -> usize {
    if hardened::is_on() {
        hardened::check_used(block);
    }
    // SAFETY: passed on.
    let slice = unsafe { slice_of(block) };
    let class = usize::from(slice.class());
    if class < CLASSES {
        return size_of_class(class);
    }
    // SAFETY: passed on.
    unsafe { large::usable(block, slice) }
}

/// Makes a block hold `size` bytes at the same alignment; where it is now. Null if there is no memory for a larger one:
/// it is as before.
///
/// # Safety
/// It is of this allocator and not given back, and has the alignment.
pub(crate) unsafe fn reallocate(block: *mut u8, size: usize, align: usize) -> *mut u8 {
    // SAFETY: passed on.
    let have = unsafe { usable_size(block) };
    if size <= have && (size >= have / 2 || have <= 64) {
        return block;
    }
    if have > CLASS_SIZE_MAX {
        // SAFETY: passed on.
        let slice = unsafe { slice_of(block) };
        // SAFETY: passed on.
        let there = unsafe { large::resize(block, slice, size) };
        if !there.is_null() {
            return there;
        }
    }
    let new = allocate_aligned(size, align);
    if !new.is_null() {
        // SAFETY: both hold as much, and are two.
        unsafe { ptr::copy_nonoverlapping(block, new, have.min(size)) };
        // SAFETY: passed on.
        unsafe { free(block) };
    } else if size <= have {
        // To become smaller takes no memory.
        return block;
    }
    new
}
