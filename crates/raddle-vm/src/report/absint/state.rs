//! Owns: `AbstractState`, where a process will be and what it may find in memory.
//! May use: `memory`.
//! Never: what another process is going to write.

use super::interval::Interval;
use crate::memory::Memory;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// So many unknown ranges of memory are told apart.
const UNKNOWN_MAX: usize = 16;
/// A longer range is not looked at word by word.
const WORDS_MAX: u32 = 1024;

/// A moment in the future of a process.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct AbstractState {
    /// The next instruction.
    pub(super) at: u32,
    /// Its frame.
    pub(super) fp: u32,
    /// Where the next frame or block is put that it will allocate: behind the machine's memory. The last address if
    /// that is not known.
    pub(super) fresh: u32,
    /// Where those lie that it has allocated since.
    blocks: Vec<u32>,
    /// The locks that it will have claimed and not given back.
    pub(super) claims: Vec<Interval>,
    /// Words that will be others than they are.
    words: BTreeMap<u32, Interval>,
    /// From where to where it is not known what else will be there.
    unknown: Vec<(u32, u32)>,
}

impl AbstractState {
    pub(super) fn new(at: u32, fp: u32, fresh: u32) -> AbstractState {
        AbstractState {
            at,
            fp,
            fresh,
            blocks: Vec::new(),
            claims: Vec::new(),
            words: BTreeMap::new(),
            unknown: Vec::new(),
        }
    }

    /// How many words it knows to be others.
    pub(super) fn count_words(&self) -> u32 {
        u32::try_from(self.words.len()).unwrap_or(u32::MAX)
    }

    /// The same elsewhere.
    pub(super) fn at(&self, at: u32) -> AbstractState {
        AbstractState { at, ..self.clone() }
    }

    /// The word at a multiple of four.
    pub(super) fn peek(&self, memory: &Memory, at: u32) -> Interval {
        if let Some(&value) = self.words.get(&at) {
            return value;
        }
        if self.unknown.iter().any(|&(lo, hi)| (lo..=hi).contains(&at)) {
            return Interval::TOP;
        }
        memory.load_w(at).map_or(Interval::TOP, Interval::exactly)
    }

    pub(super) fn slot(&self, memory: &Memory, slot: u16) -> Interval {
        self.peek(memory, self.slot_at(slot))
    }

    pub(super) fn slot_at(&self, slot: u16) -> u32 {
        self.fp.wrapping_add(4 * u32::from(slot))
    }

    /// What one of the words at these addresses will be.
    pub(super) fn load(&self, memory: &Memory, at: Interval) -> Interval {
        if !at.lo.is_multiple_of(4) || (at.hi - at.lo) / 4 >= WORDS_MAX {
            return Interval::TOP;
        }
        let words = (at.lo..=at.hi).step_by(4).map(|at| self.peek(memory, at));
        words.reduce(Interval::join).unwrap_or(Interval::TOP)
    }

    pub(super) fn put(&mut self, at: u32, value: Interval) {
        self.words.insert(at, value);
    }

    /// Memory that nobody has; `None` if there are no addresses left for it.
    pub(super) fn take(&mut self, bytes: u32) -> Option<u32> {
        let at = self.fresh;
        self.fresh = at.checked_add(bytes)?.checked_next_multiple_of(4)?;
        self.blocks.push(at);
        Some(at)
    }

    /// The block that was taken last can be taken again.
    pub(super) fn give_back(&mut self, block: Interval) {
        if self.fresh != u32::MAX && self.blocks.last().is_some_and(|&at| block == Interval::exactly(at)) {
            self.fresh = self.blocks.pop().unwrap_or(self.fresh);
            let fresh = self.fresh;
            self.words.retain(|&at, _| at < fresh);
        }
    }

    /// All words from the one to the other will be something else.
    pub(super) fn forget(&mut self, lo: u32, hi: u32) {
        let (lo, hi) = (lo & !3, hi | 3);
        if hi - lo < 32 {
            (lo..=hi).step_by(4).for_each(|at| self.put(at, Interval::TOP));
            return;
        }
        self.words.retain(|at, _| !(lo..=hi).contains(at));
        if self.unknown.iter().any(|&(from, to)| from <= lo && hi <= to) {
            return;
        }
        self.unknown.retain(|&(from, to)| from < lo || to > hi);
        self.unknown.push((lo, hi));
        if self.unknown.len() > UNKNOWN_MAX {
            let lo = self.unknown.iter().map(|&(lo, _)| lo).min().unwrap_or(0);
            let hi = self.unknown.iter().map(|&(_, hi)| hi).max().unwrap_or(u32::MAX);
            self.unknown.clear();
            self.forget(lo, hi);
        }
        self.unknown.sort_unstable();
    }

    /// The smallest state at this place that holds both, if there is one. If it widens, what differs becomes unknown at
    /// once, so that states at one place cannot grow for ever.
    pub(super) fn join(&self, other: &AbstractState, memory: &Memory, widen: bool) -> Option<AbstractState> {
        if (self.at, self.fp) != (other.at, other.fp) || self.claims != other.claims {
            return None;
        }
        let mut both = self.clone();
        if self.blocks != other.blocks || self.fresh != other.fresh {
            both.blocks.clear();
            both.fresh = if widen { u32::MAX } else { self.fresh.max(other.fresh) };
        }
        for &(lo, hi) in &other.unknown {
            both.forget(lo, hi);
        }
        for &at in self.words.keys().chain(other.words.keys()) {
            let (one, two) = (self.peek(memory, at), other.peek(memory, at));
            let value = if widen && one != one.join(two) { Interval::TOP } else { one.join(two) };
            both.put(at, value);
        }
        Some(both)
    }
}
