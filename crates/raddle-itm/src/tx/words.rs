//! Owns: words of memory with the bytes in them that a transaction has read, or written.
//! May use: `fault`.
//! Never: the clock.
//!
//! It holds `unsafe` for storing what was written to the program's memory.

use crate::fault::peek;
use std::ptr::with_exposed_provenance_mut;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// A word of eight bytes at a multiple of eight, and some of its bytes.
#[derive(Clone, Copy)]
pub(crate) struct MemoryWord {
    pub(crate) address: usize,
    /// Nothing but zeros outside of the mask.
    pub(crate) value: u64,
    /// Ones in the bytes that are meant.
    pub(crate) mask: u64,
}

impl MemoryWord {
    /// Whether that is what stands there now.
    #[inline(always)]
    pub(crate) fn is_there(&self) -> bool {
        peek(self.address).is_some_and(|word| word & self.mask == self.value)
    }

    /// Stores it: its own bytes alone, since the others may be changed by anybody at the same time.
    #[inline(always)]
    fn store(&self) {
        if self.mask == u64::MAX {
            let place = with_exposed_provenance_mut::<u64>(self.address);
            // SAFETY: what the program has had written here, by a word that is aligned.
            unsafe { AtomicU64::from_ptr(place) }.store(self.value, Ordering::Relaxed);
        } else {
            self.store_part();
        }
    }

    fn store_part(&self) {
        let mut left = self.mask;
        while left != 0 {
            let first = left.trailing_zeros() / 8;
            let bytes = (left >> (8 * first)).trailing_ones() / 8;
            let size = [4, 2, 1].into_iter().find(|&size| size <= bytes && first.is_multiple_of(size));
            let size = size.expect("a byte fits");
            self.store_bytes(first as usize, size);
            left &= !(((1_u64 << (8 * size)) - 1) << (8 * first));
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the bytes that are stored")]
    fn store_bytes(&self, first: usize, size: u32) {
        let value = self.value >> (8 * first);
        let address = self.address + first;
        let order = Ordering::Relaxed;
        // SAFETY: what the program has had written here, at a multiple of its size; so are the next two.
        let four = || unsafe { AtomicU32::from_ptr(with_exposed_provenance_mut(address)) };
        // SAFETY: as above.
        let two = || unsafe { AtomicU16::from_ptr(with_exposed_provenance_mut(address)) };
        // SAFETY: as above.
        let one = || unsafe { AtomicU8::from_ptr(with_exposed_provenance_mut(address)) };
        match size {
            4 => four().store(value as u32, order),
            2 => two().store(value as u16, order),
            _ => one().store(value as u8, order),
        }
    }
}

/// Up to so many words are looked through one by one.
const FEW: usize = 8;

/// What a transaction has written, each word once, and not stored yet.
#[derive(Clone, Default)]
pub(crate) struct Written {
    words: Vec<MemoryWord>,
    /// A bit for each sixty-fourth of all addresses, in which something was written.
    filter: u64,
    /// Where a word stands, plus one, by a hash of its address; empty as long as there are few.
    index: Vec<u32>,
}

impl Written {
    #[inline(always)]
    pub(crate) const fn is_empty(&self) -> bool {
        self.filter == 0
    }

    #[inline(always)]
    pub(crate) fn find(&self, address: usize) -> Option<&MemoryWord> {
        if !self.may_hold(address) { None } else { self.place(address).map(|place| &self.words[place]) }
    }

    fn place(&self, address: usize) -> Option<usize> {
        if self.index.is_empty() {
            return self.words.iter().position(|word| word.address == address);
        }
        let mut slot = self.slot(address);
        loop {
            match self.index[slot] {
                0 => return None,
                place if self.words[place as usize - 1].address == address => {
                    return Some(place as usize - 1);
                }
                _ => slot = (slot + 1) & (self.index.len() - 1),
            }
        }
    }

    /// Where the search for a word begins.
    fn slot(&self, address: usize) -> usize {
        let hash = (address as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 32) as usize & (self.index.len() - 1)
    }

    /// False if nothing was written there.
    #[inline(always)]
    pub(crate) const fn may_hold(&self, address: usize) -> bool {
        self.filter & bit(address) != 0
    }

    /// Takes it, where nothing was written before; false if that is more than a store.
    #[inline(always)]
    pub(crate) fn write_first(&mut self, word: MemoryWord) -> bool {
        let is_short = self.words.len() < FEW && self.words.len() < self.words.capacity();
        if is_short {
            self.filter |= bit(word.address);
            self.words.push(word);
        }
        is_short
    }

    /// Takes it over what was written before.
    #[inline(always)]
    pub(crate) fn write(&mut self, word: MemoryWord) {
        if self.may_hold(word.address)
            && let Some(place) = self.place(word.address)
        {
            let before = &mut self.words[place];
            before.value = (before.value & !word.mask) | word.value;
            before.mask |= word.mask;
            return;
        }
        self.filter |= bit(word.address);
        self.words.push(word);
        if self.words.len() > FEW {
            self.note(self.words.len() - 1);
        }
    }

    #[cold]
    fn note(&mut self, last: usize) {
        let is_full = self.index.len() < 2 * self.words.len();
        if is_full {
            self.index.clear();
            self.index.resize((4 * self.words.len()).next_power_of_two(), 0);
        }
        for place in if is_full { 0 } else { last }..=last {
            let mut slot = self.slot(self.words[place].address);
            while self.index[slot] != 0 {
                slot = (slot + 1) & (self.index.len() - 1);
            }
            self.index[slot] = u32::try_from(place + 1).expect("a transaction writes less than 32 GB");
        }
    }

    /// Stores all. The caller has the clock.
    #[inline(always)]
    pub(crate) fn store(&self) {
        self.words.iter().for_each(MemoryWord::store);
    }

    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.filter = 0;
        if !self.index.is_empty() {
            self.index.clear();
        }
    }
}

const fn bit(address: usize) -> u64 {
    1 << (address >> 3 & 63)
}
