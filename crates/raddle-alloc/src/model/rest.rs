//! Owns: the models of heaps whose threads rest: each is had by one at a time.
//! May use: `protocol::rest`, `loom`.
//! Never: a heap.

use super::check;
use crate::protocol::rest::RestWord;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

/// A heap: its word, and something that only who has it touches.
struct RestModel {
    word: RestWord,
    inside: UnsafeCell<u32>,
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for RestModel {}
// SAFETY: as above.
unsafe impl Send for RestModel {}

impl RestModel {
    fn new() -> Arc<RestModel> {
        Arc::new(RestModel { word: RestWord::new(), inside: UnsafeCell::new(0) })
    }

    fn works(&self) {
        // SAFETY: loom hands out the pointer after it has checked the access.
        self.inside.with_mut(|inside| unsafe { *inside += 1 });
    }
}

#[test]
fn a_heap_at_rest_is_had_by_its_thread_or_by_who_claims_it() {
    check(None, || {
        let shared = RestModel::new();
        let others = [shared.clone(), shared.clone()];
        let threads = others.map(|other| {
            thread::spawn(move || {
                let claimed = other.word.claim();
                if claimed {
                    other.works();
                }
                claimed
            })
        });
        shared.works();
        shared.word.rests(7);
        let woke = shared.word.wakes(7);
        if woke {
            shared.works();
        }
        let claims = threads.map(|thread| thread.join().unwrap());
        let had = usize::from(woke) + claims.iter().filter(|claimed| **claimed).count();
        assert_eq!(had, 1, "one has it");
    });
}

#[test]
fn who_wakes_does_not_take_the_heap_of_the_next_who_rests() {
    check(None, || {
        let shared = RestModel::new();
        let other = shared.clone();
        // It claims the heap, works there, and rests, too.
        let thread = thread::spawn(move || {
            if !other.word.claim() {
                return false;
            }
            other.works();
            other.word.rests(8);
            let woke = other.word.wakes(8);
            if woke {
                other.works();
            }
            true
        });
        shared.works();
        shared.word.rests(7);
        let woke = shared.word.wakes(7);
        if woke {
            shared.works();
        }
        assert!(!(woke && thread.join().unwrap()), "two have it");
    });
}
