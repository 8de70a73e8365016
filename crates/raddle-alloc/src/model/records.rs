//! Owns: the models of the list of records: each is had by one, and seen as it was given back.
//! May use: `protocol::records`, `loom`.
//! Never: a heap.

use super::check;
use crate::protocol::records::Records;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

pub(super) struct RecordList {
    records: Records,
    next: [AtomicU32; 3],
    inside: [UnsafeCell<u32>; 3],
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for RecordList {}
// SAFETY: as above.
unsafe impl Send for RecordList {}

impl RecordList {
    pub(super) fn new(count: u32) -> Arc<RecordList> {
        let shared = RecordList {
            records: Records::new(),
            next: std::array::from_fn(|_| AtomicU32::new(0)),
            inside: std::array::from_fn(|_| UnsafeCell::new(0)),
        };
        (1..=count).for_each(|record| shared.give(record));
        Arc::new(shared)
    }

    pub(super) fn take(&self) -> Option<u32> {
        let record = self.records.take(|record| self.next[record as usize - 1].load(Ordering::Relaxed))?;
        // SAFETY: loom hands out the pointer after it has checked the access.
        self.inside[record as usize - 1].with_mut(|inside| unsafe { *inside += 1 });
        Some(record)
    }

    pub(super) fn give(&self, record: u32) {
        // SAFETY: as above.
        self.inside[record as usize - 1].with_mut(|inside| unsafe { *inside += 1 });
        self.records.give(record, |next| self.next[record as usize - 1].store(next, Ordering::Relaxed));
    }
}

#[test]
fn a_record_is_had_by_one() {
    check(Some(3), || {
        let shared = RecordList::new(2);
        let other = shared.clone();
        let thread = thread::spawn(move || {
            // Takes two and gives the first back: it is first again, with another one behind it.
            let (first, second) = (other.take(), other.take());
            first.iter().for_each(|record| other.give(*record));
            second
        });
        let mine = [shared.take(), shared.take()];
        let others = thread.join().unwrap();
        let mut all: Vec<u32> = mine.into_iter().chain([others]).flatten().collect();
        while let Some(record) = shared.take() {
            all.push(record);
        }
        all.sort_unstable();
        assert_eq!(all, [1, 2], "each is had by one");
    });
}
