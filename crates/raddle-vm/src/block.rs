//! Owns: instructions on many bytes, which are done in pieces.
//! May use: `machine`, `scheduler`, `stop`, `raddle-bytecode`.
//! Never: more than [`PIECE_BYTES`] without a question whether the machine is to stop.
//!
//! One instruction may copy, fill, compare or clear all of the memory, which takes seconds. No other process needs a
//! turn meanwhile that it would not get a little later; but who wants the program to end is not to wait for it. So
//! between two pieces the scheduler is asked ([`Scheduler::look`]). What is abandoned then is half done, and nobody
//! looks at it any more.

use crate::machine::Machine;
use crate::scheduler::Scheduler;
use crate::stop::Stop;
use raddle_bytecode::Trap;

/// So many bytes are done at once: some tens of microseconds, and more than a frame has.
pub(crate) const PIECE_BYTES: u32 = 1 << 18;

/// So many bytes cost as much fuel as an instruction.
pub(crate) const BYTES_A_STEP: u32 = 16;

/// So many bytes of a block from the heap are cleared in place.
const SMALL_BYTES: u32 = 128;

impl<L: Default> Machine<L> {
    /// Does `count` bytes by pieces: each is called with its beginning, counted from that of all, and its length.
    #[cfg_attr(feature = "large", inline(always))]
    fn by_pieces<S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        count: u32,
        backwards: bool,
        mut piece: impl FnMut(u32, u32) -> Option<()>,
    ) -> Result<(), Stop> {
        let mut done = 0;
        loop {
            let length = (count - done).min(PIECE_BYTES);
            let from = if backwards { count - done - length } else { done };
            piece(from, length).ok_or(Trap::Address)?;
            if S::COUNTED {
                scheduler.worked(u64::from(length / 4));
            }
            done += length;
            if done == count {
                return Ok(());
            }
            if scheduler.look() {
                return Err(Stop::Over);
            }
        }
    }

    /// Copies; the two may overlap.
    #[inline(never)]
    pub(crate) fn copy_block<S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        (to, from): (u32, u32),
        count: u32,
    ) -> Result<(), Stop> {
        let memory = &self.memory;
        if !memory.has(to, count) || !memory.has(from, count) {
            return Err(Stop::Trap(Trap::Address));
        }
        // As within a piece: a copy to behind its origin begins at the end.
        self.by_pieces(scheduler, count, to > from, |at, length| memory.copy(to + at, from + at, length))
    }

    /// Sets bytes.
    #[inline(never)]
    pub(crate) fn fill_block<S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        at: u32,
        count: u32,
        value: u32,
    ) -> Result<(), Stop> {
        if !self.memory.has(at, count) {
            return Err(Stop::Trap(Trap::Address));
        }
        self.by_pieces(scheduler, count, false, |from, length| self.memory.fill(at + from, length, value))
    }

    /// Whether bytes are equal.
    #[inline(never)]
    pub(crate) fn equal_blocks<S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        (one, other): (u32, u32),
        count: u32,
    ) -> Result<bool, Stop> {
        let memory = &self.memory;
        if !memory.has(one, count) || !memory.has(other, count) {
            return Err(Stop::Trap(Trap::Address));
        }
        let mut equal = true;
        self.by_pieces(scheduler, count, false, |at, length| {
            equal = equal && memory.equal(one + at, other + at, length)?;
            Some(())
        })?;
        Ok(equal)
    }

    /// A zeroed block of at least so many bytes.
    #[inline(never)]
    pub(crate) fn alloc<S: Scheduler<Link = L>>(&self, scheduler: &S, bytes: u64) -> Result<u32, Stop> {
        let block = match S::SHARED {
            true => self.heap.alloc::<true>(&self.memory, bytes),
            false => self.heap.alloc::<false>(&self.memory, bytes),
        };
        let block = block.ok_or(Trap::Memory)?;
        // Nobody else knows of it yet.
        if cfg!(feature = "large") && block.used_before <= SMALL_BYTES {
            // PERF: `fill_block` was an eighth of a FORK.
            for at in (block.at..block.at + block.used_before).step_by(8) {
                self.memory.store_l(at, 0).ok_or(Trap::Address)?;
            }
        } else if block.used_before > 0 {
            self.fill_block(scheduler, block.at, block.used_before, 0)?;
        }
        Ok(block.at)
    }
}
