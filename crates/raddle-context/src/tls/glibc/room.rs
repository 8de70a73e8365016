//! Owns: the memory of blocks: slabs of our own, of which glibc's allocator gets a piece for each.
//! May use: `stack`, `libc`.
//! Never: a piece back; a block is reused, and never freed.
//!
//! glibc's allocator makes a block in memory that it is given, as it does at the end of a thread's stack. Given none it
//! asks malloc: then the kernel gives each of the pages on which 100 000 of them lie at its first touch, one fault a
//! page. Here it gives the pages of a slab at once. PERF: bench `alive` with 100 000 processes, 1 worker: a create less
//! a fresh stack 1270 -> 850 ns.
//!
//! Considered: huge pages for large slabs. They made no switch faster (`line2000`, 33 to 38 ns either way), and one run
//! in two took four times as long, while the kernel moved memory to find some. And the first page of the process's own
//! stack. A block is the fixed part of all libraries' variables, the descriptor, *and the room that glibc keeps for
//! libraries that are loaded later*, which lies between these variables and whatever comes below. In this crate's tests
//! under glibc 2.36 on x86-64 these are 320, 2368 and 1664 bytes: 4352, more than a page. A stack's frames would come
//! below: on its second page. So either two pages are touched, as now, or a library that is loaded later writes its
//! variables into frames.

use super::machine;
use crate::stack::PAGE;
use core::ops::DerefMut;
use core::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The first slab has so many bytes; each further one is twice as large as the one before, up to these.
const FIRST_BYTES: usize = 64 << 10;
const MOST_BYTES: usize = 512 << 10;

/// The form of the memory of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockForm {
    /// The bytes of one, and to what they are aligned.
    bytes: usize,
    align: usize,
    /// From its begin to where its thread pointer points.
    pointer: usize,
}

/// A slab, and what is left of it.
#[derive(Debug)]
struct Slab {
    next: usize,
    end: usize,
}

/// The slabs that pieces are cut from: two or more where as many workers have made one at the same time.
#[derive(Debug)]
struct Slabs {
    /// Pieces are cut from the last one.
    begun: Vec<Slab>,
    /// The bytes of the next one.
    bytes: usize,
}

static SLABS: Mutex<Slabs> = Mutex::new(Slabs::NONE);

fn lock() -> MutexGuard<'static, Slabs> {
    SLABS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Holds the lock over a fork.
#[derive(Debug)]
pub(super) struct HeldSlabs {
    _slabs: MutexGuard<'static, Slabs>,
}

impl HeldSlabs {
    pub(super) fn take() -> HeldSlabs {
        HeldSlabs { _slabs: lock() }
    }
}

impl BlockForm {
    /// Of blocks of `fixed` bytes in all, aligned to `align`, with a descriptor of `descriptor` bytes; `None` if one
    /// with that would not hold the variables of all libraries, whose first and last bytes lie at `variables` from the
    /// thread pointer.
    pub(super) fn new(
        (fixed, align): (usize, usize),
        descriptor: usize,
        variables: core::ops::Range<isize>,
    ) -> Option<BlockForm> {
        let align = align.max(64);
        if fixed > 1 << 20 || !align.is_power_of_two() || align > 4096 {
            return None;
        }
        let below = machine::below_pointer(fixed, descriptor)?.next_multiple_of(align);
        let above = machine::above_pointer(fixed, descriptor);
        let holds = variables.start >= -below.cast_signed() && variables.end <= above.cast_signed();
        // An odd number of steps from one to the next: so the words that a switch looks at, which lie at the same place
        // in each, use all sets of a cache. An even number would use half of them, and a whole page one.
        let bytes = ((below + above).div_ceil(align) | 1) * align;
        holds.then_some(BlockForm { bytes, align, pointer: below })
    }

    /// Memory for one more block, all zero: where its thread pointer is to point. `None` if the system has none; malloc
    /// may have some still.
    pub(super) fn cut(self) -> Option<NonNull<u8>> {
        self.cut_from(lock)
    }

    fn cut_from<S: DerefMut<Target = Slabs>>(self, lock: impl Fn() -> S) -> Option<NonNull<u8>> {
        loop {
            let mut slabs = lock();
            if let Some(piece) = slabs.cut(self) {
                return Some(piece);
            }
            let bytes = slabs.bytes.max(self.bytes.next_multiple_of(PAGE));
            slabs.bytes = (slabs.bytes * 2).min(MOST_BYTES);
            // The kernel takes 100 us or more, in which others may cut from another.
            drop(slabs);
            let slab = Slab::reserve(bytes)?;
            lock().begun.push(slab);
        }
    }
}

impl Slabs {
    const NONE: Slabs = Slabs { begun: Vec::new(), bytes: FIRST_BYTES };

    /// The next piece of the last slab. What is too small for one is left over.
    fn cut(&mut self, form: BlockForm) -> Option<NonNull<u8>> {
        loop {
            let slab = self.begun.last_mut()?;
            let start = slab.next.next_multiple_of(form.align);
            if slab.end.saturating_sub(start) >= form.bytes {
                slab.next = start + form.bytes;
                return NonNull::new(core::ptr::with_exposed_provenance_mut(start + form.pointer));
            }
            self.begun.pop();
        }
    }
}

