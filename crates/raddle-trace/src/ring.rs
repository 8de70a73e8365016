//! Owns: `Ring`, a ring buffer that one worker writes and others may copy.
//! May use: `event`, `libc`, `loom`.
//! Never: a lock, an allocation or a system call by the writer; waiting on either side.
//!
//! A single writer overwrites the oldest record. A reader reads the head, copies, and reads the head again: records
//! that the writer may have overwritten meanwhile are thrown away and counted as lost. This is a sequence lock whose
//! sequence number is the head. It needs two pairs of orderings:
//!
//! | the writer | the reader |
//! |---|---|
//! | `head = n` (release): record `n - 1` is complete | reads `head` (acquire): all below it can be read |
//! | release fence, then the words of record `n` | reads words; acquire fence; reads `head` again |
//!
//! If a copied word is of record `n`, the fences make the second read of the head see at least `n`, so that the record
//! which was in that slot before, `n - capacity`, is thrown away. On x86-64 both of the writer's are plain stores.
//! `tests/loom.rs` weakens each of the four.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

use crate::event::Record;

/// The records of one worker, numbered from 0.
#[derive(Debug)]
pub struct Ring {
    /// The number of the next record. Written by the writer only.
    head: AtomicUsize,
    slots: Box<[RecordWords]>,
}

/// The two words of a record.
type RecordWords = [AtomicU64; 2];

/// The result of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The number of the first record that was copied.
    pub first: usize,
    /// The records, in their order.
    pub records: Vec<Record>,
}

impl Ring {
    /// A ring for at least `records` records, rounded up to a power of two. The memory is touched as it is written.
    pub fn new(records: usize) -> Ring {
        let capacity = records.max(2).next_power_of_two();
        Ring { head: AtomicUsize::new(0), slots: zeros(capacity) }
    }

    /// Populates the first `bytes` bytes of the ring with memory now, until `until` at the latest. Otherwise each page
    /// is populated by its first record, which then takes as long as up to a thousand others. Does nothing where the
    /// system does not support it.
    ///
    /// These bytes get small pages; the rest of the ring asks for huge ones. The first touch of a huge page usually
    /// takes a tenth of the time that its small pages would. But on a virtual machine a free huge page may not be
    /// backed by the host: there the same 32 MiB took 1.5 to 170 ms in huge pages, and 11 to 20 in small ones.
    #[cfg(not(loom))]
    pub fn populate(&self, bytes: usize, until: std::time::Instant) {
        const AT_ONCE: usize = 1 << 20;
        const HUGE: usize = 2 << 20;
        let all = size_of_val(&*self.slots);
        let bytes = bytes.min(all);
        self.advise(bytes, all, HUGE, libc::MADV_HUGEPAGE);
        // SAFETY: asks a question.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let page = usize::try_from(page).ok().filter(|page| page.is_power_of_two()).unwrap_or(4096);
        let mut done = 0;
        while done < bytes && std::time::Instant::now() < until {
            let next = (done + AT_ONCE).min(bytes);
            self.advise(done, next, page, libc::MADV_POPULATE_WRITE);
            done = next;
        }
    }

    /// Calls `madvise` for the whole pages within these bytes of the slots. Their contents do not change.
    #[cfg(not(loom))]
    fn advise(&self, from: usize, to: usize, page: usize, advice: libc::c_int) {
        let begin = self.slots.as_ptr().cast::<u8>();
        let first = from.saturating_add(begin.wrapping_add(from).align_offset(page));
        let length = to.saturating_sub(first) / page * page;
        if length > 0 {
            let first = begin.wrapping_add(first).cast_mut();
            // SAFETY: the range is within the slots, and the callers' kinds of advice change none of its bytes.
            unsafe { libc::madvise(first.cast(), length, advice) };
        }
    }

    /// Does nothing: the model has no pages.
    #[cfg(loom)]
    pub fn populate(&self, _bytes: usize, _until: std::time::Instant) {}

    /// How many records it holds.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// The number of the next record: how many have been written.
    pub fn head(&self) -> usize {
        // Acquire pairs with the release in `push`.
        self.head.load(weak::acquire(weak::HEAD))
    }

    /// Writes a record over the oldest.
    ///
    /// Only one thread may call it at a time, and the next one must have synchronised with the one before; otherwise
    /// records are lost or mixed up (memory stays safe).
    #[inline(always)]
    pub fn push(&self, record: Record) {
        let head = self.head.load(Ordering::Relaxed);
        // The mask keeps the index in range, which the compiler cannot know.
        let Some(slot) = self.slots.get(head & (self.slots.len() - 1)) else { return };
        let [first, second] = record.words();
        // The words of this record come after the publication of the last. Pairs with the acquire fence in `copy`.
        weak::fence(weak::BEFORE_WORDS, Ordering::Release);
        slot[0].store(first, Ordering::Relaxed);
        slot[1].store(second, Ordering::Relaxed);
        // Release pairs with the acquire in `head`.
        self.head.store(head + 1, weak::release(weak::PUBLISH));
    }

