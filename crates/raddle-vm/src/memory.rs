//! Owns: the machine's memory: one run of words, and checked access to it.
//! May use: relaxed atomics.
//! Never: an address that was not compared with the size.
//!
//! Every word is an atomic, accessed relaxed, which costs what a plain access costs: a program that races (by
//! `#PRAGMA SHARED`, or because somebody wrote its bytecode by hand) gets one value or another and nothing worse.
//! Bytes are written as bytes of the same words: neighbours in an array of bytes belong to different processes. A
//! race of a byte against its word, which only such programs have, is defined on every machine that we know, and not
//! yet by the language's book.

use crate::prim::{AtomicU32, Ordering};
use alloc::boxed::Box;
use core::sync::atomic::AtomicU8;

/// The machine's memory.
pub(crate) struct Memory {
    words: Box<[AtomicU32]>,
    bytes: u32,
}

#[cfg(not(loom))]
fn zeroed(count: usize) -> Box<[AtomicU32]> {
    let words: Box<[u32]> = alloc::vec![0; count].into_boxed_slice();
    // SAFETY: an atomic word has the representation of a word, and the box is ours alone.
    unsafe { Box::from_raw(Box::into_raw(words) as *mut [AtomicU32]) }
}

#[cfg(loom)]
fn zeroed(count: usize) -> Box<[AtomicU32]> {
    (0..count).map(|_| AtomicU32::new(0)).collect()
}

impl Memory {
    /// Zeroed; on a large machine the operating system gives the pages when they are first touched.
    pub(crate) fn new(bytes: u32) -> Memory {
        Memory { words: zeroed(bytes as usize / 4), bytes: bytes / 4 * 4 }
    }

    pub(crate) fn bytes(&self) -> u32 {
        self.bytes
    }

    /// The word at a multiple of four.
    #[inline(always)]
    pub(crate) fn word(&self, at: u32) -> Option<&AtomicU32> {
        if at & 3 != 0 {
            return None;
        }
        self.words.get((at >> 2) as usize)
    }

    /// Where a frame lies.
    ///
    /// # Safety
    /// `fp` is a multiple of four within the memory.
    #[inline(always)]
    pub(crate) unsafe fn raw_frame(&self, fp: u32) -> *const AtomicU32 {
        // SAFETY: the caller vouches for it.
        unsafe { self.words.as_ptr().add((fp >> 2) as usize) }
    }

    #[inline(always)]
    pub(crate) fn byte(&self, at: u32) -> Option<&AtomicU8> {
        if at >= self.bytes {
            return None;
        }
        // The lowest byte of a word is at the lowest address: on a machine of the other order, mirrored.
        let at = if cfg!(target_endian = "big") { at ^ 3 } else { at } as usize;
        // SAFETY: within the words, as just compared.
        let byte = unsafe { self.words.as_ptr().cast::<u8>().add(at) };
        // SAFETY: it lives as long as the words, which are only accessed as atomics.
        Some(unsafe { AtomicU8::from_ptr(byte.cast_mut()) })
    }

    #[inline(always)]
    pub(crate) fn load_b(&self, at: u32) -> Option<u32> {
        Some(u32::from(self.byte(at)?.load(Ordering::Relaxed)))
    }

    #[inline(always)]
    pub(crate) fn store_b(&self, at: u32, value: u32) -> Option<()> {
        self.byte(at)?.store(value as u8, Ordering::Relaxed);
        Some(())
    }

    #[inline(always)]
    pub(crate) fn load_h(&self, at: u32) -> Option<u32> {
        let low = self.load_b(at)?;
        let high = self.load_b(at.checked_add(1)?)?;
        Some((low | high << 8) as u16 as i16 as i32 as u32)
    }

    #[inline(always)]
    pub(crate) fn store_h(&self, at: u32, value: u32) -> Option<()> {
        self.store_b(at, value)?;
        self.store_b(at.checked_add(1)?, value >> 8)
    }

    #[inline(always)]
    pub(crate) fn load_w(&self, at: u32) -> Option<u32> {
        match self.word(at) {
            Some(word) => Some(word.load(Ordering::Relaxed)),
            None => self.load_odd(at),
        }
    }

    #[inline(always)]
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
        let low = self.load_h(at)? & 0xffff;
        Some(low | self.load_h(at.checked_add(2)?)? << 16)
    }

    #[cold]
    fn store_odd(&self, at: u32, value: u32) -> Option<()> {
        self.byte(at.checked_add(3)?)?;
        self.store_h(at, value)?;
        self.store_h(at + 2, value >> 16)
    }

    #[inline(always)]
    pub(crate) fn load_l(&self, at: u32) -> Option<u64> {
        let low = u64::from(self.load_w(at)?);
        Some(low | u64::from(self.load_w(at.checked_add(4)?)?) << 32)
    }

    #[inline(always)]
    pub(crate) fn store_l(&self, at: u32, value: u64) -> Option<()> {
        self.store_w(at, value as u32)?;
        self.store_w(at.checked_add(4)?, (value >> 32) as u32)
    }

    /// Whether `count` bytes from `at` on are there.
    #[inline(always)]
    pub(crate) fn has(&self, at: u32, count: u32) -> bool {
        count <= self.bytes && at <= self.bytes - count
    }

    /// Copies; the two may overlap.
    pub(crate) fn copy(&self, to: u32, from: u32, count: u32) -> Option<()> {
        if !self.has(to, count) || !self.has(from, count) {
            return None;
        }
        let whole = if (to | from | count) & 3 == 0 { 4 } else { 1 };
        let steps = count / whole;
        for step in 0..steps {
            // Backwards if a forward copy would run into what it has yet to read.
            let at = whole * if to > from { steps - 1 - step } else { step };
            if whole == 4 {
                self.store_w(to + at, self.load_w(from + at)?)?;
            } else {
                self.store_b(to + at, self.load_b(from + at)?)?;
            }
        }
        Some(())
    }

    pub(crate) fn fill(&self, at: u32, count: u32, value: u32) -> Option<()> {
        if !self.has(at, count) {
            return None;
        }
        let whole = if (at | count) & 3 == 0 { 4 } else { 1 };
        let word = (value & 0xff) * 0x0101_0101;
        for step in 0..count / whole {
            if whole == 4 { self.store_w(at + 4 * step, word)? } else { self.store_b(at + step, word)? }
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
