//! Owns: `Stack`, the right to run on one guarded piece of memory.
//! May use: nothing.
//! Never: the memory of a stack that is taken, except to fill it on request before it is used.
//!
//! ```text
//!   worker's StackPool        StackDepot (shared)            slabs (one mmap each)
//!   [ warm, LIFO, 256 ] <---> [ cold, by the batch ] <------ [g|stack][g|stack][g|stack] ...
//! ```
//!
//! A slab is a reservation for many stacks; a slot of it is a guard page and, above, the usable bytes. A
//! slot gets its guard when it is first handed out, and keeps it. Nothing is ever unmapped while the depot
//! lives; see [`StackDepot::trim`] for what goes back to the kernel, and when.
//!
//! It uses slabs through the depot.

mod advice;
mod class;
mod depot;
mod error;
mod high_water;
mod pool;
pub(crate) mod ranges;
mod slab;

pub use class::SizeClass;
pub use depot::{Guard, StackDepot, StackOptions};
pub use error::StackError;
pub use pool::StackPool;

use core::ops::Range;
use core::ptr::NonNull;

/// Bytes of a page, and of the guard below each stack.
pub(crate) const PAGE: usize = 4096;

/// A stack in use: the owner of this value may run on it. Not `Clone`; give it back with [`StackPool::give`].
///
/// Dropping it instead leaks the stack until its depot is gone, and keeps that depot's memory mapped.
///
/// The address of the slot's first byte, where the guard page is; in its lowest bits, which are zero, the class and
/// `FILLED`. PERF: one word stays in a register. An address, a byte and a flag went through memory piece by piece and
/// were read as a whole, which stalls the processor until all parts have reached the cache: bench `create_join`.
#[derive(Debug)]
pub struct Stack(NonNull<u8>);

/// The bits below a slot's address that hold the class.
const CLASS: usize = 7;
/// The bit that says that the stack was filled before it was used.
const FILLED: usize = 8;

// SAFETY: a Stack is an exclusive right to a piece of memory and has no tie to the OS thread that took it.
unsafe impl Send for Stack {}

impl Stack {
    #[inline(always)]
    fn new(slot: NonNull<u8>, class: SizeClass) -> Stack {
        Stack(slot.map_addr(|address| address | class.index()))
    }

    #[inline(always)]
    fn slot(&self) -> NonNull<u8> {
        let slot = self.0.as_ptr().map_addr(|address| address & !(CLASS | FILLED));
        // SAFETY: it is what `new` got: only the bits that were zero there have been taken away.
        unsafe { NonNull::new_unchecked(slot) }
    }

    #[inline(always)]
    fn is_filled(&self) -> bool {
        self.0.addr().get() & FILLED != 0
    }

    fn mark_filled(&mut self) {
        self.0 = self.0.map_addr(|address| address | FILLED);
    }

    /// Where a context starts: 64-byte aligned, and *coloured*.
    ///
    /// Page-aligned stacks would all put their hottest lines into the same few cache sets. The top is
    /// lowered by 0 to 31 lines of 64 bytes, taken from the slot's page number: consecutive slots of a
    /// slab differ. At least 2112 bytes of the highest page remain, so that a shallow process touches one page.
    #[inline]
    pub fn top(&self) -> *mut u8 {
        let slot = self.slot().as_ptr();
        let colour = (slot.addr() / PAGE % 32) * 64;
        slot.wrapping_add(PAGE + self.class().bytes() - colour)
    }

    /// The lowest usable byte; below lies the guard page.
    #[inline]
    pub fn limit(&self) -> *mut u8 {
        self.slot().as_ptr().wrapping_add(PAGE)
    }

    /// Bytes between [`Stack::limit`] and [`Stack::top`].
    pub fn bytes(&self) -> usize {
        self.top().addr() - self.limit().addr()
    }

    /// Its memory, to the end of the highest page.
    #[inline]
    pub fn memory(&self) -> Range<*mut u8> {
        let limit = self.limit();
        limit..limit.wrapping_add(self.class().bytes())
    }

    /// The size class it was taken from.
    #[inline]
    pub fn class(&self) -> SizeClass {
        SizeClass::of_bits(self.0.addr().get() & CLASS)
    }
}
