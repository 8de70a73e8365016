//! Owns: what an observer may read of control blocks.
//! May use: `raddle-context`.
//! Never: a word that the process itself does not write for others.

use super::Block;
use super::pool::{self, DepotGuard};
use raddle_context::Context;
use std::panic::Location;

/// What stands for the spawn site of a process that runs a job: a fork does not note where it was made.
pub(crate) static JOB_SITE: &Location<'static> = Location::caller();

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

impl Block {
    /// Whether the process has ended, though its result may still be there.
    pub fn has_ended(&self) -> bool {
        self.join.is_done()
    }

    /// Whether it has been made for a job that was taken. Nobody spawned it then.
    pub fn is_of_job(&self) -> bool {
        std::ptr::eq(self.site.get(), JOB_SITE)
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
