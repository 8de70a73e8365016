//! Owns: which slots stand in registers where: the words and the pairs of words that a function names.
//! May use: `blocks`, `operands`, `raddle-bytecode`.
//! Never: code.
//!
//! A slot may be seen as a word, or with the next one as 64 bits: each is a *view*. Whatever is written goes into
//! memory at once, so that a process may stop anywhere; a register only saves to read it again. A view is *held* at a
//! place if on each way there it was read or written and not changed behind the back of the code since.
//!
//! At the head of a loop are held, by decree, all views that the loop reads before it loses them: who comes in loads
//! those that it does not hold.

use crate::blocks::{BasicBlock, Blocks};
use crate::operands::{Kills, Operand, kills, operands};
use raddle_bytecode::{Function, Insn};
use std::collections::BTreeMap;

/// A set of views.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ViewSet(Vec<u64>);

impl ViewSet {
    fn none(count: usize) -> ViewSet {
        ViewSet(vec![0; count.div_ceil(64)])
    }

    fn all(count: usize) -> ViewSet {
        ViewSet(vec![u64::MAX; count.div_ceil(64)])
    }

    pub(crate) fn has(&self, view: usize) -> bool {
        self.0[view / 64] >> (view % 64) & 1 == 1
    }

    pub(crate) fn add(&mut self, view: usize) {
        self.0[view / 64] |= 1 << (view % 64);
    }

    fn remove(&mut self, view: usize) {
        self.0[view / 64] &= !(1 << (view % 64));
    }

    pub(crate) fn clear(&mut self) {
        self.0.fill(0);
    }

    fn meet(&mut self, other: &ViewSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(one, other)| *one &= other);
    }

    fn join(&mut self, other: &ViewSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(one, other)| *one |= other);
    }

    /// Those that are in this one, and not in the other, in order.
    pub(crate) fn beyond<'s>(&'s self, other: &'s ViewSet) -> impl Iterator<Item = usize> + 's {
        self.0.iter().zip(&other.0).enumerate().flat_map(|(word, (one, other))| {
            let mut bits = one & !other;
            std::iter::from_fn(move || {
                let bit = bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
                (bit < 64).then_some(64 * word + bit as usize)
            })
        })
    }
}

/// One way to see a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) slot: u16,
    pub(crate) is_wide: bool,
    /// What it holds is used as a real number.
    pub(crate) is_real: bool,
}

/// The views of a function.
#[derive(Debug)]
pub(crate) struct Views {
    pub(crate) all: Vec<View>,
    by_place: BTreeMap<(u16, bool), usize>,
}

impl Views {
    pub(crate) fn of(function: &Function, code: &[Insn]) -> Views {
        let mut views = Views { all: Vec::new(), by_place: BTreeMap::new() };
        for at in function.first..function.first + function.count {
            let operands = operands(code[at as usize]);
            operands.reads().chain(operands.writes()).for_each(|operand| views.note(operand));
        }
        views
    }

    fn note(&mut self, (slot, class): Operand) {
        let fresh = self.all.len();
        let view = *self.by_place.entry((slot, class.is_wide())).or_insert(fresh);
        if view == fresh {
            self.all.push(View { slot, is_wide: class.is_wide(), is_real: false });
        }
        self.all[view].is_real |= class.is_real();
    }

    pub(crate) fn at(&self, (slot, class): Operand) -> usize {
        self.by_place[&(slot, class.is_wide())]
    }

    /// Whether a word of the frame belongs to any view.
    pub(crate) fn name(&self, slot: u16) -> bool {
        let wide = |slot: u16| self.by_place.contains_key(&(slot, true));
        self.by_place.contains_key(&(slot, false)) || wide(slot) || slot.checked_sub(1).is_some_and(wide)
    }

