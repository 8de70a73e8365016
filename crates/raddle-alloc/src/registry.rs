//! Owns: the records of heaps: which are taken, and which wait for a thread.
//! May use: `heap`, `protocol::records`, `system`.
//! Never: giving the memory of a record back.
//!
//! Records lie in chunks, which are mapped when their numbers come up: the chunk is published by one exchange, and who
//! comes second unmaps its own. Then a number is given out once, by another exchange.
//!
//! It is unsafe because it makes references of addresses.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::heap::Heap;
use crate::protocol::records::Records;
use crate::system;

pub(crate) const CHUNK: usize = 32;
const CHUNKS: usize = 1 << 15;
/// A record's number has no more bits.
pub(crate) const NUMBER_BITS: u32 = (CHUNK * CHUNKS).ilog2();
const CHUNK_BYTES: usize = (CHUNK * size_of::<Heap>()).next_multiple_of(system::OS_PAGE);

pub(crate) static ALL: [AtomicPtr<Heap>; CHUNKS] = [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS];
pub(crate) static MADE: AtomicU32 = AtomicU32::new(0);
static WAITING: Records = Records::new();

/// A heap that is the caller's until it gives it back; `None` if there is no memory for one, or there are a million.
pub(crate) fn take() -> Option<&'static Heap> {
    let next = |record| heap(record).map_or(0, |heap| heap.next.load(Ordering::Relaxed));
    if let Some(record) = WAITING.take(next) {
        return heap(record);
    }
    let mut number = MADE.load(Ordering::Relaxed);
    // lock-free: the exchange fails if another thread has made a record.
    loop {
        if number as usize / CHUNK >= CHUNKS - 1 {
            return None;
        }
        // The memory comes first: a number that was given out without it would be lost. Record 0 is none.
        let heap = made(number + 1)?;
        match MADE.compare_exchange(number, number + 1, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                heap.number.store(number + 1, Ordering::Relaxed);
                heap.set_limits();
                return Some(heap);
            }
            Err(now) => number = now,
        }
    }
}

/// Whether any heap was ever taken.
pub(crate) fn has_made_some() -> bool {
    MADE.load(Ordering::Relaxed) > 0
}

/// Gives it back, without pages and blocks.
pub(crate) fn give(heap: &Heap) {
    WAITING.give(heap.number.load(Ordering::Relaxed), |next| heap.next.store(next, Ordering::Relaxed));
}

/// The record, if its chunk is there.
pub(crate) fn heap(record: u32) -> Option<&'static Heap> {
    let chunk = ALL[record as usize / CHUNK].load(Ordering::Acquire); // pairs with `made`
    let heap = chunk.wrapping_add(record as usize % CHUNK);
    // SAFETY: records of a chunk that is published stay.
    (!chunk.is_null()).then(|| unsafe { &*heap })
}

fn made(record: u32) -> Option<&'static Heap> {
    if let Some(there) = heap(record) {
        return Some(there);
    }
    let chunk = system::map(CHUNK_BYTES, system::OS_PAGE, 0);
    if chunk.is_null() {
        return None;
    }
    let place = &ALL[record as usize / CHUNK];
    // pairs with `heap`
    if place.compare_exchange(ptr::null_mut(), chunk.cast(), Ordering::Release, Ordering::Relaxed).is_err() {
        // SAFETY: it was just mapped, and nobody knows it.
        unsafe { system::unmap(chunk, CHUNK_BYTES) };
    }
    heap(record)
}

/// How many threads rest: a hint.
static RESTING: AtomicU32 = AtomicU32::new(0);

/// A thread begins to rest.
pub(crate) fn rests() {
    RESTING.fetch_add(1, Ordering::Relaxed);
}

/// It has woken, or its heap was taken.
pub(crate) fn wakes() {
    RESTING.fetch_sub(1, Ordering::Relaxed);
}

/// Whether some thread rests, perhaps.
pub(crate) fn any_rests() -> bool {
    RESTING.load(Ordering::Relaxed) != 0
}

/// Some heaps, other ones each time, if some thread rests: of very many, not all are looked at for one page.
pub(crate) fn some_if_resting() -> impl Iterator<Item = &'static Heap> {
    const AT_ONCE: u32 = 32;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let made = MADE.load(Ordering::Relaxed);
    let (first, count) = match any_rests() {
        false => (0, 0),
        true => (NEXT.fetch_add(AT_ONCE, Ordering::Relaxed), AT_ONCE.min(made)),
    };
    (0..count).filter_map(move |step| heap(first.wrapping_add(step) % made + 1))
}

/// All heaps that ever were.
pub(crate) fn all() -> impl Iterator<Item = &'static Heap> {
    (1..=MADE.load(Ordering::Relaxed)).filter_map(heap)
}
