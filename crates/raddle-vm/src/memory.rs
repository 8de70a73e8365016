//! Owns: the machine's memory: one run of words, and checked access to it.
//! May use: `loom`.
//! Never: an address that was not compared with the size.
//!
//! Every word is an atomic, accessed relaxed, which costs what a plain access costs: a program that races (by
//! `#PRAGMA SHARED`, or because somebody wrote its bytecode by hand) gets one value or another and nothing worse.
//! Nothing smaller than a word is ever accessed: the language has no meaning for a race of a byte against its word,
//! so a byte is a part of a word that is loaded, and stored by an exchange of the word, since its neighbours may be
//! another process's. Only while one OS thread runs the machine a load and a store do (PERF: 6 ns a byte less).

use crate::prim::{AtomicU32, Ordering};
use alloc::boxed::Box;
use core::sync::atomic::AtomicBool;

/// Addresses below are the host's channels, and no memory of the program's.
pub(crate) const FLOOR: u32 = 64;

/// Bytes of a line of the cache, which two processors do not write at the same time.
pub(crate) const LINE: u32 = 64;

/// The machine's memory.
pub(crate) struct Memory {
    words: Box<[AtomicU32]>,
    bytes: u32,
    /// Several OS threads run the machine.
    shared: AtomicBool,
}

/// `None` if there is not so much memory.
#[cfg(not(loom))]
fn zeroed(count: usize) -> Option<Box<[AtomicU32]>> {
    let layout = core::alloc::Layout::array::<AtomicU32>(count).ok()?;
    if layout.size() == 0 {
        return Some(Box::default());
    }
    // SAFETY: the layout has a size.
    let words = unsafe { alloc::alloc::alloc_zeroed(layout) }.cast::<AtomicU32>();
    if words.is_null() {
        return None;
    }
    // SAFETY: it was allocated as that many words, all of them zero, and is ours alone.
    Some(unsafe { Box::from_raw(core::ptr::slice_from_raw_parts_mut(words, count)) })
}

#[cfg(loom)]
fn zeroed(count: usize) -> Option<Box<[AtomicU32]>> {
    Some((0..count).map(|_| AtomicU32::new(0)).collect())
}

impl Memory {
    /// Zeroed; on a large machine the operating system gives the pages when they are first touched. `None` if it does
    /// not give as much.
    pub(crate) fn new(bytes: u32) -> Option<Memory> {
        let words = zeroed(bytes as usize / 4)?;
        Some(Memory { words, bytes: bytes / 4 * 4, shared: AtomicBool::new(false) })
    }

    /// As large as the system has it: `most` bytes, or else half as many, and so on, but not less than `least`. What
    /// is not all that was asked for leaves a quarter as much to everything else: to stacks, and to what the
    /// processes take outside. A machine without the feature `large` has what was asked for, or nothing.
    pub(crate) fn at_most(most: u32, least: u32) -> Option<Memory> {
        let all = Memory::new(most);
        if all.is_some() || !cfg!(feature = "large") {
            return all;
        }
        let halves = core::iter::successors(Some(most / 2), |bytes| Some(bytes / 2));
        halves.take_while(|&bytes| bytes >= least.max(FLOOR)).find_map(|bytes| {
            let rest = Memory::new(bytes / 4)?;
            let memory = Memory::new(bytes);
            drop(rest);
            memory
        })
    }

    /// From here on several OS threads may access it; called before the others know of it.
    pub(crate) fn share(&self) {
        self.shared.store(true, Ordering::Relaxed);
    }

    pub(crate) fn bytes(&self) -> u32 {
        self.bytes
    }

    /// The word at a multiple of four.
    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn word(&self, at: u32) -> Option<&AtomicU32> {
        if at & 3 != 0 {
            return None;
        }
        self.words.get((at >> 2) as usize)
    }

    /// How far behind an address the next line of the cache begins.
    pub(crate) fn to_next_line(&self, at: u32) -> u32 {
        let place = (self.words.as_ptr() as usize).wrapping_add(at as usize);
        (place.next_multiple_of(LINE as usize) - place) as u32
    }

