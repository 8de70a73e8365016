//! Owns: the table of all processes, by number, and what a worker has of it for itself.
//! May use: `process`, `spin`.
//! Never: moves or frees a process while the machine lives: a number that a program made up must lead to one.

use crate::prim::Ordering;
use crate::process::{DEAD, Process};
use crate::spin::Spin;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::AtomicPtr;

/// So many processes are made at once, for one worker; and they begin and end with a line of the cache. With records
/// of neighbours in one line two workers that run them would take it from each other at every step. It costs no memory:
/// eight of any size that is a multiple of eight fill lines. (PERF: with frames apart, too, and the queue cut by place,
/// `granularity` on two workers took 0.92 of the time at grain 1, 0.72 at 16, 0.82 at 1000.)
const GROUP: usize = 8;

/// Processes of neighbouring numbers.
#[repr(C, align(64))]
struct Group<L>([Process<L>; GROUP]);

/// The first chunk holds two to this of processes. Under the models every word of a process is one that loom watches:
/// few, then. On a board, which has little memory, they are 32. (PERF: the chunk of a small number is known without
/// its highest bit, for which all that is done with the process waited: with a queue that does not look a process up
/// again, commstime on one worker took 0.81 of the time.)
pub(crate) const FIRST_BITS: u32 = if cfg!(loom) {
    3
} else if cfg!(target_pointer_width = "64") {
    10
} else {
    SMALL_FIRST_BITS
};
/// The same where addresses have 32 bits.
const SMALL_FIRST_BITS: u32 = 5;
const CHUNKS: usize = 24;
/// So many free processes travel together between workers; without the feature `large` there is one, who keeps them.
const CHAIN: u32 = 32;

/// All processes, by number.
#[derive(Debug)]
pub(crate) struct ProcessTable<L> {
    /// Chunk k holds 2^(`FIRST_BITS` + k) processes.
    chunks: [AtomicPtr<Process<L>>; CHUNKS],
    grow: Spin<Common>,
}

/// What the workers share.
#[derive(Debug)]
struct Common {
    /// The first number that was never used.
    next: u32,
    /// Behind the last that may be.
    end: u32,
    /// First of each of the chains that nobody has.
    chains: Vec<u32>,
}

/// What was counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Processes that began.
    pub processes: u64,
    /// Messages passed.
    pub messages: u64,
    /// How often a process was given the processor.
    pub dispatches: u64,
}

impl core::ops::AddAssign for Stats {
    fn add_assign(&mut self, other: Stats) {
        self.processes += other.processes;
        self.messages += other.messages;
        self.dispatches += other.dispatches;
    }
}

/// What one worker has of the machine for itself: free processes, and what it has counted.
#[derive(Debug, Default)]
pub struct WorkerLocal {
    first: u32,
    count: u32,
    /// A full chain behind it, so that who begins and ends a few at the edge of a chain does not come to the lock.
    full: u32,
    /// Twice the visits to the machine, and one more while there is one.
    pub(crate) visits: u32,
    /// How much fuel there was when the process that runs was dispatched.
    pub(crate) fuel_before: i32,
    /// How many processes began and ended here, how often one was run, and messages passed.
    pub(crate) stats: Stats,
}

/// How far behind the beginning of a worker's part its fields lie, for compiled code.
#[cfg(feature = "native")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is the field of that name in the worker's part")]
pub struct LocalLayout {
    pub first: usize,
    pub count: usize,
    pub processes: usize,
    /// With so many free ones the next that ends is put by.
    pub count_max: u32,
}

/// The worker's part, as compiled code has it.
#[cfg(feature = "native")]
pub const LOCAL: LocalLayout = LocalLayout {
    first: core::mem::offset_of!(WorkerLocal, first),
    count: core::mem::offset_of!(WorkerLocal, count),
    processes: core::mem::offset_of!(WorkerLocal, stats.processes),
    count_max: CHAIN - 1,
};

impl WorkerLocal {
    /// What was counted here.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Adds what another one has counted.
    pub fn count(&mut self, stats: Stats) {
        self.stats += stats;
    }
}

/// How many records a machine on a board makes if there are so many processes at once, the keyboard's among them.
pub fn records(processes: u32) -> u64 {
    let (last, _) = place_with::<SMALL_FIRST_BITS>(processes.min(1 << 27) | (GROUP as u32 - 1));
    (0..=last).map(|chunk| 1_u64 << (chunk + SMALL_FIRST_BITS as usize)).sum()
}

#[inline]
fn place(id: u32) -> (usize, usize) {
    place_with::<FIRST_BITS>(id)
}

/// In which chunk, and where there, if the first one has so many bits.
#[inline]
fn place_with<const FIRST: u32>(id: u32) -> (usize, usize) {
    let at = id + (1 << FIRST);
    let chunk = at.ilog2() - FIRST;
    (chunk as usize, (at - (1 << (chunk + FIRST))) as usize)
}

impl<L: Default> ProcessTable<L> {
    /// For at most so many processes at once, about.
    pub(crate) fn new(most: u32) -> ProcessTable<L> {
        ProcessTable {
            chunks: [const { AtomicPtr::new(core::ptr::null_mut()) }; CHUNKS],
            grow: Spin::new(Common { next: 1, end: most, chains: Vec::new() }),
        }
    }

