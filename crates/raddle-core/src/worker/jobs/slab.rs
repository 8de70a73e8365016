//! Owns: `Slot`, the room for a fork that outlives the call that made it, and where slots come from.
//! May use: `worker::here`, `worker::room`, `raddle-protocol`.
//! Never: giving memory back; a slot that was used is used again.
//!
//! A slot is one cache line: the node, whose it is, and two words for the closure before it runs and for the result
//! after, in a room of its own if they are larger. Each worker has a stack of free slots, from which it takes and to
//! which it gives without an atomic operation; what is too much goes to the depot by whole chains, and an empty one
//! comes for one.

use super::chunks::ChunkChain;
use crate::worker::room;
use crate::worker::{Here, LocalWorker};
use raddle_protocol::protocol::jobs::{Act, Node};
use std::cell::Cell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::{NonNull, null_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Slots in a chain.
const CHAIN: usize = 256;
const WORDS: usize = 2;

/// The room for one fork.
#[repr(C, align(64))]
pub struct Slot {
    node: MaybeUninit<Node>,
    /// The header of the flow that made it, or its scope; of a free slot in a chain, the next one.
    home: Cell<*const ()>,
    room: [MaybeUninit<usize>; WORDS],
}

const fn fits<T>() -> bool {
    size_of::<T>() <= WORDS * size_of::<usize>() && align_of::<T>() <= align_of::<usize>()
}

impl Slot {
    /// Takes a free slot and puts a closure, whose it is, and what to do with it.
    #[inline(always)]
    pub fn make<F>(home: *const (), act: Act, closure: F) -> *mut Node {
        // SAFETY: it is gone when this returns, and nothing leaves its stack meanwhile.
        let worker = unsafe { Here::current() };
        Slot::make_on(worker.as_deref(), home, act, closure)
    }

    /// As [`make`](Self::make), for a caller that knows where it runs.
    #[inline(always)]
    #[allow(clippy::not_unsafe_ptr_arg_deref, reason = "it is kept, and never followed")]
    pub fn make_on<F>(worker: Option<&LocalWorker>, home: *const (), act: Act, closure: F) -> *mut Node {
        let slot = match worker {
            Some(worker) => worker.slots().take(),
            None => depot().take_one(),
        };
        // SAFETY: a free slot is its taker's alone.
        unsafe { Slot::fill(slot.cast(), home, act, closure) };
        slot.cast()
    }

    /// Puts a closure into a free slot.
    ///
    /// # Safety
    /// `node` begins a free slot, which is the caller's.
    #[inline(always)]
    pub unsafe fn fill<F>(node: *mut Node, home: *const (), act: Act, closure: F) {
        // SAFETY: passed on to the caller.
        unsafe { Node::make(node.cast(), act) };
        // SAFETY: as above.
        unsafe { &*node.cast::<Slot>() }.home.set(home);
        // SAFETY: as above.
        unsafe { Slot::put(node, closure) };
    }

    /// Whose the fork is.
    ///
    /// # Safety
    /// `node` begins a slot in use.
    #[inline(always)]
    pub unsafe fn home(node: *mut Node) -> *const () {
        // SAFETY: passed on to the caller.
        unsafe { &*node.cast::<Slot>() }.home.get()
    }

    /// Puts a closure or a result.
    ///
    /// # Safety
    /// `node` begins a slot whose room is empty and the caller's.
    #[inline(always)]
    pub unsafe fn put<T>(node: *mut Node, value: T) {
        // SAFETY: passed on to the caller.
        let room = unsafe { &raw mut (*node.cast::<Slot>()).room };
        if fits::<T>() {
            // SAFETY: as above; it is large and aligned enough.
            unsafe { room.cast::<T>().write(value) };
        } else {
            // SAFETY: it is gone when this returns, and nothing leaves its stack meanwhile.
            let here = unsafe { Here::current() };
            let far = room::put(here.as_deref().map(LocalWorker::rooms), value);
            // SAFETY: as above; a pointer fits.
            unsafe { room.cast::<NonNull<T>>().write(far) };
        }
    }

    /// Takes out what was put.
    ///
    /// # Safety
    /// `node` begins a slot in which a `T` was put, which nobody else takes.
    #[inline(always)]
    pub unsafe fn take<T>(node: *mut Node) -> T {
        // SAFETY: passed on to the caller.
        let room = unsafe { &raw mut (*node.cast::<Slot>()).room };
        if fits::<T>() {
            // SAFETY: as above.
            return unsafe { room.cast::<T>().read() };
        }
        // SAFETY: as above: `put` has left where it is.
        let far = unsafe { room.cast::<NonNull<T>>().read() };
        // SAFETY: it is gone when this returns, and nothing leaves its stack meanwhile.
        let here = unsafe { Here::current() };
        // SAFETY: it was put there, and is taken once.
        unsafe { room::take_out(here.as_deref().map(LocalWorker::rooms), far) }
    }

    /// Gives a slot back.
    ///
    /// # Safety
    /// `node` begins a slot with an empty room, in no list, at which nobody will look again.
    #[inline(always)]
    pub unsafe fn free(node: *mut Node) {
        // SAFETY: it is gone when this returns, and nothing leaves its stack meanwhile.
        match unsafe { Here::current() } {
            Some(worker) => worker.slots().give(node.cast()),
            None => depot().push_one(node.cast()),
        }
    }
}

/// A free slot that somebody holds who is no worker.
#[derive(Debug)]
pub struct SpareSlot(*mut Slot);

// SAFETY: a free slot belongs to nobody; this is the right to use it.
unsafe impl Send for SpareSlot {}

impl SpareSlot {
    /// Takes one. It may ask for memory.
    pub fn take() -> SpareSlot {
        SpareSlot(depot().take_one())
    }

    /// The slot, to be filled.
    pub(super) fn into_node(self) -> *mut Node {
        ManuallyDrop::new(self).0.cast()
    }
}

impl Drop for SpareSlot {
    fn drop(&mut self) {
        depot().push_one(self.0);
    }
}

/// Free slots, [`CHAIN`] at most, linked through `home`.
#[derive(Debug)]
struct SlotChain {
    first: *mut Slot,
    count: usize,
}

/// Free slots, and free chunks.
#[derive(Debug)]
pub struct Depot {
    chains: Vec<SlotChain>,
    pub chunks: Vec<ChunkChain>,
}

// SAFETY: free slots belong to nobody; a chain is the right to use them.
unsafe impl Send for SlotChain {}

impl SlotChain {
    const EMPTY: SlotChain = SlotChain { first: null_mut(), count: 0 };

    /// Takes up a free slot, which is the caller's.
    fn push(&mut self, slot: *mut Slot) {
        // SAFETY: a free slot is its holder's alone.
        unsafe { &*slot }.home.set(self.first.cast_const().cast());
        self.first = slot;
        self.count += 1;
    }

    fn pop(&mut self) -> Option<*mut Slot> {
        self.count = self.count.checked_sub(1)?;
        let slot = self.first;
        // SAFETY: as in `push`; there was one.
        self.first = unsafe { &*slot }.home.get().cast_mut().cast();
        Some(slot)
    }
}

static DEPOT: Mutex<Depot> = Mutex::new(Depot { chains: Vec::new(), chunks: Vec::new() });

/// Holds the depot.
pub type DepotGuard = MutexGuard<'static, Depot>;

/// Locks the depot.
pub fn depot() -> DepotGuard {
    // A panic while it was held would have been an allocation failure, which aborts: never poisoned.
    DEPOT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Depot {
    fn take(&mut self) -> SlotChain {
        self.chains.pop().unwrap_or_else(cut)
    }

    /// For a thread that is no worker.
    fn take_one(&mut self) -> *mut Slot {
        let mut chain = self.take();
        let one = chain.first;
        // It is not empty.
        let _same = chain.pop();
        if chain.count > 0 {
            self.chains.push(chain);
        }
        one
    }

    /// From such a thread.
    fn push_one(&mut self, slot: *mut Slot) {
        let mut chain = SlotChain::EMPTY;
        chain.push(slot);
        self.chains.push(chain);
    }
}

/// A new chain.
fn cut() -> SlotChain {
    let empty = || Slot {
        node: MaybeUninit::uninit(),
        home: Cell::new(std::ptr::null()),
        room: [MaybeUninit::uninit(); WORDS],
    };
    let slots: Box<[Slot]> = (0..CHAIN).map(|_| empty()).collect();
    let slots: &'static mut [Slot] = Box::leak(slots);
    let mut chain = SlotChain::EMPTY;
    slots.iter_mut().rev().for_each(|slot| chain.push(std::ptr::from_mut(slot)));
    chain
}

/// One worker's free slots.
///
/// An array of their addresses, not a list through them: a list makes each take wait for a load from the slot that the
/// one before it took (2 ns of 7 for a fork, PERF: bench `flat`).
#[derive(Debug)]
pub struct Slots {
    count: Cell<usize>,
    free: [Cell<*mut Slot>; 2 * CHAIN],
}

impl Slots {
    pub fn new() -> Self {
        Slots { count: Cell::new(0), free: [const { Cell::new(null_mut()) }; 2 * CHAIN] }
    }

    #[inline(always)]
    fn take(&self) -> *mut Slot {
        if self.count.get() == 0 {
            self.refill();
        }
        let left = self.count.get() - 1;
        self.count.set(left);
        self.free[left].get()
    }

    #[inline(always)]
    fn give(&self, slot: *mut Slot) {
        if self.count.get() == self.free.len() {
            self.spill();
        }
        let count = self.count.get();
        self.free[count].set(slot);
        self.count.set(count + 1);
    }

    #[cold]
    #[inline(never)]
    fn refill(&self) {
        let mut chain = depot().take();
        self.count.set(chain.count);
        // The first of the chain is the first to be taken.
        let places = self.free[..chain.count].iter().rev();
        places.zip(std::iter::from_fn(|| chain.pop())).for_each(|(place, slot)| place.set(slot));
    }

    #[cold]
    #[inline(never)]
    fn spill(&self) {
        let left = self.count.get() - self.count.get().min(CHAIN);
        let mut chain = SlotChain::EMPTY;
        self.free[left..self.count.get()].iter().for_each(|place| chain.push(place.get()));
        self.count.set(left);
        depot().chains.push(chain);
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        while self.count.get() > 0 {
            self.spill();
        }
    }
}
