//! Owns: how code that is made while others run is shown to them.
//! May use: `prim`, `loom`.
//! Never: makes code, and never a word that leads to code before what that code reads.
//!
//! A program's code is found by words, one an instruction, each of which leads to code. There is one maker at a time,
//! which first writes what nobody knows of yet: the code itself, in pages of their own, the tables whose addresses are
//! in it, and for each entry its number. Then it *shows* that, and then it writes the words. None of what was shown is
//! ever changed again; a word changes once, from the way out to code. Two kinds of readers find words:
//!
//! - **The machine** loads a word (`found`, an acquire) and jumps there. The word was stored by a release
//!   (`published`); so all that the maker wrote before it is there.
//! - **Compiled code** loads a word plainly and jumps there; and there plainly loads a number, or an entry of a table.
//!   On x86 each load is an acquire, and it is as with the machine. Elsewhere two loads may be done in either order,
//!   and so may be the fetch of what is jumped to. There the maker's showing is a barrier in every OS thread of this
//!   process (`membarrier`, with a flush of what was fetched), which has come to its end before a word is written. A
//!   load that finds the new word therefore comes behind its thread's barrier; so does what follows it, however these
//!   two are ordered, and it sees all that was written before the barrier was asked for. An OS thread that did not run
//!   then had, or has, a barrier of the kernel's when it begins to.
//!
//! The number of an entry needs no ordering of its own: it is one of the things that are shown. What is in an entry
//! that nobody has made yet, the way out, was written before there was a second OS thread.
//!
//! The models have both readers, and notice if `published` or `found` is relaxed, or the barrier left out.

use crate::prim::{AtomicBool, AtomicU32, AtomicUsize, Ordering, found, published};
use alloc::sync::Arc;

/// A word that leads to code. Compiled code loads it plainly.
#[derive(Debug)]
#[repr(transparent)]
pub struct CodeWord(AtomicUsize);

impl CodeWord {
    /// It leads there.
    pub fn new(code: usize) -> CodeWord {
        CodeWord(AtomicUsize::new(code))
    }

    /// Where it leads: what is found there can be executed, and finds what it reads.
    #[inline(always)]
    pub fn get(&self) -> usize {
        self.0.load(found())
    }

    /// Where it leads; nothing that is there may be looked at.
    #[inline(always)]
    pub fn glance(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// From now on it leads there, where code has been shown to all.
    pub fn lead_to(&self, code: usize) {
        self.0.store(code, published());
    }
}

/// A place at which code is entered.
#[derive(Clone, Copy, Debug)]
pub struct CodeEntry {
    /// The instruction that is there.
    pub at: u32,
    /// Which of the entries of its code it is.
    pub number: u32,
    /// Where that code begins.
    pub code: usize,
}

/// Where code begins, by instruction. It may come to have more while others look.
#[derive(Clone, Debug)]
pub struct CodeTable {
    words: Arc<[CodeWord]>,
    numbers: Arc<[AtomicU32]>,
    has_code: Arc<AtomicBool>,
}

impl CodeTable {
    /// So many instructions, all of which are left to `leave_there`.
    pub fn new(count: usize, leave_there: usize) -> CodeTable {
        CodeTable {
            words: (0..count).map(|_| CodeWord::new(leave_there)).collect(),
            numbers: (0..count).map(|_| AtomicU32::new(0)).collect(),
            has_code: Arc::new(AtomicBool::new(false)),
        }
    }

    /// Where the words lie.
    pub fn place(&self) -> usize {
        self.words.as_ptr() as usize
    }

    /// Where it stands for each instruction which of the entries of its code it is.
    pub fn numbers_place(&self) -> usize {
        self.numbers.as_ptr() as usize
    }

    /// Where to jump.
    #[inline(always)]
    pub fn get(&self, at: usize) -> Option<usize> {
        self.words.get(at).map(CodeWord::get)
    }

    /// Whether no code has been made, as far as is known here; there may be some since a moment.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        !self.has_code.load(Ordering::Relaxed)
    }

    /// Nobody else has the table yet: for all instructions one is to jump there.
    pub fn fill(&self, leave_there: usize) {
        self.words.iter().for_each(|word| word.lead_to(leave_there));
    }

    /// Code has been made, and can be executed: shows it to all, and then leads to it.
    pub fn publish(&self, entries: impl Iterator<Item = CodeEntry> + Clone, show_to_all: impl FnOnce()) {
        for CodeEntry { at, number, .. } in entries.clone() {
            self.numbers[at as usize].store(number, Ordering::Relaxed);
        }
        self.has_code.store(true, Ordering::Relaxed);
        show_to_all();
        entries.for_each(|CodeEntry { at, code, .. }| self.words[at as usize].lead_to(code));
    }

    /// Which of the entries of its code an instruction is, as compiled code loads it.
    #[cfg(all(loom, test))]
    pub(crate) fn number(&self, at: usize) -> u32 {
        self.numbers[at].load(Ordering::Relaxed)
    }

    /// Where to jump, as compiled code loads it where a load acquires nothing.
    #[cfg(all(loom, test))]
    pub(crate) fn glance(&self, at: usize) -> usize {
        self.words[at].glance()
    }
}
