//! Owns: the memory that `alloc` gives out: what the linker says is free, first fit, neighbours joined.
//! May use: one list; there is one thread and no interrupt.
//! Never: more than a walk along what is free.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ptr;

/// All blocks are of whole units.
const UNIT: usize = 8;

/// What lies at the beginning of a block that nobody has.
#[derive(Clone, Copy)]
struct Free {
    bytes: usize,
    next: *mut Free,
}

/// The free blocks, by address.
struct Heap {
    first: Cell<*mut Free>,
    /// How many blocks have been given out.
    given: Cell<u32>,
    /// How many bytes are out, the most that ever were, and all that there are.
    out: Cell<usize>,
    out_max: Cell<usize>,
    all: Cell<usize>,
    /// What was asked for last, and not there.
    refused: Cell<usize>,
}

// SAFETY: there is one thread.
unsafe impl Sync for Heap {}

#[global_allocator]
static HEAP: Heap = Heap {
    first: Cell::new(ptr::null_mut()),
    given: Cell::new(0),
    out: Cell::new(0),
    out_max: Cell::new(0),
    all: Cell::new(0),
    refused: Cell::new(0),
};

unsafe extern "C" {
    static mut heap_begin: u8;
    static mut heap_end: u8;
}

/// To be called before anything else.
pub(crate) fn prepare() {
    let begin = (&raw mut heap_begin).addr().next_multiple_of(UNIT);
    let bytes = ((&raw mut heap_end).addr() - begin) / UNIT * UNIT;
    HEAP.all.set(bytes);
    HEAP.put(begin, bytes);
}

/// How many blocks have been given out since the beginning.
pub(crate) fn given() -> u32 {
    HEAP.given.get()
}

/// The most bytes that were ever out at once, and all that there are.
pub(crate) fn most() -> [usize; 2] {
    [HEAP.out_max.get(), HEAP.all.get()]
}

/// How many bytes were asked for last that were not there; 0 if all ever were.
pub(crate) fn refused() -> usize {
    HEAP.refused.get()
}

fn units(layout: Layout) -> usize {
    layout.size().max(size_of::<Free>()).next_multiple_of(UNIT)
}

fn load(at: *mut Free) -> Free {
    // SAFETY: it is a block of the list, at whose beginning such a record lies.
    unsafe { at.read() }
}

fn store(at: *mut Free, block: Free) {
    // SAFETY: it lies in the heap, nobody has it, and it is aligned as all blocks are.
    unsafe { at.write(block) }
}

impl Heap {
    fn link(&self, before: *mut Free, next: *mut Free) {
        match before.is_null() {
            true => self.first.set(next),
            false => store(before, Free { next, ..load(before) }),
        }
    }

    /// Those bytes are free from now on.
    fn put(&self, at: usize, bytes: usize) {
        let (mut before, mut next) = (ptr::null_mut(), self.first.get());
        while !next.is_null() && next.addr() < at {
            (before, next) = (next, load(next).next);
        }
        let mut block = Free { bytes, next };
        let mut place = ptr::with_exposed_provenance_mut::<Free>(at);
        if !next.is_null() && at + bytes == next.addr() {
            let behind = load(next);
            block = Free { bytes: bytes + behind.bytes, next: behind.next };
        }
        if !before.is_null() && before.addr() + load(before).bytes == at {
            block.bytes += load(before).bytes;
            place = before;
            store(place, block);
            return;
        }
        store(place, block);
        self.link(before, place);
    }
}

// SAFETY: blocks do not overlap: what is given out leaves the list, and is cut from one block of it.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let bytes = units(layout);
        let (mut before, mut at) = (ptr::null_mut(), self.first.get());
        while !at.is_null() {
            let block = load(at);
            let begin = at.addr().next_multiple_of(layout.align().max(UNIT));
            let skipped = begin - at.addr();
            // What is skipped at the front stays a block; it must have room for a record.
            let enough = block.bytes >= skipped + bytes && (skipped == 0 || skipped >= size_of::<Free>());
            if enough {
                self.link(before, block.next);
                if skipped > 0 {
                    self.put(at.addr(), skipped);
                }
                let left = block.bytes - skipped - bytes;
                if left > 0 {
                    self.put(begin + bytes, left);
                }
                self.given.set(self.given.get() + 1);
                self.out.set(self.out.get() + bytes);
                self.out_max.set(self.out_max.get().max(self.out.get()));
                return ptr::with_exposed_provenance_mut(begin);
            }
            (before, at) = (at, block.next);
        }
        self.refused.set(bytes);
        ptr::null_mut()
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.out.set(self.out.get() - units(layout));
        self.put(block.addr(), units(layout));
    }
}
