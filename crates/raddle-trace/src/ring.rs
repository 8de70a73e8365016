//! Owns: `Ring`, where one worker writes and others may look.
//! May use: atomics.
//! Never: a lock, an allocation or a system call of the one who writes; waiting of either side.
//!
//! A single writer overwrites the oldest record. Who copies looks at the head, copies, and looks again: what the
//! writer may have reached meanwhile is thrown away and counted as lost. That is a sequence lock with the head as its
//! sequence, which has two orderings to argue:
//!
//! | the writer | the one who copies |
//! |---|---|
//! | `head = n` (release): record `n - 1` is complete | reads `head` (acquire): all below it can be read |
//! | release fence, then the words of record `n` | reads words; acquire fence; reads `head` again |
//!
//! If a copied word is of record `n`, the fences make the second look at the head see at least `n`, so that the record
//! which stood in that place, `n - capacity`, is thrown away. On x86-64 both of the writer's are plain stores.
//! `tests/loom.rs` weakens each of the four.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

use crate::event::Record;

/// The records of one worker. The number of a record counts from the ring's beginning.
#[derive(Debug)]
pub struct Ring {
    /// The number of the next record. Written by the writer only.
    head: AtomicUsize,
    slots: Box<[Slot]>,
}

/// The two words of a record.
type Slot = [AtomicU64; 2];

/// What a copy got.
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

    /// Has the system give the memory of the first so many bytes now, as far as it comes until then, and not as records
    /// come: that may take as long as a thousand records a page. Where the system cannot, nothing happens.
    ///
    /// The memory comes in small pages, and what is left is asked for in huge ones. The first touch of a huge page
    /// takes a tenth of what those of its small ones do, most often; but a virtual machine has no huge pages of its own
    /// while they are free: there the same 32 MiB took 1.5 to 170 ms in huge pages, and 11 to 20 in small ones.
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

    /// Tells the system of the whole pages among these bytes of the slots, which are not changed by that.
    #[cfg(not(loom))]
    fn advise(&self, from: usize, to: usize, page: usize, advice: libc::c_int) {
        let begin = self.slots.as_ptr().cast::<u8>();
        let first = from.saturating_add(begin.wrapping_add(from).align_offset(page));
        let length = to.saturating_sub(first) / page * page;
        if length > 0 {
            let first = begin.wrapping_add(first).cast_mut();
            // SAFETY: the range is within the slots, and the callers' advices change none of its bytes.
            unsafe { libc::madvise(first.cast(), length, advice) };
        }
    }

    /// In a model there are no pages.
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
    /// Only one thread may call it at a time, and whoever takes over must have synchronised with the one before; else
    /// records are lost or mixed (memory stays safe).
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
        // Pairs with the release fence in `push`: whose words were copied, its head is seen by the next load.
        weak::fence(weak::AFTER_WORDS, Ordering::Acquire);
        let now = self.head.load(Ordering::Relaxed);
        // Record `now` may be half written; it stands where `now - capacity` stood.
        let valid = (now + 1).saturating_sub(self.capacity()).max(first).min(last.max(first));
        records.drain(..(valid - first).min(records.len()));
        Copied { first: valid, records }
    }

    fn read(&self, number: usize) -> Record {
        let slot = &self.slots[number & (self.slots.len() - 1)];
        Record::of_words([slot[0].load(Ordering::Relaxed), slot[1].load(Ordering::Relaxed)])
    }
}

/// Zeros that the system gives when they are first touched.
#[cfg(not(loom))]
fn zeros(capacity: usize) -> Box<[Slot]> {
    let zeros: Box<[[u64; 2]]> = vec![[0; 2]; capacity].into_boxed_slice();
    // SAFETY: an `AtomicU64` has the size, the alignment and the values of a `u64`, and the box is ours alone.
    unsafe { Box::from_raw(Box::into_raw(zeros) as *mut [Slot]) }
}

#[cfg(loom)]
fn zeros(capacity: usize) -> Box<[Slot]> {
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
        // One place is given up: it could be half written.
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
