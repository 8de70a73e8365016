//! Owns: sets of bits of which threads take runs: the free slices of an arena, the arenas that have some, hints.
//! May use: `mistake`, `loom`.
//! Never: what a bit stands for.
//!
//! A bit that is set can be taken. Who clears it has what it stands for, alone, until it sets it again. A run within
//! one word is taken by one exchange. One over several is taken word by word, and what was taken is given back if a
//! later word lacks a bit: a thread that is stopped in between keeps at most what it asked for.

use crate::mistake::{Mistake, made};
use crate::prim::{AtomicU64, Ordering, fence};

const WIDTH: usize = 64;

/// The bits of word `word` that a run has.
fn part(first: usize, count: usize, word: usize) -> u64 {
    let (from, to) = (first.max(word * WIDTH), (first + count).min((word + 1) * WIDTH));
    if from >= to {
        return 0;
    }
    let all = if to - from == WIDTH { u64::MAX } else { (1 << (to - from)) - 1 };
    all << (from % WIDTH)
}

/// Takes these bits of a word, all or none.
fn take_part(word: &AtomicU64, mask: u64) -> bool {
    let mut seen = word.load(Ordering::Relaxed);
    // lock-free: the exchange fails if another thread has taken or given back bits of this word.
    while seen & mask == mask {
        if made(Mistake::TakesRunBlindly) {
            word.fetch_and(!mask, Ordering::AcqRel); // pairs with `give`
            return true;
        }
        // pairs with `give`
        match word.compare_exchange(seen, seen & !mask, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => return true,
            Err(now) => seen = now,
        }
    }
    false
}

/// Takes the run, all of it or nothing.
pub(crate) fn take_run(words: &[AtomicU64], first: usize, count: usize) -> bool {
    let (start, end) = (first / WIDTH, (first + count - 1) / WIDTH);
    // bounded: by the words of the run.
    for index in start..=end {
        if !take_part(&words[index], part(first, count, index)) {
            if !made(Mistake::KeepsHalf) {
                give_words(words, first, count, start..index);
            }
            return false;
        }
    }
    true
}

/// Gives a run back.
pub(crate) fn give(words: &[AtomicU64], first: usize, count: usize) {
    give_words(words, first, count, first / WIDTH..(first + count - 1) / WIDTH + 1);
}

fn give_words(words: &[AtomicU64], first: usize, count: usize, which: std::ops::Range<usize>) {
    // pairs with `take_part`
    let order = if made(Mistake::GivesBackRelaxed) { Ordering::Relaxed } else { Ordering::Release };
    // bounded: by the words of the run.
    for index in which {
        words[index].fetch_or(part(first, count, index), order);
    }
}

/// The positions in `word` at which `count` bits in a row are set, at most a word's width.
fn starts(word: u64, count: usize) -> u64 {
    let (mut found, mut have) = (word, 1);
    // bounded: by the logarithm of the width.
    while have < count && found != 0 {
        let step = have.min(count - have);
        found &= found >> step;
        have += step;
    }
    found
}

/// Takes `count` bits in a row that begin at a multiple of `align`; where they begin. It begins to look in word `from`.
pub(crate) fn take_any(words: &[AtomicU64], count: usize, align: usize, from: usize) -> Option<usize> {
    if count <= WIDTH {
        // bounded: by the words.
        for turn in 0..words.len() {
            let index = (from + turn) % words.len();
            if let Some(first) = take_within(&words[index], index * WIDTH, count, align) {
                return Some(first);
            }
        }
        if count == 1 {
            return None;
        }
    }
    let step = align.max(1);
    let mut first = 0;
    // bounded: each round goes at least one step on.
    while first + count <= words.len() * WIDTH {
        match last_missing(words, first, count) {
            Some(missing) => first = (missing + 1).next_multiple_of(step),
            None if take_run(words, first, count) => return Some(first),
            None => first += step,
        }
    }
    None
}

/// Takes a run within one word whose first bit has the number `base`.
fn take_within(word: &AtomicU64, base: usize, count: usize, align: usize) -> Option<usize> {
    let mut seen = word.load(Ordering::Relaxed);
    // lock-free: the exchange fails if another thread has taken or given back bits of this word.
    loop {
        let mut possible = starts(seen, count);
        // bounded: by the width.
        while possible != 0 && !(base + possible.trailing_zeros() as usize).is_multiple_of(align) {
            possible &= possible - 1;
        }
        if possible == 0 {
            return None;
        }
        let first = base + possible.trailing_zeros() as usize;
        let mask = part(first, count, first / WIDTH);
        // pairs with `give`
        match word.compare_exchange(seen, seen & !mask, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => return Some(first),
            Err(now) => seen = now,
        }
    }
}