    /// Copies at most `limit` records from number `from` on, or from the oldest that is left.
    pub fn copy(&self, from: usize, limit: usize) -> Copied {
        let head = self.head();
        let first = from.max(head.saturating_sub(self.capacity()));
        let last = head.min(first.saturating_add(limit));
        let mut records: Vec<Record> = (first..last).map(|number| self.read(number)).collect();
        // Pairs with the release fence in `push`: the next load sees the head of every record whose words were copied.
        weak::fence(weak::AFTER_WORDS, Ordering::Acquire);
        let now = self.head.load(Ordering::Relaxed);
        // Record `now` may be half written, in the slot of `now - capacity`.
        let valid = (now + 1).saturating_sub(self.capacity()).max(first).min(last.max(first));
        records.drain(..(valid - first).min(records.len()));
        Copied { first: valid, records }
    }

    fn read(&self, number: usize) -> Record {
        let slot = &self.slots[number & (self.slots.len() - 1)];
        Record::of_words([slot[0].load(Ordering::Relaxed), slot[1].load(Ordering::Relaxed)])
    }
}

/// Zeroed memory, which the system provides when it is first touched.
#[cfg(not(loom))]
fn zeros(capacity: usize) -> Box<[RecordWords]> {
    let zeros: Box<[[u64; 2]]> = vec![[0; 2]; capacity].into_boxed_slice();
    // SAFETY: an `AtomicU64` has the size, the alignment and the values of a `u64`, and the box is ours alone.
    unsafe { Box::from_raw(Box::into_raw(zeros) as *mut [RecordWords]) }
}

#[cfg(loom)]
fn zeros(capacity: usize) -> Box<[RecordWords]> {
    (0..capacity).map(|_| [AtomicU64::new(0), AtomicU64::new(0)]).collect()
}

/// The orderings, each of which the model can weaken. In a normal build they are constants.
#[cfg_attr(loom, allow(missing_docs, reason = "the names say which line they stand in"))]
pub mod weak {
    use super::{Ordering, fence as real_fence};

    /// The acquire in `head`.
    pub const HEAD: usize = 1;
    /// The release in `push`.
    pub const PUBLISH: usize = 2;
    /// The release fence in `push`.
    pub const BEFORE_WORDS: usize = 3;
    /// The acquire fence in `copy`.
    pub const AFTER_WORDS: usize = 4;

    /// Which one is weakened; none at 0.
    #[cfg(loom)]
    pub static WEAKENED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

    #[cfg(loom)]
    fn is_weak(site: usize) -> bool {
        WEAKENED.load(Ordering::Relaxed) == site
    }

    #[cfg(not(loom))]
    const fn is_weak(_site: usize) -> bool {
        false
    }

    #[inline(always)]
    pub(super) fn acquire(site: usize) -> Ordering {
        // Acquire pairs with the release of `PUBLISH`.
        if is_weak(site) { Ordering::Relaxed } else { Ordering::Acquire }
    }

    #[inline(always)]
    pub(super) fn release(site: usize) -> Ordering {
        // Release pairs with the acquire of `HEAD`.
        if is_weak(site) { Ordering::Relaxed } else { Ordering::Release }
    }

    #[inline(always)]
    pub(super) fn fence(site: usize, ordering: Ordering) {
        if !is_weak(site) {
            real_fence(ordering);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::event::Event;
    use std::sync::atomic::AtomicBool;

    fn record(n: usize) -> Record {
        Record::new(n as u64, Event::Mark, n as u32, !n as u32)
    }

    #[test]
    fn what_was_written_is_copied_in_order() {
        let ring = Ring::new(8);
        (0..5).for_each(|n| ring.push(record(n)));
        let copied = ring.copy(0, 100);
        assert_eq!(copied, Copied { first: 0, records: (0..5).map(record).collect() });
        assert_eq!(ring.copy(2, 2), Copied { first: 2, records: vec![record(2), record(3)] });
        assert_eq!(ring.copy(5, 100), Copied { first: 5, records: vec![] });
    }

    #[test]
    fn the_oldest_is_overwritten_and_its_loss_can_be_counted() {
        let ring = Ring::new(4);
        (0..11).for_each(|n| ring.push(record(n)));
        // One slot is given up: it could be half written.
        assert_eq!(ring.copy(0, 100), Copied { first: 8, records: (8..11).map(record).collect() });
    }

    #[test]
    fn what_is_there_stays_when_memory_is_asked_for() {
        let ring = Ring::new(1 << 18);
        (0..5).for_each(|n| ring.push(record(n)));
        let soon = std::time::Instant::now() + std::time::Duration::from_secs(600);
        ring.populate(usize::MAX, soon);
        ring.populate(3, soon);
        assert_eq!(ring.copy(0, 100).records, (0..5).map(record).collect::<Vec<_>>());
        Ring::new(2).populate(1 << 20, soon);
    }

    #[test]
    fn a_copy_beside_the_writer_is_never_torn() {
        let (ring, stop) = (Ring::new(64), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..200_000).for_each(|n| ring.push(record(n)));
                stop.store(true, Ordering::Relaxed);
            });
            let mut from = 0;
            while !stop.load(Ordering::Relaxed) {
                let copied = ring.copy(from, 64);
                for (number, got) in (copied.first..).zip(&copied.records) {
                    assert_eq!(*got, record(number));
                }
                from = copied.first + copied.records.len();
            }
        });
        assert_eq!(ring.head(), 200_000);
    }
}
