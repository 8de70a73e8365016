//! Owns: where the chunks come from that bags keep forks in, and where they go.
//! May use: `worker`, `raddle-protocol`.
//! Never: giving memory back; a chunk that was used is used again.

use super::slab::depot;
use crate::worker::Here;
use raddle_protocol::protocol::bag::{CHUNK_BYTES, Chunk};
use std::alloc::{Layout, alloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::null_mut;

/// Chunks that go to the depot, and come from it, together.
const CHAIN: usize = 64;

/// One worker's free chunks, linked through `older`.
#[derive(Debug)]
pub struct Chunks {
    first: Cell<*mut Chunk>,
    count: Cell<usize>,
}

/// A chain of free chunks.
#[derive(Debug)]
pub struct ChunkChain {
    first: *mut Chunk,
    count: usize,
}

// SAFETY: free chunks belong to nobody; a chain is the right to use them.
unsafe impl Send for ChunkChain {}

impl Chunks {
    pub fn new() -> Self {
        Chunks { first: Cell::new(null_mut()), count: Cell::new(0) }
    }

    /// A free chunk.
    pub fn take(&self) -> *mut Chunk {
        if self.count.get() == 0 {
            let chain = depot().chunks.pop().unwrap_or_else(new_chain);
            self.first.set(chain.first);
            self.count.set(chain.count);
        }
        let chunk = self.first.get();
        // SAFETY: a free chunk is its holder's alone.
        self.first.set(unsafe { &*chunk }.older.get());
        self.count.set(self.count.get() - 1);
        chunk
    }

    /// Takes a chunk that is free.
    ///
    /// # Safety
    /// It is a chunk of a bag, free, and the caller's alone.
    pub unsafe fn give(&self, chunk: *mut Chunk) {
        if self.count.get() == 2 * CHAIN {
            self.spill(CHAIN);
        }
        // SAFETY: a free chunk is its holder's alone.
        unsafe { &*chunk }.older.set(self.first.get());
        self.first.set(chunk);
        self.count.set(self.count.get() + 1);
    }

    /// The `count` that came last go to the depot.
    #[cold]
    fn spill(&self, count: usize) {
        let first = self.first.get();
        let mut last = first;
        for _ in 1..count {
            // SAFETY: there are so many, and they are ours.
            last = unsafe { &*last }.older.get();
        }
        // SAFETY: as above.
        self.first.set(unsafe { &*last }.older.replace(null_mut()));
        self.count.set(self.count.get() - count);
        depot().chunks.push(ChunkChain { first, count });
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        if self.count.get() > 0 {
            self.spill(self.count.get());
        }
    }
}

/// Takes a chunk that is free, wherever the caller runs.
pub(super) fn give(chunk: *mut Chunk) {
    // SAFETY: it is gone when this returns, and nothing leaves its stack meanwhile.
    match unsafe { Here::current() } {
        // SAFETY: free, and the caller's: it came out of a bag as such.
        Some(worker) => unsafe { worker.chunks().give(chunk) },
        None => depot().chunks.push(ChunkChain { first: chunk, count: 1 }),
    }
}

#[cold]
fn new_chain() -> ChunkChain {
    let layout = Layout::from_size_align(CHAIN * CHUNK_BYTES, CHUNK_BYTES).expect("a chain is no larger");
    // SAFETY: the size is not zero.
    let region = unsafe { alloc(layout) };
    if region.is_null() {
        handle_alloc_error(layout);
    }
    let mut first = null_mut();
    for index in (0..CHAIN).rev() {
        let chunk = region.wrapping_add(index * CHUNK_BYTES).cast::<Chunk>();
        // SAFETY: it begins a page of the region, which is ours.
        unsafe { chunk.write(Chunk::free(first)) };
        first = chunk;
    }
    ChunkChain { first, count: CHAIN }
}