/// The last bit of the run that is not set, if there is one.
fn last_missing(words: &[AtomicU64], first: usize, count: usize) -> Option<usize> {
    let (start, end) = (first / WIDTH, (first + count - 1) / WIDTH);
    // bounded: by the words of the run.
    for index in (start..=end).rev() {
        let missing = part(first, count, index) & !words[index].load(Ordering::Relaxed);
        if missing != 0 {
            return Some(index * WIDTH + WIDTH - 1 - missing.leading_zeros() as usize);
        }
    }
    None
}

/// Whether any bit is set, for a moment.
pub(crate) fn any(words: &[AtomicU64]) -> bool {
    words.iter().any(|word| word.load(Ordering::Relaxed) != 0)
}

/// Sets a bit that is a hint at what the caller has just given back.
pub(crate) fn set(words: &[AtomicU64], bit: usize) {
    fence(Ordering::SeqCst); // pairs with `clear_unless`: it sees what came back, or this sees the bit cleared
    // Looked at first: most who set it find it set, and would take the line from each other.
    if words[bit / WIDTH].load(Ordering::Relaxed) & 1 << (bit % WIDTH) == 0 {
        words[bit / WIDTH].fetch_or(1 << (bit % WIDTH), Ordering::Relaxed);
    }
}

/// Clears a bit that is a hint.
pub(crate) fn clear(words: &[AtomicU64], bit: usize) {
    words[bit / WIDTH].fetch_and(!(1 << (bit % WIDTH)), Ordering::Relaxed);
}

/// Clears the hint that there is something, unless there is: what comes back meanwhile is not forgotten.
pub(crate) fn clear_unless(words: &[AtomicU64], bit: usize, there_is: impl Fn() -> bool) {
    clear(words, bit);
    fence(Ordering::SeqCst); // pairs with `set`
    if !made(Mistake::LeavesHint) && there_is() {
        words[bit / WIDTH].fetch_or(1 << (bit % WIDTH), Ordering::Relaxed);
    }
}

/// The first bit at or behind `from` that is set.
pub(crate) fn next_set(words: &[AtomicU64], from: usize) -> Option<usize> {
    // bounded: by the words.
    for (index, word) in words.iter().enumerate().skip(from / WIDTH) {
        let mut word = word.load(Ordering::Relaxed);
        if index == from / WIDTH {
            word &= u64::MAX << (from % WIDTH);
        }
        if word != 0 {
            return Some(index * WIDTH + word.trailing_zeros() as usize);
        }
    }
    None
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn words(values: [u64; 4]) -> [AtomicU64; 4] {
        values.map(AtomicU64::new)
    }

    #[test]
    fn runs_are_taken_within_and_over_words_and_given_back() {
        for (count, align) in
            [(1, 1), (3, 1), (8, 1), (8, 8), (64, 1), (65, 1), (100, 4), (200, 1), (128, 64)]
        {
            let all = words([u64::MAX; 4]);
            let mut taken = Vec::new();
            while let Some(first) = take_any(&all, count, align, 1) {
                assert!(first.is_multiple_of(align), "{count} at {first}");
                assert!(taken.iter().all(|other: &usize| first.abs_diff(*other) >= count));
                taken.push(first);
            }
            assert!(!taken.is_empty(), "{count} of 256");
            let left: u32 = all.iter().map(|word| word.load(Ordering::Relaxed).count_ones()).sum();
            assert_eq!(left as usize + taken.len() * count, 256);
            taken.iter().for_each(|first| give(&all, *first, count));
            assert!(all.iter().all(|word| word.load(Ordering::Relaxed) == u64::MAX));
        }
    }

    #[test]
    fn a_run_with_a_hole_is_not_taken() {
        let all = words([u64::MAX, !1, u64::MAX, 0]);
        assert!(!take_run(&all, 60, 10));
        assert_eq!(all.each_ref().map(|word| word.load(Ordering::Relaxed)), [u64::MAX, !1, u64::MAX, 0]);
        assert_eq!(take_any(&all, 100, 1, 0), Some(65));
        assert_eq!(next_set(&all, 64), Some(165));
    }
}
