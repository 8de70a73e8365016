//! Owns: memory for small tasks: blocks that come back to the member who made them.
//! May use: nothing.
//! Never: a block of one member in the hands of two.
//!
//! Often one member makes tasks that others end. The memory that they free would go through locks of the allocator, so
//! it is collected, and given back some blocks at a time.

use std::alloc::{Layout, alloc};
use std::cell::Cell;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

/// What a task may be aligned to.
pub(super) const ALIGN: usize = align_of::<TaskBlock>();
/// A task of at most so many bytes, with what lies behind it, gets a block.
pub(super) const BYTES: usize = 512 - size_of::<TaskBlock>();
/// A member has no more of them than that.
const MOST: u32 = 2048;
/// So many are given back together.
const TOGETHER: u32 = 16;

/// What stands before the task.
#[repr(C, align(16))]
struct TaskBlock {
    next: *mut TaskBlock,
    home: *const BlockStore,
}

#[repr(C)]
struct WholeBlock(TaskBlock, [u8; BYTES]);

/// Blocks of others, on their way back.
#[derive(Clone, Copy)]
struct Parcel {
    home: *const BlockStore,
    first: *mut TaskBlock,
    last: *mut TaskBlock,
    count: u32,
}

const NOTHING: Parcel = Parcel { home: null(), first: null_mut(), last: null_mut(), count: 0 };

/// The blocks of a member.
pub(crate) struct BlockStore {
    free: Cell<*mut TaskBlock>,
    made: Cell<u32>,
    parcel: Cell<Parcel>,
    /// What others have given back: they add to it, and the member takes all.
    returned: AtomicPtr<TaskBlock>,
}

fn next_of(block: *mut TaskBlock) -> &'static Cell<*mut TaskBlock> {
    // SAFETY: a block is never freed while anybody has it, and who has it is alone with it.
    unsafe { Cell::from_mut(&mut (*block).next) }
}

impl BlockStore {
    pub(crate) fn new() -> BlockStore {
        BlockStore {
            free: Cell::new(null_mut()),
            made: Cell::new(0),
            parcel: Cell::new(NOTHING),
            returned: AtomicPtr::new(null_mut()),
        }
    }

    /// By its member: room for a task; null if it has too many, or there is no memory.
    pub(super) fn take(&self) -> *mut u8 {
        let mut block = self.free.get();
        if block.is_null() {
            block = self.returned.swap(null_mut(), Ordering::Acquire); // pairs with the release in `send`
        }
        if !block.is_null() {
            self.free.set(next_of(block).get());
            return block.wrapping_add(1).cast();
        }
        if self.made.get() >= MOST {
            return null_mut();
        }
        // SAFETY: the layout is not empty.
        let block = unsafe { alloc(Layout::new::<WholeBlock>()) }.cast::<TaskBlock>();
        if block.is_null() {
            return null_mut();
        }
        self.made.set(self.made.get() + 1);
        // SAFETY: it is new, and large enough.
        unsafe { block.write(TaskBlock { next: null_mut(), home: self }) };
        block.wrapping_add(1).cast()
    }

    /// By its member: room that it or another one has taken, and that nobody uses any more.
    pub(super) fn give(&self, room: *mut u8) {
        let block = room.cast::<TaskBlock>().wrapping_sub(1);
        // SAFETY: it stands before the room, written by `take`, and is not changed.
        let home = unsafe { (*block).home };
        if std::ptr::eq(home, self) {
            next_of(block).set(self.free.get());
            self.free.set(block);
            return;
        }
        let mut parcel = self.parcel.get();
        if parcel.home != home {
            parcel.send();
            parcel = Parcel { home, last: block, ..NOTHING };
        }
        next_of(block).set(parcel.first);
        (parcel.first, parcel.count) = (block, parcel.count + 1);
        if parcel.count == TOGETHER {
            parcel.send();
            parcel = NOTHING;
        }
        self.parcel.set(parcel);
    }
}

impl Parcel {
    fn send(self) {
        // SAFETY: null, or a member's; those are never freed.
        let Some(home) = (unsafe { self.home.as_ref() }) else { return };
        let returned = &home.returned;
        let mut before = returned.load(Ordering::Relaxed);
        loop {
            next_of(self.last).set(before);
            // pairs with the acquire in `take`
            match returned.compare_exchange_weak(before, self.first, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => before = now,
            }
        }
    }
}
