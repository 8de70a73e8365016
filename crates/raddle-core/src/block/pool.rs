//! Owns: where blocks come from and go to: a free list for each worker, a depot for all.
//! May use: `libc`, `raddle-context`, `raddle-protocol`.
//! Never: giving memory back. A block stays a block for ever.
//!
//! A handle to a process holds the block's address and the generation of its token. It may outlive the process, the
//! runtime even, and still reads the token. So blocks come from slabs that are never freed ("type-stable memory",
//! Greenwald and Cheriton 1996), and the end of a life only raises the generation.
//! `crates/raddle-core/src/process/reclaim.md` argues it.
//!
//! Blocks are cut from regions that double up to two mebibytes, as huge pages where the kernel gives them: with small
//! pages the faults of the blocks alone cost 100 to 300 ns a process (PERF: bench `alive`).
//!
//! A worker takes and gives without an atomic operation. Blocks drift from workers that spawn to workers that end
//! processes; a list that is too long hands a chain to the depot, an empty one takes a chain from it.

use super::control::end_life;
use crate::block::Block;
use raddle_context::tls::TlsBlock;
use raddle_protocol::header::{FOREIGN, Header};
use std::alloc::{Layout, alloc, handle_alloc_error};
use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Blocks in a full chain.
const CHAIN: usize = 256;
/// Bytes of the first region, and of the largest: a huge page.
const REGION_MIN: usize = 16 * 1024;
const REGION_MAX: usize = 2 * 1024 * 1024;

/// A chain of free blocks, linked through their headers.
pub(crate) struct FreeChain {
    first: *mut Header,
    len: usize,
}

// SAFETY: free blocks belong to nobody; the chain is the right to use them.
unsafe impl Send for FreeChain {}

/// What all workers and threads share.
pub(crate) struct Depot {
    chains: Vec<FreeChain>,
    /// The part of the last region that has not been cut yet.
    uncut: *mut Block,
    uncut_len: usize,
    region_bytes: usize,
    /// All regions that there are, and the blocks that there is room for in each.
    regions: Vec<(*const Block, usize)>,
}

// SAFETY: the uncut region belongs to the depot, which is behind a lock.
unsafe impl Send for Depot {}

static DEPOT: Mutex<Depot> = Mutex::new(Depot {
    chains: Vec::new(),
    uncut: std::ptr::null_mut(),
    uncut_len: 0,
    region_bytes: REGION_MIN,
    regions: Vec::new(),
});

/// Holds the depot.
pub(crate) type DepotGuard = MutexGuard<'static, Depot>;

/// Locks the depot.
pub(crate) fn depot() -> DepotGuard {
    // A panic while it was held would have been an allocation failure, which aborts: never poisoned.
    DEPOT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Depot {
    /// A chain that was given back, or one cut anew.
    fn take(&mut self) -> FreeChain {
        self.chains.pop().unwrap_or_else(|| self.cut())
    }

    fn cut(&mut self) -> FreeChain {
        if self.uncut_len == 0 {
            self.map_region();
        }
        let len = self.uncut_len.min(CHAIN);
        let mut first = std::ptr::null_mut();
        for at in (0..len).rev() {
            // SAFETY: within the region, of which `uncut_len` blocks are left.
            let place = unsafe { self.uncut.add(at) };
            // SAFETY: aligned room for a block that nobody uses, for ever.
            unsafe { place.write(Block::empty()) };
            // SAFETY: just made, and never freed.
            let block = unsafe { &*place };
            block.header.link.set(first);
            first = block.as_header();
        }
        // SAFETY: at most the region's end.
        self.uncut = unsafe { self.uncut.add(len) };
        self.uncut_len -= len;
        FreeChain { first, len }
    }

    /// How many blocks there are, in a life or not.
    pub(crate) fn cut_blocks(&self) -> usize {
        self.regions.iter().map(|(_, len)| len).sum::<usize>() - self.uncut_len
    }

    /// Shows all blocks that there are, in a life or not.
    pub(crate) fn for_each_block(&self, mut look: impl FnMut(&'static Block)) {
        for (first, len) in &self.regions {
            // SAFETY: the region's end.
            let end = unsafe { first.add(*len) };
            let cut = if std::ptr::eq(end, self.end_of_uncut()) { len - self.uncut_len } else { *len };
            for at in 0..cut {
                // SAFETY: within the region.
                let block = unsafe { first.add(at) };
                // SAFETY: it has been cut, and is never freed.
                look(unsafe { &*block });
            }
        }
    }

    fn end_of_uncut(&self) -> *const Block {
        // SAFETY: the last region's end.
        unsafe { self.uncut.add(self.uncut_len) }
    }

    fn map_region(&mut self) {
        let layout = Layout::from_size_align(self.region_bytes, self.region_bytes.min(REGION_MAX))
            .expect("a region's size is a power of two");
        // SAFETY: the size is not zero.
        let region = unsafe { alloc(layout) };
        if region.is_null() {
            handle_alloc_error(layout);
        }
        if self.region_bytes == REGION_MAX {
            // SAFETY: advice about memory that is ours; a refusal leaves small pages.
            unsafe { libc::madvise(region.cast(), REGION_MAX, libc::MADV_HUGEPAGE) };
        }
        self.uncut = region.cast();
        self.uncut_len = self.region_bytes / size_of::<Block>();
        self.regions.push((self.uncut, self.uncut_len));
        self.region_bytes = (self.region_bytes * 2).min(REGION_MAX);
    }
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
        let chain = if spare.is_null() { depot().take() } else { FreeChain { first: spare, len: CHAIN } };
        self.first.set(chain.first);
        self.len.set(chain.len);
    }

    #[cold]
    fn spill(&self) {
        let full = self.first.replace(std::ptr::null_mut());
        self.len.set(0);
        let older = self.spare.replace(full);
        if !older.is_null() {
            depot().chains.push(FreeChain { first: older, len: CHAIN });
        }
    }
}

impl Drop for BlockPool {
    fn drop(&mut self) {
        let mut depot = depot();
        for (first, len) in [(self.first.get(), self.len.get()), (self.spare.get(), CHAIN)] {
            if !first.is_null() {
                depot.chains.push(FreeChain { first, len });
            }
        }
    }
}

/// Gives back a block, whose life is over, from a thread that is no worker. Under the lock, which whoever walks over
/// all blocks holds, too.
pub(crate) fn give_to_depot(block: &'static Block) {
    if block.header.is(FOREIGN) {
        // SAFETY: the caller is its only holder.
        unsafe { block.take_early_storage() }.into_iter().for_each(TlsBlock::give_to_depot);
    }
    let mut depot = depot();
    end_life(block);
    block.header.link.set(std::ptr::null_mut());
    depot.chains.push(FreeChain { first: block.as_header(), len: 1 });
}

/// Takes a block on a thread that is no worker.
pub(crate) fn take_from_depot() -> &'static Block {
    let mut depot = depot();
    let mut chain = depot.take();
    // SAFETY: a chain in the depot is not empty.
    let block = unsafe { Block::of_header(chain.first) };
    chain.first = block.header.link.get();
    chain.len -= 1;
    if chain.len > 0 {
        depot.chains.push(chain);
    }
    block
}
