//! Owns: the cost of touching new guarded stacks, without any runtime.
//! May use: `mmap` and `madvise`.
//! Never: a stack that was used before.
//!
//! A process that blocks on a fresh stack costs at least one page fault and its share of making a guard. That
//! cost is the kernel's and drifts with it, so a benchmark measures it in its own process and subtracts it.
//! Stacks are 64 KiB apart, 64 per mapping as in a runtime, the lowest page of each is a guard
//! (`MADV_GUARD_INSTALL`, Linux 6.13, else `mprotect`), and one word near the top is written.

use std::io;
use std::ptr::null_mut;
use std::time::Instant;

const STACK_BYTES: usize = 64 << 10;
const STACKS_A_SLAB: usize = 64;
const SLAB_BYTES: usize = STACK_BYTES * STACKS_A_SLAB;
const PAGE_BYTES: usize = 4096;
const MADV_GUARD_INSTALL: i32 = 102;

/// Nanoseconds per stack to map, guard and touch `count` new stacks, all of which are kept until the end.
///
/// # Errors
/// A description of the kernel's error.
pub fn touch_ns(count: usize) -> Result<f64, String> {
    let mut slabs = Vec::with_capacity(count.div_ceil(STACKS_A_SLAB));
    let start = Instant::now();
    let outcome = (0..count).try_for_each(|index| {
        if index % STACKS_A_SLAB == 0 {
            slabs.push(map()?);
        }
        let stack = slabs[index / STACKS_A_SLAB].wrapping_byte_add(index % STACKS_A_SLAB * STACK_BYTES);
        guard(stack)?;
        // SAFETY: the word lies in the stack's top page, inside a writable mapping that nobody else knows.
        unsafe { stack.byte_add(STACK_BYTES - 64).cast::<u64>().write_volatile(index as u64) };
        Ok(())
    });
    let elapsed_ns = start.elapsed().as_nanos() as f64;
    for slab in slabs {
        // SAFETY: the mapping is ours, and no pointer into it is used from here on.
        unsafe { libc::munmap(slab.cast(), SLAB_BYTES) };
    }
    let failed = |e: io::Error| format!("cannot make {count} fresh guarded stacks: {e}");
    outcome.map(|()| elapsed_ns / count as f64).map_err(failed)
}

fn map() -> io::Result<*mut u8> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches no memory of ours.
    let slab = unsafe { libc::mmap(null_mut(), SLAB_BYTES, protection, flags, -1, 0) };
    if slab == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the range is the mapping just made; the advice changes no contents.
    unsafe { libc::madvise(slab, SLAB_BYTES, libc::MADV_NOHUGEPAGE) };
    Ok(slab.cast())
}

fn guard(stack: *mut u8) -> io::Result<()> {
    // SAFETY: the page is the lowest of a stack in our own mapping, and holds nothing.
    if unsafe { libc::madvise(stack.cast(), PAGE_BYTES, MADV_GUARD_INSTALL) } == 0 {
        return Ok(());
    }
    // SAFETY: as above.
    match unsafe { libc::mprotect(stack.cast(), PAGE_BYTES, libc::PROT_NONE) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