    /// Takes out of the set all views of those slots.
    pub(crate) fn forget(&self, set: &mut ViewSet, first: u16, count: u32) {
        let behind = u32::from(first) + count;
        if count > 8 {
            for (number, view) in self.all.iter().enumerate() {
                let end = u32::from(view.slot) + 1 + u32::from(view.is_wide);
                if u32::from(view.slot) < behind && end > u32::from(first) {
                    set.remove(number);
                }
            }
            return;
        }
        let wide_first = first.saturating_sub(1);
        let narrow = (u32::from(first)..behind).map(|slot| (slot, false));
        let wide = (u32::from(wide_first)..behind).map(|slot| (slot, true));
        for (slot, is_wide) in narrow.chain(wide) {
            if let Some(&view) = self.by_place.get(&(slot as u16, is_wide)) {
                set.remove(view);
            }
        }
    }

    /// What is held behind an instruction before which `held` is.
    pub(crate) fn pass(&self, insn: Insn, held: &mut ViewSet) {
        let operands = operands(insn);
        operands.reads().for_each(|operand| held.add(self.at(operand)));
        self.lose(kills(insn), held);
        operands.writes().for_each(|operand| self.write(operand, held));
    }

    pub(crate) fn lose(&self, kills: Kills, held: &mut ViewSet) {
        match kills {
            Kills::Nothing => {}
            Kills::Slots(first, count) => self.forget(held, first, count),
            Kills::All => held.clear(),
        }
    }

    /// A slot is written.
    pub(crate) fn write(&self, operand: Operand, held: &mut ViewSet) {
        self.forget(held, operand.0, 1 + u32::from(operand.1.is_wide()));
        held.add(self.at(operand));
    }
}

/// What is held at the beginning of each block.
pub(crate) fn held_at_blocks(views: &Views, blocks: &Blocks, code: &[Insn]) -> Vec<ViewSet> {
    let count = views.all.len();
    let wanted = wanted_by_loops(views, blocks, code);
    let mut held: Vec<ViewSet> = blocks
        .all
        .iter()
        .zip(&wanted)
        .map(|(block, wanted)| match (block.looped_from, block.is_resume) {
            (Some(_), _) => wanted.clone(),
            (None, true) => ViewSet::none(count),
            (None, false) => ViewSet::all(count),
        })
        .collect();
    let mut changed = true;
    while changed {
        changed = false;
        for (number, block) in blocks.all.iter().enumerate().filter(|(_, block)| block.is_live) {
            let mut out = held[number].clone();
            instructions(block, code).for_each(|insn| views.pass(insn, &mut out));
            for &next in &block.next {
                if blocks.all[next].looped_from.is_none() && !blocks.all[next].is_resume {
                    let before = held[next].clone();
                    held[next].meet(&out);
                    changed |= held[next] != before;
                }
            }
        }
    }
    held
}

fn instructions<'c>(block: &BasicBlock, code: &'c [Insn]) -> impl DoubleEndedIterator<Item = Insn> + 'c {
    code[block.first as usize..block.behind as usize].iter().copied()
}

/// For each block that is the head of a loop, what the loop reads, before it is lost.
fn wanted_by_loops(views: &Views, blocks: &Blocks, code: &[Insn]) -> Vec<ViewSet> {
    let count = views.all.len();
    let mut live: Vec<ViewSet> = vec![ViewSet::none(count); blocks.all.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for (number, block) in blocks.all.iter().enumerate().rev().filter(|(_, block)| block.is_live) {
            let mut set = ViewSet::none(count);
            block.next.iter().for_each(|&next| set.join(&live[next]));
            instructions(block, code).rev().for_each(|insn| pass_back(views, insn, &mut set));
            changed |= set != live[number];
            live[number] = set;
        }
    }
    for (number, block) in blocks.all.iter().enumerate() {
        let Some(last) = block.looped_from else { continue };
        let mut read = ViewSet::none(count);
        for &insn in &code[block.first as usize..=last as usize] {
            operands(insn).reads().for_each(|operand| read.add(views.at(operand)));
        }
        live[number].meet(&read);
    }
    live
}

/// What is worth holding before an instruction behind which `set` is.
fn pass_back(views: &Views, insn: Insn, set: &mut ViewSet) {
    let operands = operands(insn);
    operands.writes().for_each(|(slot, class)| views.forget(set, slot, 1 + u32::from(class.is_wide())));
    views.lose(kills(insn), set);
    operands.reads().for_each(|operand| set.add(views.at(operand)));
}
