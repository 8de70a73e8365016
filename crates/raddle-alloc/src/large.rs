//! Owns: blocks that are a run of slices, and blocks with a mapping of their own.
//! May use: `arena`, `class`, `decay`, `hardened`, `page`, `profile`, `spare`, `system`.
//! Never: a heap.
//!
//! It is unsafe because it reads headers and gives memory back.

use std::ptr;

use crate::arena::{self, ARENA, HEADER, header_of, slice_of};
use crate::page::{HUGE, Page, SLICE};
use crate::{decay, hardened, page, profile, spare, system};

/// The largest run: above it a block has a mapping of its own.
pub(crate) const RUN_BYTES_MAX: usize = 240 * SLICE;
/// Above it no request is served: no difference of two addresses may be larger.
const BYTES_MAX: usize = 1 << 47;

/// A block, and whether it reads as zeroes.
pub(crate) struct Fresh {
    pub(crate) block: *mut u8,
    pub(crate) zeroed: bool,
}

const NONE: Fresh = Fresh { block: ptr::null_mut(), zeroed: false };

/// A block of `size` bytes, without a class, at a multiple of `align`; null if there is no memory.
pub(crate) fn allocate(size: usize, align: usize, seed: usize) -> Fresh {
    if size <= RUN_BYTES_MAX && align <= ARENA / 4 {
        let guard = usize::from(hardened::is_on());
        let (count, align) = (size.div_ceil(SLICE).max(1) + guard, (align / SLICE).max(1));
        let Some(slices) = arena::take(count, align, seed) else { return NONE };
        set_guard(slices.start, count, guard, false);
        slices.first.init_alone(page::LARGE, count);
        slices.first.set_guard(guard);
        return Fresh { block: slices.start, zeroed: slices.zeroed };
    }
    map(size, align)
}

/// Makes the last slice of a run such that an access ends the program, or as it was.
fn set_guard(block: *mut u8, count: usize, guard: usize, accessible: bool) {
    if guard > 0 {
        // SAFETY: the slice is the block's, and nobody uses it.
        unsafe { system::protect(block.wrapping_add((count - 1) * SLICE), SLICE, accessible) };
    }
}

/// From the header to the block.
fn lead(align: usize) -> usize {
    (HEADER * SLICE).max(align).min(ARENA)
}

