//! Owns: `State`, where a process will be and what it will find in memory.
//! May use: `Value`; the machine's memory as it is.
//! Never: what another process is going to write.

use super::value::Value;
use crate::memory::Memory;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// So many stretches of memory that is not known are told apart.
const LOST_MAX: usize = 16;
/// A longer stretch is not looked at word by word.
const WORDS_MAX: u32 = 1024;

/// A moment in the future of a process.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct State {
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
    pub(super) claims: Vec<Value>,
    /// Words that will be others than they are.
    words: BTreeMap<u32, Value>,
    /// From where to where it is not known what else will be there.
    lost: Vec<(u32, u32)>,
}

impl State {
    pub(super) fn new(at: u32, fp: u32, fresh: u32) -> State {
        State {
            at,
            fp,
            fresh,
            blocks: Vec::new(),
            claims: Vec::new(),
            words: BTreeMap::new(),
            lost: Vec::new(),
        }
    }

    /// The same elsewhere.
    pub(super) fn at(&self, at: u32) -> State {
        State { at, ..self.clone() }
    }

    /// The word at a multiple of four.
    pub(super) fn peek(&self, memory: &Memory, at: u32) -> Value {
        if let Some(&value) = self.words.get(&at) {
            return value;
        }
        if self.lost.iter().any(|&(lo, hi)| (lo..=hi).contains(&at)) {
            return Value::ANY;
        }
        memory.load_w(at).map_or(Value::ANY, Value::is)
    }

    pub(super) fn slot(&self, memory: &Memory, slot: u16) -> Value {
        self.peek(memory, self.slot_at(slot))
    }

    pub(super) fn slot_at(&self, slot: u16) -> u32 {
        self.fp.wrapping_add(4 * u32::from(slot))
    }

    /// What one of the words at these addresses will be.
    pub(super) fn load(&self, memory: &Memory, at: Value) -> Value {
        if !at.lo.is_multiple_of(4) || (at.hi - at.lo) / 4 >= WORDS_MAX {
            return Value::ANY;
        }
        let words = (at.lo..=at.hi).step_by(4).map(|at| self.peek(memory, at));
        words.reduce(Value::hull).unwrap_or(Value::ANY)
    }

    pub(super) fn put(&mut self, at: u32, value: Value) {
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
    pub(super) fn give_back(&mut self, block: Value) {
        if self.fresh != u32::MAX && self.blocks.last().is_some_and(|&at| block == Value::is(at)) {
            self.fresh = self.blocks.pop().unwrap_or(self.fresh);
            let fresh = self.fresh;
            self.words.retain(|&at, _| at < fresh);
        }
    }

    /// All words from the one to the other will be something else.
    pub(super) fn forget(&mut self, lo: u32, hi: u32) {
        let (lo, hi) = (lo & !3, hi | 3);
        if hi - lo < 32 {
            (lo..=hi).step_by(4).for_each(|at| self.put(at, Value::ANY));
            return;
        }
        self.words.retain(|at, _| !(lo..=hi).contains(at));
        if self.lost.iter().any(|&(from, to)| from <= lo && hi <= to) {
            return;
        }
        self.lost.retain(|&(from, to)| from < lo || to > hi);
        self.lost.push((lo, hi));
        if self.lost.len() > LOST_MAX {
            let lo = self.lost.iter().map(|&(lo, _)| lo).min().unwrap_or(0);
            let hi = self.lost.iter().map(|&(_, hi)| hi).max().unwrap_or(u32::MAX);
            self.lost.clear();
            self.forget(lo, hi);
        }
        self.lost.sort_unstable();
    }

    /// Either of two at the same place; words that `wide` says of may be anything if they differ. `None` if there is no
    /// such state.
    pub(super) fn or(&self, other: &State, memory: &Memory, wide: bool) -> Option<State> {
        if (self.at, self.fp) != (other.at, other.fp) || self.claims != other.claims {
            return None;
        }
        let mut both = self.clone();
        if self.blocks != other.blocks || self.fresh != other.fresh {
            both.blocks.clear();
            both.fresh = if wide { u32::MAX } else { self.fresh.max(other.fresh) };
        }
        for &(lo, hi) in &other.lost {
            both.forget(lo, hi);
        }
        for &at in self.words.keys().chain(other.words.keys()) {
            let (one, two) = (self.peek(memory, at), other.peek(memory, at));
            let value = if wide && one != one.hull(two) { Value::ANY } else { one.hull(two) };
            both.put(at, value);
        }
        Some(both)
    }
}
