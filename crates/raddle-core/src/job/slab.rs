//! Owns: `Slot`, the room for a future that outlives the call that made it, and where slots come from.
//! May use: `protocol::jobs`.
//! Never: giving memory back; a slot that was used is used again.
//!
//! A slot is one cache line: the node, whose it is, and two words for the closure before it runs and for the result
//! after, in a box if they are larger. Each worker has a list of free slots, to which it takes and gives without an
//! atomic operation; lists that are too long go to the depot by whole chains, and empty ones come for one.

use crate::protocol::jobs::{Act, Node};
use crate::worker::Worker;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Slots in a chain.
const CHAIN: usize = 256;
const WORDS: usize = 2;

/// The room for one future.
#[repr(C, align(64))]
pub(crate) struct Slot {
    node: MaybeUninit<Node>,
    /// The header of the flow that made it, or its scope. While it is free: the next free one.
    home: Cell<*const ()>,
    room: [MaybeUninit<usize>; WORDS],
}

const fn fits<T>() -> bool {
    size_of::<T>() <= WORDS * size_of::<usize>() && align_of::<T>() <= align_of::<usize>()
}

impl Slot {
    /// Takes a free slot and puts a closure, whose it is, and what to do with it.
    #[inline(always)]
    pub(super) fn make<F>(worker: Option<&Worker>, home: *const (), act: Act, closure: F) -> *mut Node {
        let slot = match worker {
            Some(worker) => worker.slots.take(),
            None => depot().take_one(),
        };
        // SAFETY: a free slot is its taker's alone.
        unsafe { Node::make(slot.cast(), act) };
        // SAFETY: as above.
        unsafe { &*slot }.home.set(home);
        // SAFETY: as above.
        unsafe { Slot::put(slot.cast(), closure) };
        slot.cast()
    }

    /// Whose the future is.
    ///
    /// # Safety
    /// `node` begins a slot in use.
    #[inline(always)]
    pub(super) unsafe fn home(node: *mut Node) -> *const () {
        // SAFETY: passed on to the caller.
        unsafe { &*node.cast::<Slot>() }.home.get()
    }

    /// Puts a closure or a result.
    ///
    /// # Safety
    /// `node` begins a slot whose room is empty and the caller's.
    #[inline(always)]
    pub(super) unsafe fn put<T>(node: *mut Node, value: T) {
        // SAFETY: passed on to the caller.
        let room = unsafe { &raw mut (*node.cast::<Slot>()).room };
        if fits::<T>() {
            // SAFETY: as above; it is large and aligned enough.
            unsafe { room.cast::<T>().write(value) };
        } else {
            // SAFETY: as above; a pointer fits.
            unsafe { room.cast::<*mut T>().write(Box::into_raw(Box::new(value))) };
        }
    }

    /// Takes out what was put.
    ///
    /// # Safety
    /// `node` begins a slot in which a `T` was put, which nobody else takes.
    #[inline(always)]
    pub(super) unsafe fn take<T>(node: *mut Node) -> T {
        // SAFETY: passed on to the caller.
        let room = unsafe { &raw mut (*node.cast::<Slot>()).room };
        if fits::<T>() {
            // SAFETY: as above.
            return unsafe { room.cast::<T>().read() };
        }
        // SAFETY: as above: `put` has left a box.
        let boxed = unsafe { room.cast::<*mut T>().read() };
        // SAFETY: it came from `Box::into_raw`, and is taken once.
        *unsafe { Box::from_raw(boxed) }
    }

    /// Gives a slot back.
    ///
    /// # Safety
    /// `node` begins a slot with an empty room, in no list, at which nobody will look again.
    #[inline(always)]
    pub(super) unsafe fn free(worker: Option<&Worker>, node: *mut Node) {
        match worker {
            Some(worker) => worker.slots.give(node.cast()),
            None => depot().chains.push(chain_of_one(node.cast())),
        }
    }
}

