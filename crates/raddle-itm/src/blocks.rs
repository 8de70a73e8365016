//! Owns: the blocks of memory that a transaction got and gave back.
//! May use: nothing.
//! Never: an allocator.
//!
//! It holds `unsafe` for what frees them: the program's.

use std::ffi::c_void;

/// A block, and what frees it.
#[derive(Clone, Copy)]
pub(crate) struct HeapBlock {
    pub(crate) address: *mut c_void,
    pub(crate) free: unsafe extern "C-unwind" fn(*mut c_void),
}

impl HeapBlock {
    pub(crate) fn free(self) {
        // SAFETY: its allocator's, and nobody has it any more.
        unsafe { (self.free)(self.address) };
    }
}

/// What one transaction got and gave back.
#[derive(Default)]
pub(crate) struct Blocks {
    pub(crate) got: Vec<HeapBlock>,
    pub(crate) given: Vec<HeapBlock>,
}

impl Blocks {
    #[inline(always)]
    pub(crate) const fn is_empty(&self) -> bool {
        self.got.is_empty() && self.given.is_empty()
    }

    pub(crate) const fn mark(&self) -> (usize, usize) {
        (self.got.len(), self.given.len())
    }

    pub(crate) fn commit(self) {
        self.given.into_iter().for_each(HeapBlock::free);
    }

    /// What came after `mark` was not so: those that are to be freed.
    pub(crate) fn undone(&mut self, mark: (usize, usize)) -> Vec<HeapBlock> {
        self.given.truncate(mark.1);
        self.got.split_off(mark.0)
    }
}