    /// Where the addresses of the chunks lie.
    #[cfg(feature = "native")]
    pub(crate) fn chunks(&self) -> usize {
        self.chunks.as_ptr() as usize
    }

    /// The process of that number, if there ever was one.
    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn get(&self, id: u32) -> Option<&Process<L>> {
        if id >= 1 << 28 {
            return None;
        }
        let near = cfg!(target_pointer_width = "64") && id < 1 << FIRST_BITS;
        let (chunk, at) = if near { (0, id as usize) } else { place(id) };
        // Acquire pairs with the release in `refill`.
        let chunk = self.chunks.get(chunk)?.load(Ordering::Acquire);
        if chunk.is_null() {
            return None;
        }
        // SAFETY: a chunk has that many processes.
        let process = unsafe { chunk.add(at) };
        // SAFETY: it stays until the table is dropped.
        Some(unsafe { &*process })
    }

    /// A process that nobody uses. Numbers begin at 1.
    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn take(&self, local: &mut WorkerLocal) -> Option<&Process<L>> {
        if local.first == 0 {
            self.refill(local)?;
        }
        let process = self.get(local.first)?;
        local.first = process.message.get();
        local.count = local.count.saturating_sub(1);
        Some(process)
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn give(&self, local: &mut WorkerLocal, process: &Process<L>) {
        process.start.set(DEAD);
        process.wait.store(0, Ordering::Relaxed);
        process.message.set(local.first);
        local.first = process.id();
        local.count += 1;
        if cfg!(feature = "large") && local.count == CHAIN {
            self.put_by(local);
        }
    }

    /// The worker has two chains: one goes to whoever needs it.
    #[cold]
    fn put_by(&self, local: &mut WorkerLocal) {
        if local.full != 0 {
            self.grow.lock().chains.push(local.full);
        }
        (local.full, local.first, local.count) = (local.first, 0, 0);
    }

    #[cold]
    fn refill(&self, local: &mut WorkerLocal) -> Option<()> {
        if cfg!(feature = "large") && local.full != 0 {
            (local.first, local.full, local.count) = (local.full, 0, CHAIN);
            return Some(());
        }
        let mut common = self.grow.lock();
        if cfg!(feature = "large")
            && let Some(chain) = common.chains.pop()
        {
            (local.first, local.count) = (chain, CHAIN);
            return Some(());
        }
        self.make(local, &mut common)
    }

    /// Numbers that were never used, a group at a time.
    fn make(&self, local: &mut WorkerLocal, common: &mut Common) -> Option<()> {
        let ids = common.next..(common.next | (GROUP as u32 - 1)) + 1;
        if ids.end > common.end {
            return None;
        }
        for id in ids.clone() {
            self.have(place(id).0)?;
            let process = self.get(id)?;
            process.id.set(id);
            process.message.set(if id + 1 == ids.end { 0 } else { id + 1 });
        }
        (local.first, local.count) = (ids.start, ids.end - ids.start);
        common.next = ids.end;
        Some(())
    }

    /// That chunk is there from now on. Only who has the lock may ask for it.
    fn have(&self, chunk: usize) -> Option<()> {
        let place = self.chunks.get(chunk)?;
        if place.load(Ordering::Relaxed).is_null() {
            const { assert!(size_of::<Group<L>>() == GROUP * size_of::<Process<L>>(), "no gaps") };
            let groups = groups_of(chunk);
            // Half of all that there are: the system may not have so much.
            let mut fresh: Vec<Group<L>> = Vec::new();
            fresh.try_reserve_exact(groups).ok()?;
            fresh.extend((0..groups).map(|_| Group(core::array::from_fn(|_| dead()))));
            // Release pairs with the acquire in `get`.
            place.store(Box::into_raw(fresh.into_boxed_slice()).cast(), Ordering::Release);
        }
        Some(())
    }

    /// Records for so many processes are there from now on.
    pub(crate) fn reserve(&self, processes: u32) -> Option<()> {
        let common = self.grow.lock();
        // Numbers begin at 1, and come in groups.
        let last = processes.min(common.end) | (GROUP as u32 - 1);
        (0..=place(last).0).try_for_each(|chunk| self.have(chunk))
    }

    /// Those that live.
    pub(crate) fn living(&self) -> impl Iterator<Item = &Process<L>> {
        let behind = self.grow.lock().next;
        (1..behind).filter_map(|id| self.get(id)).filter(|process| process.start.get() != DEAD)
    }
}

/// Of so many groups that chunk is.
fn groups_of(chunk: usize) -> usize {
    (1 << (chunk + FIRST_BITS as usize)) / GROUP
}

fn dead<L: Default>() -> Process<L> {
    let process = Process::default();
    process.start.set(DEAD);
    process
}

impl<L> Drop for ProcessTable<L> {
    fn drop(&mut self) {
        for (number, chunk) in self.chunks.iter_mut().enumerate() {
            let chunk = *chunk.get_mut();
            if !chunk.is_null() {
                let all = core::ptr::slice_from_raw_parts_mut(chunk.cast::<Group<L>>(), groups_of(number));
                // SAFETY: it was made as a box of that many, and nobody has the table any more.
                drop(unsafe { Box::from_raw(all) });
            }
        }
    }
}