/// Free slots, linked through `home`; the first of each chain.
#[derive(Debug)]
pub(crate) struct Depot {
    chains: Vec<(*mut Slot, usize)>,
}

// SAFETY: free slots belong to nobody; a chain is the right to use them.
unsafe impl Send for Depot {}

static DEPOT: Mutex<Depot> = Mutex::new(Depot { chains: Vec::new() });

/// Holds the depot.
pub(crate) type DepotGuard = MutexGuard<'static, Depot>;

/// Locks the depot.
pub(crate) fn depot() -> DepotGuard {
    // A panic while it was held would have been an allocation failure, which aborts: never poisoned.
    DEPOT.lock().unwrap_or_else(PoisonError::into_inner)
}

fn chain_of_one(slot: *mut Slot) -> (*mut Slot, usize) {
    // SAFETY: a free slot of the caller's.
    unsafe { &*slot }.home.set(std::ptr::null());
    (slot, 1)
}

impl Depot {
    fn take(&mut self) -> (*mut Slot, usize) {
        self.chains.pop().unwrap_or_else(cut)
    }

    fn take_one(&mut self) -> *mut Slot {
        let (first, len) = self.take();
        if len > 1 {
            // SAFETY: the chain is ours, and is longer than one.
            let rest = unsafe { &*first }.home.get();
            self.chains.push((rest.cast_mut().cast(), len - 1));
        }
        first
    }
}

/// A new chain.
fn cut() -> (*mut Slot, usize) {
    let empty = || Slot {
        node: MaybeUninit::uninit(),
        home: Cell::new(std::ptr::null()),
        room: [MaybeUninit::uninit(); WORDS],
    };
    let slots: Box<[Slot]> = (0..CHAIN).map(|_| empty()).collect();
    let slots: &'static [Slot] = Box::leak(slots);
    for pair in slots.windows(2) {
        pair[0].home.set((&raw const pair[1]).cast());
    }
    (slots.as_ptr().cast_mut(), CHAIN)
}

/// One worker's free slots.
#[derive(Debug)]
pub(crate) struct Slots {
    first: Cell<*mut Slot>,
    len: Cell<usize>,
    /// A full chain kept back, so that a worker at the edge does not go to the depot at each step.
    spare: Cell<*mut Slot>,
}

impl Slots {
    pub(crate) fn new() -> Self {
        Slots { first: Cell::new(null_mut()), len: Cell::new(0), spare: Cell::new(null_mut()) }
    }

    #[inline(always)]
    fn take(&self) -> *mut Slot {
        if self.first.get().is_null() {
            self.refill();
        }
        let first = self.first.get();
        // SAFETY: a free slot of this worker's.
        self.first.set(unsafe { &*first }.home.get().cast_mut().cast());
        self.len.set(self.len.get() - 1);
        first
    }

    #[inline(always)]
    fn give(&self, slot: *mut Slot) {
        if self.len.get() == CHAIN {
            self.spill();
        }
        // SAFETY: the caller's, and nobody else's.
        unsafe { &*slot }.home.set(self.first.get().cast());
        self.first.set(slot);
        self.len.set(self.len.get() + 1);
    }

    #[cold]
    #[inline(never)]
    fn refill(&self) {
        let spare = self.spare.replace(null_mut());
        let (first, len) = if spare.is_null() { depot().take() } else { (spare, CHAIN) };
        self.first.set(first);
        self.len.set(len);
    }

    #[cold]
    #[inline(never)]
    fn spill(&self) {
        let full = self.first.replace(null_mut());
        self.len.set(0);
        let older = self.spare.replace(full);
        if !older.is_null() {
            depot().chains.push((older, CHAIN));
        }
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        let mut depot = depot();
        for (first, len) in [(self.first.get(), self.len.get()), (self.spare.get(), CHAIN)] {
            if !first.is_null() {
                depot.chains.push((first, len));
            }
        }
    }
}