fn map(size: usize, align: usize) -> Fresh {
    if size > BYTES_MAX || align > BYTES_MAX {
        return NONE;
    }
    let lead = lead(align);
    let guard = usize::from(hardened::is_on());
    let bytes = lead + size.next_multiple_of(system::OS_PAGE) + guard * SLICE;
    if align <= ARENA
        && guard == 0
        && let Some((mapping, have)) = spare::take(bytes)
        && let Some(block) = fitted(mapping, have, bytes, lead)
    {
        return Fresh { block, zeroed: false };
    }
    // The header has to be at a multiple of an arena's size, the block at one of `align`.
    let mapping = if align > ARENA { spare::map(bytes, align, lead) } else { spare::map(bytes, ARENA, 0) };
    if mapping.is_null() {
        return NONE;
    }
    let block = init(mapping, bytes, lead);
    if guard > 0 {
        // SAFETY: the end of the mapping is the block's, and nobody uses it.
        unsafe { system::protect(mapping.wrapping_add(bytes - SLICE), SLICE, false) };
        // SAFETY: a block was just made there.
        unsafe { slice_of::<'_>(block) }.set_guard(guard);
    }
    Fresh { block, zeroed: true }
}

/// Makes a mapping that was kept one of `bytes`, or a little more, with a block behind `lead`; what has been written of
/// it stays mapped. `None` if there is no memory: then it has been given back.
fn fitted(mapping: *mut u8, have: usize, bytes: usize, lead: usize) -> Option<*mut u8> {
    if have > bytes + bytes / 4 {
        // SAFETY: it was kept, and is the caller's now.
        unsafe { system::shrink(mapping, have, bytes) };
        return Some(init(mapping, bytes, lead));
    }
    // SAFETY: as above.
    if have >= bytes || unsafe { system::grow(mapping, have, bytes) } {
        return Some(init(mapping, have.max(bytes), lead));
    }
    let to = spare::map(bytes, ARENA, 0);
    // SAFETY: both are the caller's.
    if !to.is_null() && unsafe { system::move_pages(mapping, have, to) } {
        return Some(init(to, bytes, lead));
    }
    // SAFETY: as above.
    unsafe { system::unmap(mapping, have) };
    if !to.is_null() {
        // The place for what was not moved is gone; see `move_mapping`.
        // SAFETY: as above.
        unsafe { system::unmap(to.wrapping_add(have), bytes - have) };
    }
    None
}

fn init(mapping: *mut u8, bytes: usize, lead: usize) -> *mut u8 {
    let block = mapping.wrapping_add(lead);
    // SAFETY: the mapping holds a header before the block.
    unsafe { arena::init_mapping(mapping.cast(), mapping, bytes) };
    // SAFETY: as above.
    let slice = unsafe { slice_of::<'_>(block) };
    slice.init_alone(HUGE, 0);
    block
}

/// What a block without a class holds.
///
/// # Safety
/// It is one, and in use.
pub(crate) unsafe fn usable(block: *mut u8, slice: &Page) -> usize {
    if slice.class() != HUGE {
        return (slice.slices() - slice.guard()) * SLICE;
    }
    // SAFETY: passed on.
    let header = unsafe { header_of(block) };
    // SAFETY: passed on.
    let (mapping, bytes) = unsafe { arena::mapping_of(header) };
    mapping.addr() + bytes - block.addr() - slice.guard() * SLICE
}

/// Gives a block without a class back.
///
/// # Safety
/// It is one, and nobody uses it any more.
pub(crate) unsafe fn free(block: *mut u8, slice: &Page) {
    if slice.class() == page::GONE {
        system::die(&["raddle-alloc: a large block is freed twice\n"]);
    }
    if slice.class() != HUGE {
        let count = slice.slices();
        set_guard(block, count, slice.guard(), true);
        profile::unmark(slice);
        slice.init_alone(page::GONE, count);
        arena::give(slice, count);
        return decay::pass_by();
    }
    // SAFETY: passed on.
    let header = unsafe { header_of(block) };
    profile::unmark(slice);
    // SAFETY: passed on.
    let (mapping, bytes) = unsafe { arena::mapping_of(header) };
    // Hardened, a pointer into it has to lead nowhere.
    if !hardened::is_on() {
        slice.init_alone(page::GONE, 0);
        if spare::keep(mapping, bytes) {
            return decay::pass_by();
        }
    }
    // SAFETY: passed on.
    unsafe { system::unmap(mapping, bytes) };
}

/// Makes a block without a class hold `size` bytes; where it is now, or null if it has to be copied.
///
/// # Safety
/// It is one, and the caller's.
pub(crate) unsafe fn resize(block: *mut u8, slice: &Page, size: usize) -> *mut u8 {
    // Whether it stays, moves or is copied: if it was a sample, it is another one now.
    let samples = profile::unmark(slice);
    // SAFETY: passed on.
    let there = unsafe { resize_unmarked(block, slice, size) };
    if samples > 0 {
        // SAFETY: a block is there.
        let slice = if there.is_null() { slice } else { unsafe { slice_of(there) } };
        profile::mark_again(slice, size);
    }
    there
}

/// # Safety
/// As for [`resize`].
unsafe fn resize_unmarked(block: *mut u8, slice: &Page, size: usize) -> *mut u8 {
    if slice.guard() > 0 {
        return ptr::null_mut();
    }
    if slice.class() == HUGE {
        // SAFETY: passed on.
        return unsafe { resize_mapping(block, size) };
    }
    let (have, want) = (slice.slices(), size.div_ceil(SLICE));
    if size <= crate::class::CLASS_SIZE_MAX || size > RUN_BYTES_MAX {
        return ptr::null_mut();
    }
    if want > have && !arena::take_behind(slice, have, want - have) {
        return ptr::null_mut();
    }
    slice.set_slices(want);
    if want < have {
        arena::give_behind(slice, want, have - want);
    }
    block
}

/// # Safety
/// As for [`resize`], of a block with a mapping of its own.
unsafe fn resize_mapping(block: *mut u8, size: usize) -> *mut u8 {
    if size <= RUN_BYTES_MAX / 2 || size > BYTES_MAX {
        return ptr::null_mut();
    }
    // SAFETY: passed on.
    let header = unsafe { header_of(block) };
    // SAFETY: passed on.
    let (mapping, old) = unsafe { arena::mapping_of(header) };
    let lead = block.addr() - mapping.addr();
    let new = lead + size.next_multiple_of(system::OS_PAGE);
    if new < old {
        // SAFETY: the end is the caller's, who does without it.
        unsafe { system::shrink(mapping, old, new) };
    // SAFETY: the mapping is of this length.
    } else if new > old && !unsafe { system::grow(mapping, old, new) } {
        // SAFETY: passed on.
        return unsafe { move_mapping(mapping, old, new, lead) };
    }
    // SAFETY: the header is still there.
    unsafe { arena::init_mapping(header, mapping, new) };
    block
}

/// # Safety
/// The mapping is the caller's, of this length, with a block behind `lead`.
unsafe fn move_mapping(mapping: *mut u8, old: usize, new: usize, lead: usize) -> *mut u8 {
    if lead == ARENA {
        return ptr::null_mut(); // aligned to more than an arena: it is copied
    }
    let to = spare::map(new, ARENA, 0);
    if to.is_null() {
        return to;
    }
    // SAFETY: both are the caller's.
    if !unsafe { system::move_pages(mapping, old, to) } {
        // The kernel unmaps the place before it finds that it cannot move the pages (a part was given other advice):
        // what lies there may be another thread's by now, and is left alone.
        // SAFETY: it was just mapped, and is behind that.
        unsafe { system::unmap(to.wrapping_add(old), new - old) };
        return ptr::null_mut();
    }
    init(to, new, lead)
}
