//! Owns: `Slots`: who runs a transaction, and since when; so what may be freed.
//! May use: `mistake`, `prim`, `raddle-protocol`.
//! Never: an OS thread's own memory: a slot belongs to a transaction, wherever that runs.
//!
//! | `since` | meaning | who leaves it |
//! |---|---|---|
//! | 0 | nobody has the slot | whoever takes it, by the one locked instruction of a transaction's begin |
//! | time and a bit | somebody has it, and began at that time or later | that one, by a store |
//!
//! Slots are never freed, and there are as many as transactions have run at once: a process that is parked has none.
//! `slots.md` has the argument why nothing is freed that somebody may still read.

use crate::mistake::{Mistake, made};
use crate::prim::{AtomicPtr, AtomicU64, Ordering, const_fn, fence_after_locked};
use crate::protocol::clock::VersionClock;
use std::cell::UnsafeCell;

/// So many slots are together.
pub(crate) const CHUNK: usize = if cfg!(loom) { 2 } else { 64 };

const FREE: u64 = 0;

/// A place for one transaction at a time, with what it works with. On cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct TxSlot<L> {
    since: AtomicU64,
    inside: UnsafeCell<L>,
}

// SAFETY: what is inside is touched by whoever has the slot only.
unsafe impl<L: Send> Sync for TxSlot<L> {}

impl<L> TxSlot<L> {
    const_fn! {
        /// A slot that nobody has.
        pub(crate) fn new(inside: L) -> TxSlot<L> {
            TxSlot { since: AtomicU64::new(FREE), inside: UnsafeCell::new(inside) }
        }
    }

    /// What is inside, for whoever has the slot.
    #[inline(always)]
    pub(crate) fn inside(&self) -> *mut L {
        self.inside.get()
    }

    /// Takes it, if nobody has it. Returns what time it is then.
    #[inline(always)]
    pub(crate) fn take(&self, clock: &VersionClock) -> Option<u64> {
        if self.since.load(Ordering::Relaxed) != FREE {
            return None;
        }
        let since = clock.now() << 1 | 1;
        // Acquire pairs with the release in `give_back`: of what the last one has left inside. No model misses it,
        // since the fence below would acquire that, too; but on x86-64 that is a fence for the compiler alone, which
        // ThreadSanitizer does not know, and this costs nothing there.
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        let announced = if made(Mistake::AnnouncesTooLate) { u64::MAX } else { since };
        self.since.compare_exchange(FREE, announced, acquire, relaxed).ok()?;
        // Pairs with itself, and with the fence in `commit`, of who asks for the `oldest` then: either that one sees
        // us, or we see what it did before.
        fence_after_locked();
        Some(clock.now())
    }

    /// The caller does not want it any more.
    #[inline(always)]
    pub(crate) fn give_back(&self) {
        // Release pairs with the acquire in `take` and in `oldest`: what was read is not freed before it was read.
        self.since.store(FREE, Ordering::Release);
    }
}

/// Some slots, and where there are more.
#[derive(Debug)]
struct Chunk<L> {
    slots: [TxSlot<L>; CHUNK],
    next: AtomicPtr<Chunk<L>>,
}

/// All slots.
#[derive(Debug)]
pub(crate) struct Slots<L>(Chunk<L>);

impl<L> Slots<L> {
    const_fn! {
        /// These, and as many more as are needed.
        pub(crate) fn new(slots: [TxSlot<L>; CHUNK]) -> Slots<L> {
            Slots(Chunk { slots, next: AtomicPtr::new(std::ptr::null_mut()) })
        }
    }

    /// All slots of now, the first ones from `start` on first.
    fn all(&self, start: usize) -> impl Iterator<Item = &TxSlot<L>> {
        let (before, from) = self.0.slots.split_at(start % CHUNK);
        let more = std::iter::successors(next(&self.0), |chunk| next(chunk));
        from.iter().chain(before).chain(more.flat_map(|chunk| &chunk.slots))
    }

    /// The time before which nobody began who has a slot: what was out of reach then may be freed. The caller has a
    /// slot itself, since it was put out of reach; or has put it out of reach itself, by a commit.
    pub(crate) fn oldest(&self) -> u64 {
        if made(Mistake::FreesAtOnce) {
            return u64::MAX;
        }
        // Acquire pairs with the release in `give_back`; who has taken the slot since continues that release.
        let since = self.all(0).map(|slot| slot.since.load(Ordering::Acquire));
        since.filter(|since| *since != FREE).map(|since| since >> 1).min().unwrap_or(u64::MAX)
    }
}

impl<L: Default> Slots<L> {
    /// Takes a slot: the first that is free from `start` on.
    #[cold]
    pub(crate) fn take(&self, start: usize, clock: &VersionClock) -> (&TxSlot<L>, u64) {
        loop {
            if let Some(taken) = self.all(start).find_map(|slot| Some((slot, slot.take(clock)?))) {
                return taken;
            }
            self.grow();
        }
    }

    /// There is one more chunk.
    #[cold]
    fn grow(&self) {
        let slots = std::array::from_fn(|_| TxSlot::new(L::default()));
        let chunk = Box::into_raw(Box::new(Chunk { slots, next: AtomicPtr::new(std::ptr::null_mut()) }));
        let mut last = &self.0;
        loop {
            // Release pairs with the acquire in `next`; acquire pairs with it, too, when another was faster.
            let (release, acquire) = (Ordering::Release, Ordering::Acquire);
            match last.next.compare_exchange(std::ptr::null_mut(), chunk, release, acquire) {
                Ok(_) => return,
                // SAFETY: chunks are never freed.
                Err(there) => last = unsafe { &*there },
            }
        }
    }
}

fn next<L>(chunk: &Chunk<L>) -> Option<&Chunk<L>> {
    // Acquire pairs with the release in `grow`.
    // SAFETY: null, or a chunk, and they are never freed.
    unsafe { chunk.next.load(Ordering::Acquire).as_ref() }
}
