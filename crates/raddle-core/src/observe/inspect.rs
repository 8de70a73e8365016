//! Owns: what observers may ask of runtimes, workers and control blocks, and of nobody's state.
//! May use: the public halves of all three; the list of all control blocks.
//! Never: a change to what is looked at.

use crate::block::Block;
use crate::block::pool::{self, DepotGuard};
use crate::blocking;
use crate::runtime::Shared;
use crate::worker::Worker;
use raddle_context::Context;
use std::panic::Location;

/// All control blocks that there are. While this is held, no OS thread of the program begins or ends a life in one.
pub struct Blocks(DepotGuard);

/// Locks the list of all control blocks.
pub fn blocks() -> Blocks {
    Blocks(pool::depot())
}

impl Blocks {
    /// How many there are, in a life or not.
    pub fn count(&self) -> usize {
        self.0.cut_blocks()
    }

    /// Shows all, in a life or not.
    pub fn for_each(&self, look: impl FnMut(&'static Block)) {
        self.0.for_each_block(look);
    }
}

/// Whether no spare OS thread has anything to do.
pub fn spares_are_idle() -> bool {
    blocking::lock_pool().is_idle()
}

impl Shared {
    /// How many processes and cells live.
    pub fn count_alive(&self) -> u64 {
        self.alive(&self.total())
    }

    /// Whether all its workers sleep.
    pub fn all_workers_sleep(&self) -> bool {
        self.idle.all_asleep().is_some()
    }

    /// Whether the worker of this number sleeps, at a glance.
    pub fn worker_sleeps(&self, index: usize) -> bool {
        self.idle.is_asleep(index)
    }
}

impl Worker {
    /// Whether it follows a seed.
    pub fn follows_seed(&self) -> bool {
        self.seeded.is_some()
    }
}

impl Block {
    /// Whether the process has ended, though its result may still be there.
    pub fn has_ended(&self) -> bool {
        self.join.is_done()
    }

    /// Where it was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.site.get()
    }

    /// Where its stack was left.
    ///
    /// # Safety
    /// It has left its stack, or not begun, and nobody resumes it meanwhile.
    pub unsafe fn context_there(&self) -> &Context {
        // SAFETY: nobody writes it, the caller says.
        unsafe { &*self.context.get() }
    }
}