    /// Where address 0 lies.
    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn base(&self) -> *const AtomicU32 {
        self.words.as_ptr()
    }

    /// Where a frame lies.
    ///
    /// # Safety
    /// `fp` is a multiple of four within the memory.
    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) unsafe fn raw_frame(&self, fp: u32) -> *const AtomicU32 {
        // SAFETY: the caller vouches for it.
        unsafe { self.words.as_ptr().add((fp >> 2) as usize) }
    }

    /// The word around an address, and how far up its bits lie there.
    #[cfg_attr(feature = "large", inline(always))]
    fn around(&self, at: u32) -> Option<(&AtomicU32, u32)> {
        Some((self.words.get((at >> 2) as usize)?, 8 * (at & 3)))
    }

    /// Changes the bits of a word that `mask` names.
    #[cfg_attr(feature = "large", inline(always))]
    fn change(&self, word: &AtomicU32, mask: u32, bits: u32) {
        let mut seen = word.load(Ordering::Relaxed);
        #[cfg(target_has_atomic = "32")]
        if self.shared.load(Ordering::Relaxed) {
            while let Err(now) =
                word.compare_exchange_weak(seen, seen & !mask | bits, Ordering::Relaxed, Ordering::Relaxed)
            {
                seen = now;
            }
            return;
        }
        seen = seen & !mask | bits;
        word.store(seen, Ordering::Relaxed);
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn load_b(&self, at: u32) -> Option<u32> {
        let (word, up) = self.around(at)?;
        Some(word.load(Ordering::Relaxed) >> up & 0xff)
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn store_b(&self, at: u32, value: u32) -> Option<()> {
        let (word, up) = self.around(at)?;
        self.change(word, 0xff << up, (value & 0xff) << up);
        Some(())
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn load_h(&self, at: u32) -> Option<u32> {
        let (word, up) = self.around(at)?;
        let low = word.load(Ordering::Relaxed) >> up;
        let all = if up == 24 { low | self.load_b(at.checked_add(1)?)? << 8 } else { low };
        Some(all as u16 as i16 as i32 as u32)
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn store_h(&self, at: u32, value: u32) -> Option<()> {
        let (word, up) = self.around(at)?;
        if up == 24 {
            let next = at.checked_add(1)?;
            self.around(next)?;
            self.store_b(at, value)?;
            return self.store_b(next, value >> 8);
        }
        self.change(word, 0xffff << up, (value & 0xffff) << up);
        Some(())
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn load_w(&self, at: u32) -> Option<u32> {
        match self.word(at) {
            Some(word) => Some(word.load(Ordering::Relaxed)),
            None => self.load_odd(at),
        }
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn store_w(&self, at: u32, value: u32) -> Option<()> {
        match self.word(at) {
            Some(word) => word.store(value, Ordering::Relaxed),
            None => self.store_odd(at, value)?,
        }
        Some(())
    }

    /// Fields of packed records lie anywhere.
    #[cold]
    fn load_odd(&self, at: u32) -> Option<u32> {
        let ((low, up), (high, _)) = (self.around(at)?, self.around(at.checked_add(3)?)?);
        Some(low.load(Ordering::Relaxed) >> up | high.load(Ordering::Relaxed) << (32 - up))
    }

    #[cold]
    fn store_odd(&self, at: u32, value: u32) -> Option<()> {
        let ((low, up), (high, _)) = (self.around(at)?, self.around(at.checked_add(3)?)?);
        self.change(low, u32::MAX << up, value << up);
        self.change(high, u32::MAX >> (32 - up), value >> (32 - up));
        Some(())
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn load_l(&self, at: u32) -> Option<u64> {
        let low = u64::from(self.load_w(at)?);
        Some(low | u64::from(self.load_w(at.checked_add(4)?)?) << 32)
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn store_l(&self, at: u32, value: u64) -> Option<()> {
        self.store_w(at, value as u32)?;
        self.store_w(at.checked_add(4)?, (value >> 32) as u32)
    }

    /// Whether `count` bytes from `at` on are there.
    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn has(&self, at: u32, count: u32) -> bool {
        count <= self.bytes && at <= self.bytes - count
    }

    /// Copies; the two may overlap.
    pub(crate) fn copy(&self, to: u32, from: u32, count: u32) -> Option<()> {
        if !self.has(to, count) || !self.has(from, count) {
            return None;
        }
        let mut left = count;
        while left > 0 {
            // Backwards if a forward copy would run into what it has yet to read.
            let behind = if to > from { left } else { count - left };
            let aligned = (to + behind) & 3 == 0 && left >= 4;
            let step = if aligned { 4 } else { 1 };
            let at = if to > from { behind - step } else { behind };
            if aligned {
                self.store_w(to + at, self.load_w(from + at)?)?;
            } else {
                self.store_b(to + at, self.load_b(from + at)?)?;
            }
            left -= step;
        }
        Some(())
    }

    pub(crate) fn fill(&self, at: u32, count: u32, value: u32) -> Option<()> {
        if !self.has(at, count) {
            return None;
        }
        let word = (value & 0xff) * 0x0101_0101;
        let mut done = 0;
        while done < count {
            let aligned = (at + done) & 3 == 0 && count - done >= 4;
            if aligned {
                self.store_w(at + done, word)?
            } else {
                self.store_b(at + done, word)?
            }
            done += if aligned { 4 } else { 1 };
        }
        Some(())
    }

    pub(crate) fn equal(&self, one: u32, other: u32, count: u32) -> Option<bool> {
        if !self.has(one, count) || !self.has(other, count) {
            return None;
        }
        Some((0..count).all(|at| self.load_b(one + at) == self.load_b(other + at)))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Every part at every place, beside a plain array of bytes, by one thread and shared.
    #[test]
    fn parts_of_words_are_as_those_of_an_array_of_bytes() {
        for shared in [false, true] {
            let (memory, mut plain) = (Memory::new(64).unwrap(), [0_u8; 64]);
            if shared {
                memory.share();
            }
            for at in 0..56 {
                let value = 0x89ab_cdef_u32.rotate_left(at).wrapping_add(at);
                for size in [1, 2, 4] {
                    match size {
                        1 => memory.store_b(at, value),
                        2 => memory.store_h(at, value),
                        _ => memory.store_w(at, value),
                    }
                    .unwrap();
                    let place = at as usize;
                    plain[place..place + size].copy_from_slice(&value.to_le_bytes()[..size]);
                    assert!((0..64).all(|at| memory.load_b(at) == Some(u32::from(plain[at as usize]))));
                }
                let place = at as usize;
                let half = i16::from_le_bytes([plain[place], plain[place + 1]]);
                assert_eq!(memory.load_h(at), Some(i32::from(half) as u32));
                let word = u32::from_le_bytes(plain[place..place + 4].try_into().unwrap());
                assert_eq!(memory.load_w(at), Some(word));
            }
        }
    }

    #[test]
    fn copies_overlap_at_every_distance() {
        for (to, from, count) in
            (0..12).flat_map(|to| (0..12).flat_map(move |from| (0..20).map(move |n| (to, from, n))))
        {
            let memory = Memory::new(64).unwrap();
            let mut plain: [u8; 64] = core::array::from_fn(|at| at as u8);
            (0..64).for_each(|at| memory.store_b(at, at).unwrap());
            memory.copy(to, from, count).unwrap();
            plain.copy_within(from as usize..(from + count) as usize, to as usize);
            memory.fill(to + 24, count, 7).unwrap();
            plain[to as usize + 24..(to + 24 + count) as usize].fill(7);
            assert!((0..64).all(|at| memory.load_b(at) == Some(u32::from(plain[at as usize]))));
        }
    }

    #[test]
    fn nothing_lies_behind_the_end() {
        let memory = Memory::new(16).unwrap();
        assert_eq!(
            (memory.load_b(16), memory.load_h(15), memory.load_w(13), memory.load_l(12)),
            (None, None, None, None)
        );
        assert_eq!((memory.store_b(16, 1), memory.store_h(15, 1), memory.store_w(13, 1)), (None, None, None));
        assert_eq!(
            (memory.load_w(12), memory.load_w(u32::MAX), memory.load_h(u32::MAX)),
            (Some(0), None, None)
        );
    }
}
