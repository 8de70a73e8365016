//! Owns: slabs, the reservations that stacks are cut from.
//! May use: `valgrind`, `libc`.
//! Never: a slot after it was cut; that belongs to whoever holds the `Stack`.
//!
//! A slab is one private anonymous mapping without reserved swap (`MAP_NORESERVE`): it costs address space
//! until it is touched. Huge pages are disabled for it: they would turn the one touched page of a stack into 2 MiB.
//!
//! The guard at the low end of a slot is a *guard region* where the kernel supports them (Linux 6.13,
//! `MADV_GUARD_INSTALL`): a mark in the page table, so that the mapping stays one piece. Before that it is
//! a page without access rights, which splits the mapping in two and so counts against `vm.max_map_count`.
//!
//! Slots are cut several at a time, so that `advice` can ask for all their guards at once.
//!
//! It uses mmap, madvise, mprotect.

use super::error::FailedStep;
use super::{Guard, PAGE, SizeClass, advice, ranges};
use crate::valgrind;
use core::ptr::NonNull;

/// `MADV_GUARD_INSTALL`, which the `libc` crate does not define yet.
const MADV_GUARD_INSTALL: i32 = 102;

/// A kernel's refusal: which step, and its error number.
pub(crate) type Refusal = (FailedStep, i32);

/// One mapping, cut from its low end upwards.
#[derive(Debug)]
pub(crate) struct Slab {
    base: NonNull<u8>,
    slots: usize,
    cut: usize,
    stride: usize,
    range: &'static ranges::Range,
    /// Valgrind's numbers of the stacks, if it is there.
    registered: Vec<valgrind::StackId>,
}

impl Slab {
    /// Bytes from one slot of `class` to the next: the guard page and the stack.
    pub(crate) const fn stride(class: SizeClass) -> usize {
        PAGE + class.bytes()
    }

    /// Reserves address space for `slots` stacks.
    pub(crate) fn reserve(class: SizeClass, slots: usize) -> Result<Slab, Refusal> {
        let stride = Self::stride(class);
        let bytes = slots * stride;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches no existing memory.
        let at = unsafe {
            libc::mmap(core::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        let base = match NonNull::new(at.cast::<u8>()) {
            Some(base) if at != libc::MAP_FAILED => base,
            _ => return Err((FailedStep::Map, errno())),
        };
        // A kernel without huge pages returns EINVAL; then there is nothing to disable.
        // SAFETY: the range is the mapping just made.
        unsafe { libc::madvise(base.as_ptr().cast(), bytes, libc::MADV_NOHUGEPAGE) };
        let range = ranges::add(base.addr().get(), bytes, stride);
        Ok(Slab { base, slots, cut: 0, stride, range, registered: Vec::new() })
    }

    /// Cuts up to `count` slots and guards them; returns how many, and none only if the slab is used up.
    pub(crate) fn cut(
        &mut self,
        guard: &mut Guard,
        count: usize,
        into: &mut Vec<NonNull<u8>>,
    ) -> Result<usize, Refusal> {
        let count = count.min(self.slots - self.cut).min(advice::AT_A_TIME);
        if count == 0 {
            return Ok(0);
        }
        let first = self.slot(self.cut);
        if self.cut == 0 && *guard == Guard::Best && !guard_holds(first) {
            *guard = Guard::Protect;
        }
        let pages = (0..count).map(|n| self.slot(self.cut + n));
        let mut guarded = if *guard == Guard::Best { advice::give_all(pages, MADV_GUARD_INSTALL) } else { 0 };
        if guarded == 0 {
            install(guard, first)?;
            guarded = 1;
        }
        let slots = self.cut..self.cut + guarded;
        self.cut += guarded;
        for number in slots {
            let slot = self.slot(number);
            let low = slot.addr().get() + PAGE;
            self.registered.extend(valgrind::register(low..low + self.stride - PAGE));
            into.push(slot);
        }
        Ok(guarded)
    }

    /// The lowest address of a slot of this slab.
    fn slot(&self, number: usize) -> NonNull<u8> {
        debug_assert!(number < self.slots, "slot {number} of {}", self.slots);
        // SAFETY: callers pass the number of a slot, so that the offset stays inside the mapping.
        unsafe { self.base.add(number * self.stride) }
    }

    /// How many slots have been cut.
    pub(crate) fn cut_count(&self) -> usize {
        self.cut
    }

    /// Gives the mapping back.
    ///
    /// # Safety
    /// No `Stack` cut from it is held by anyone.
    #[inline(never)]
    pub(crate) unsafe fn unmap(&mut self) {
        self.registered.drain(..).for_each(valgrind::deregister);
        self.range.retire();
        // SAFETY: the range is exactly the mapping that `reserve` made, and the caller says that nobody
        // uses it.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.slots * self.stride) };
    }
}

/// Guards one page by the best means of this kernel; what it lacks is remembered in `guard`.
fn install(guard: &mut Guard, page: NonNull<u8>) -> Result<(), Refusal> {
    if *guard == Guard::Best {
        match advise(page, MADV_GUARD_INSTALL) {
            Ok(()) => return Ok(()),
            Err(libc::EINVAL) => *guard = Guard::Protect,
            Err(errno) => return Err((FailedStep::Guard, errno)),
        }
    }
    // SAFETY: the page lies in a slab of ours and has not been handed out.
    match unsafe { libc::mprotect(page.as_ptr().cast(), PAGE, libc::PROT_NONE) } {
        0 => Ok(()),
        _ => Err((FailedStep::Guard, errno())),
    }
}

/// Whether guard regions really work. An emulator (qemu-user) may accept the call and do nothing. Then it also succeeds
/// in populating the page, which fails with EFAULT in a guard region.
fn guard_holds(page: NonNull<u8>) -> bool {
    advise(page, MADV_GUARD_INSTALL).is_ok() && advise(page, libc::MADV_POPULATE_READ) == Err(libc::EFAULT)
}

fn advise(page: NonNull<u8>, advice: i32) -> Result<(), i32> {
    // SAFETY: callers pass a guard page, which lies in a slab of ours and holds no value.
    if unsafe { libc::madvise(page.as_ptr().cast(), PAGE, advice) } == 0 { Ok(()) } else { Err(errno()) }
}

/// Gives the pages of the stack in `slot` back to the kernel; the guard stays. They read as zero when
/// touched again.
///
/// # Safety
/// The slot is free: nobody holds its `Stack`.
pub(crate) unsafe fn discard(slot: NonNull<u8>, class: SizeClass) {
    // SAFETY: slot + PAGE .. slot + stride is inside one slot of a slab.
    let usable = unsafe { slot.add(PAGE) };
    // SAFETY: the caller says that the slot is free, so that no value lives there.
    unsafe { libc::madvise(usable.as_ptr().cast(), class.bytes(), libc::MADV_DONTNEED) };
}

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
