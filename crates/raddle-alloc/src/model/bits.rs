//! Owns: the models of runs of bits: no bit is had by two, none is lost, what is taken is seen as it was given back.
//! May use: `protocol::bits`, `loom`.
//! Never: an arena.

use super::check;
use crate::prim::{AtomicU64, Ordering};
use crate::protocol::bits;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

/// Two words, of which the bits 62 to 65 are free.
struct Runs {
    words: [AtomicU64; 2],
    hints: [AtomicU64; 1],
    slices: [UnsafeCell<u32>; 4],
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for Runs {}
// SAFETY: as above.
unsafe impl Send for Runs {}

impl Runs {
    fn new() -> Arc<Runs> {
        let words = [AtomicU64::new(3 << 62), AtomicU64::new(3)];
        let slices = std::array::from_fn(|_| UnsafeCell::new(0));
        Arc::new(Runs { words, hints: [AtomicU64::new(1)], slices })
    }

    fn use_run(&self, first: usize, count: usize) {
        // SAFETY: loom hands out the pointer after it has checked the access.
        (first..first + count).for_each(|bit| self.slices[bit - 62].with_mut(|slice| unsafe { *slice += 1 }));
    }

    fn takes_uses_gives(&self, count: usize) -> bool {
        let first = bits::take_any(&self.words, count, 1, 0);
        if let Some(first) = first {
            self.use_run(first, count);
            bits::give(&self.words, first, count);
        }
        first.is_some()
    }

    fn all_is_free(&self) {
        let words = self.words.each_ref().map(|word| word.load(Ordering::Relaxed));
        assert_eq!(words, [3 << 62, 3], "something is lost");
    }
}

#[test]
fn runs_over_words_are_had_by_one() {
    check(Some(3), || {
        let shared = Runs::new();
        let other = shared.clone();
        let thread = thread::spawn(move || other.takes_uses_gives(3));
        shared.takes_uses_gives(2);
        thread.join().unwrap();
        shared.all_is_free();
    });
}

#[test]
fn a_run_that_is_half_taken_goes_back() {
    check(Some(3), || {
        let shared = Runs::new();
        let other = shared.clone();
        let thread = thread::spawn(move || {
            if bits::take_run(&other.words, 62, 4) {
                other.use_run(62, 4);
                bits::give(&other.words, 62, 4);
            }
        });
        if bits::take_run(&shared.words, 65, 1) {
            shared.use_run(65, 1);
            bits::give(&shared.words, 65, 1);
        }
        thread.join().unwrap();
        shared.all_is_free();
    });
}

#[test]
fn the_hint_tells_of_what_came_back() {
    check(None, || {
        let shared = Runs::new();
        assert_eq!(bits::take_any(&shared.words, 2, 1, 0), Some(62));
        assert_eq!(bits::take_any(&shared.words, 2, 1, 1), Some(64));
        let other = shared.clone();
        let thread = thread::spawn(move || {
            bits::give(&other.words, 62, 1);
            bits::set(&other.hints, 0);
        });
        bits::clear_unless(&shared.hints, 0, || bits::any(&shared.words));
        thread.join().unwrap();
        assert_eq!(bits::next_set(&shared.hints, 0), Some(0), "there is one, and nobody will look");
    });
}
