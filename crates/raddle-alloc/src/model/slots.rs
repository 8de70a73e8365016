//! Owns: the models of slots: each word is had by one, and what it stands for is seen as it was left.
//! May use: `protocol::slots`, `loom`.
//! Never: memory.

use super::check;
use crate::prim::{AtomicU64, Ordering};
use crate::protocol::slots;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

/// Slots, and what the words 1 and 2 stand for.
struct SlotModel {
    slots: [AtomicU64; 2],
    behind: [UnsafeCell<u32>; 2],
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for SlotModel {}
// SAFETY: as above.
unsafe impl Send for SlotModel {}

impl SlotModel {
    fn put(&self, word: u64) -> bool {
        // SAFETY: loom hands out the pointer after it has checked the access.
        self.behind[word as usize - 1].with_mut(|behind| unsafe { *behind += 1 });
        slots::put(&self.slots, word).is_some()
    }

    fn take(&self) -> Option<u64> {
        let taken = (0..2).find_map(|slot| {
            let word = self.slots[slot].load(Ordering::Relaxed);
            (word != 0 && slots::take(&self.slots, slot, word)).then_some(word)
        })?;
        // SAFETY: as above.
        self.behind[taken as usize - 1].with_mut(|behind| unsafe { *behind += 1 });
        Some(taken)
    }
}

#[test]
fn a_word_is_had_by_one() {
    check(Some(3), || {
        let shared = Arc::new(SlotModel {
            slots: std::array::from_fn(|_| AtomicU64::new(0)),
            behind: std::array::from_fn(|_| UnsafeCell::new(0)),
        });
        let others = [shared.clone(), shared.clone()];
        let threads = others.map(|other| {
            thread::spawn(move || {
                let taken = other.take();
                // What does not fit goes back.
                taken.filter(|word| *word == 1 || !other.put(*word))
            })
        });
        assert!(shared.put(1) && shared.put(2));
        let mut all: Vec<u64> = threads.map(|thread| thread.join().unwrap()).into_iter().flatten().collect();
        while let Some(word) = shared.take() {
            all.push(word);
        }
        all.sort_unstable();
        assert_eq!(all, [1, 2], "each is had by one");
    });
}