/// The kernel is asked on behalf of whoever leaves its stack: for one that only yields `errno` is to stay as it was.
struct ErrnoKept(i32);

impl ErrnoKept {
    fn new() -> ErrnoKept {
        // SAFETY: the address of this thread's variable.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: as above.
        ErrnoKept(unsafe { errno.read() })
    }
}

impl Drop for ErrnoKept {
    fn drop(&mut self) {
        // SAFETY: as above.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: as above; nothing in between changed the OS thread.
        unsafe { errno.write(self.0) };
    }
}

impl Slab {
    fn reserve(bytes: usize) -> Option<Slab> {
        let (rights, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
        );
        let _as_it_was = ErrnoKept::new();
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches no existing memory.
        let at = unsafe { libc::mmap(core::ptr::null_mut(), bytes, rights, flags, -1, 0) };
        if at == libc::MAP_FAILED {
            return None;
        }
        // All of it at once costs a fraction of its single touches. An older kernel refuses, which is no error.
        // SAFETY: the mapping just made.
        unsafe { libc::madvise(at, bytes, libc::MADV_POPULATE_WRITE) };
        let next = at.expose_provenance();
        Some(Slab { next, end: next + bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::RefCell;

    #[test]
    fn pieces_are_apart_aligned_and_zero() {
        let form = BlockForm::new((4224, 64), 2304, -200..0);
        let form = form.or_else(|| BlockForm::new((4224, 64), 2304, 0..200)).expect("a usual form");
        let mut last = None;
        for _ in 0..2000 {
            let piece = form.cut().expect("memory");
            assert!(piece.addr().get().is_multiple_of(64));
            let start = piece.addr().get() - form.pointer;
            let bytes: &[u8] =
                // SAFETY: nobody else has it.
                unsafe { core::slice::from_raw_parts(core::ptr::with_exposed_provenance(start), form.bytes) };
            assert!(bytes.iter().all(|byte| *byte == 0));
            let overlaps = |other: usize| start < other + form.bytes && other < start + form.bytes;
            assert!(!last.replace(start).is_some_and(overlaps));
        }
    }

    /// Whatever the size of a program's variables: the thread pointers of 64 blocks in a row lie in all sets of a cache
    /// with lines of 64 bytes and 64 sets, each in one of its own.
    #[test]
    fn blocks_in_a_row_share_no_set_of_a_cache() {
        const SETS: usize = 64;
        for fixed in (2304 + 1664..2304 + 1664 + 2 * PAGE).step_by(40) {
            let form = BlockForm::new((fixed, 64), 2304, 0..0).expect("a form");
            // One slab that holds them all.
            let slabs = RefCell::new(Slabs { begun: Vec::new(), bytes: SETS * 4 * PAGE });
            let mut used = [false; SETS];
            for _ in 0..SETS {
                let pointer = form.cut_from(|| slabs.borrow_mut()).expect("memory").addr().get();
                let set = pointer / 64 % SETS;
                assert!(!std::mem::replace(&mut used[set], true), "set {set}, {} bytes a block", form.bytes);
            }
            let slab = slabs.into_inner().begun.pop().expect("it was cut from");
            let begin: *mut libc::c_void = core::ptr::with_exposed_provenance_mut(slab.end - SETS * 4 * PAGE);
            // SAFETY: the mapping of this loop's slab, of which nothing is used any more.
            assert_eq!(unsafe { libc::munmap(begin, SETS * 4 * PAGE) }, 0);
        }
    }

    /// The numbers of the argument at the top of this file, of this very program.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_block_of_this_program_leaves_no_room_for_frames_in_its_page() {
        let Some(form) = super::super::facts::get().ok().and_then(|facts| facts.form) else { return };
        let (above, below) = (form.bytes - form.pointer, form.pointer);
        // Between glibc's own variables and the descriptor alone there is room for others'; with it there is none.
        assert!(
            above < PAGE && above + below > PAGE,
            "{above} bytes above the thread pointer, {below} below"
        );
    }

    #[test]
    fn a_block_may_be_larger_than_a_slab() {
        // One of its own: other tests cut from the common one meanwhile, and may put another in its place.
        let slabs = RefCell::new(Slabs::NONE);
        for bytes in [300_000, 1 << 20] {
            let form = BlockForm::new((bytes, 64), 2304, 0..0).expect("a form");
            for _ in 0..3 {
                let piece = form.cut_from(|| slabs.borrow_mut()).expect("memory").addr().get() - form.pointer;
                let last: *mut u8 = core::ptr::with_exposed_provenance_mut(piece + form.bytes - 1);
                // SAFETY: nobody else has it.
                unsafe { last.write(1) };
                assert!(piece + form.bytes <= slabs.borrow().begun[0].end, "within the slab");
            }
        }
    }

    #[test]
    fn variables_that_a_block_would_not_hold_are_refused() {
        assert!(BlockForm::new((4224, 64), 2304, -100_000..0).is_none());
        assert!(BlockForm::new((4224, 64), 2304, 0..100_000).is_none());
        assert!(BlockForm::new((100, 64), 2304, -8..0).is_none() || !cfg!(target_arch = "x86_64"));
    }
}
