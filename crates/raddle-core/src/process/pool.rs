//! Owns: where blocks come from and go to: a free list for each worker, a depot for all.
//! May use: `process::block`.
//! Never: giving memory back. A block stays a block for ever.
//!
//! A handle to a process holds the block's address and the generation of its token. It may outlive the process, the
//! runtime even, and still reads the token. So blocks come from slabs that are never freed ("type-stable memory",
//! Greenwald and Cheriton 1996), and the end of a life only raises the generation. `reclaim.md` argues it.
//!
//! A worker takes and gives without an atomic operation. Blocks drift from workers that spawn to workers that end
//! processes; a list that is too long hands a chain to the depot, an empty one takes a chain from it.

use super::block::Block;
use crate::header::Header;
use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

const SLAB: usize = 64;
const CHAIN: usize = 256;

/// A chain of free blocks, linked through their headers.
pub(crate) struct FreeChain {
    first: *mut Header,
    len: usize,
}

// SAFETY: free blocks belong to nobody; the chain is the right to use them.
unsafe impl Send for FreeChain {}

static DEPOT: Mutex<Vec<FreeChain>> = Mutex::new(Vec::new());

/// Holds the depot.
pub(crate) type DepotGuard = MutexGuard<'static, Vec<FreeChain>>;

/// Locks the depot.
pub(crate) fn depot() -> DepotGuard {
    // A panic while it was held would have been an allocation failure in `push`, which aborts: never poisoned.
    DEPOT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One worker's free list.
#[derive(Debug)]
pub(crate) struct BlockPool {
    first: Cell<*mut Header>,
    len: Cell<usize>,
    /// A full chain kept back, so that a worker at the edge does not go to the depot at each step.
    spare: Cell<*mut Header>,
}

impl BlockPool {
    pub(crate) fn new() -> Self {
        let null = std::ptr::null_mut();
        BlockPool { first: Cell::new(null), len: Cell::new(0), spare: Cell::new(null) }
    }

    /// A block in no life, whose only holder is the caller.
    #[inline(always)]
    pub(crate) fn take(&self) -> &'static Block {
        if self.first.get().is_null() {
            self.refill();
        }
        let first = self.first.get();
        // SAFETY: the list holds free blocks and `refill` made it non-empty.
        let block = unsafe { Block::of_header(first) };
        self.first.set(block.header.link.get());
        self.len.set(self.len.get() - 1);
        block
    }

    /// Gives back a block whose life is over; the caller was its only holder.
    #[inline(always)]
    pub(crate) fn give(&self, block: &'static Block) {
        if self.len.get() == CHAIN {
            self.spill();
        }
        block.header.link.set(self.first.get());
        self.first.set(block.as_header());
        self.len.set(self.len.get() + 1);
    }

    #[cold]
    fn refill(&self) {
        let spare = self.spare.replace(std::ptr::null_mut());
        let chain = if spare.is_null() {
            depot().pop().unwrap_or_else(new_slab)
        } else {
            FreeChain { first: spare, len: CHAIN }
        };
        self.first.set(chain.first);
        self.len.set(chain.len);
    }

    #[cold]
    fn spill(&self) {
        let full = self.first.replace(std::ptr::null_mut());
        self.len.set(0);
        let older = self.spare.replace(full);
        if !older.is_null() {
            depot().push(FreeChain { first: older, len: CHAIN });
        }
    }
}

impl Drop for BlockPool {
    fn drop(&mut self) {
        let mut depot = depot();
        for (first, len) in [(self.first.get(), self.len.get()), (self.spare.get(), CHAIN)] {
            if !first.is_null() {
                depot.push(FreeChain { first, len });
            }
        }
    }
}

/// Gives back a block from a thread that is no worker.
pub(crate) fn give_to_depot(block: &'static Block) {
    block.header.link.set(std::ptr::null_mut());
    depot().push(FreeChain { first: block.as_header(), len: 1 });
}

/// Takes a block on a thread that is no worker.
pub(crate) fn take_from_depot() -> &'static Block {
    let mut depot = depot();
    let mut chain = depot.pop().unwrap_or_else(new_slab);
    // SAFETY: a chain in the depot is not empty.
    let block = unsafe { Block::of_header(chain.first) };
    chain.first = block.header.link.get();
    chain.len -= 1;
    if chain.len > 0 {
        depot.push(chain);
    }
    block
}

fn new_slab() -> FreeChain {
    let slab: &'static [Block] = Box::leak((0..SLAB).map(|_| Block::empty()).collect());
    let mut first = std::ptr::null_mut();
    for block in slab.iter().rev() {
        block.header.link.set(first);
        first = block.as_header();
    }
    FreeChain { first, len: SLAB }
}
