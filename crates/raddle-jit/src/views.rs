//! Owns: which slots stand in registers where: the words and the pairs of words that a function names.
//! May use: `blocks`, `operands`, `raddle-bytecode`.
//! Never: code.
//!
//! A slot may be seen as a word, or with the next one as 64 bits: each is a *view*. A view is *held* at a place if on
//! each way there it was read or written and not changed behind the back of the code since.
//!
//! At the head of a loop are held, by decree, all views that the loop reads before it loses them: who comes in loads
//! those that it does not hold. So are those that it writes and still holds when it jumps back.
//!
//! What is written stays in a register, and the view is *late*: it goes into memory where somebody else may look, at
//! waits, helpers and errors. What is late is held. At the beginning of a block are late the views that are so on one
//! way there at least; where one comes with others, they are stored on the way. At the head of a loop only what it
//! writes may be late: all else is stored once, before it, and not at each of the ways out of it.

use crate::blocks::{BasicBlock, Blocks};
use crate::operands::{Kills, Operand, kills, operands};
use raddle_bytecode::effect::{Effect, Formula, Location};
use raddle_bytecode::{Function, Insn, Op};
use std::collections::BTreeMap;

/// Reports look into slots below this one: who has called, where a process was begun, and for which index.
const LOOKED_AT: u16 = 3;

/// A set of views.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ViewSet(Vec<u64>);

impl ViewSet {
    pub(crate) fn none(count: usize) -> ViewSet {
        ViewSet(vec![0; count.div_ceil(64)])
    }

    pub(crate) fn all(count: usize) -> ViewSet {
        ViewSet(vec![u64::MAX; count.div_ceil(64)])
    }

    pub(crate) fn has(&self, view: usize) -> bool {
        self.0[view / 64] >> (view % 64) & 1 == 1
    }

    pub(crate) fn add(&mut self, view: usize) {
        self.0[view / 64] |= 1 << (view % 64);
    }

    pub(crate) fn remove(&mut self, view: usize) {
        self.0[view / 64] &= !(1 << (view % 64));
    }

    pub(crate) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// How many they are.
    pub(crate) fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    pub(crate) fn all_of(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(word, &bits)| {
            let mut bits = bits;
            std::iter::from_fn(move || {
                let bit = bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
                (bit < 64).then_some(64 * word + bit as usize)
            })
        })
    }

    pub(crate) fn meet(&mut self, other: &ViewSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(one, other)| *one &= other);
    }

    pub(crate) fn join(&mut self, other: &ViewSet) {
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
    /// It is an element of an array in the frame: it is never held, so that the array can be accessed by address.
    pub(crate) is_open: bool,
}

/// The views of a function.
#[derive(Debug)]
pub(crate) struct Views {
    pub(crate) all: Vec<View>,
    /// The slots of each, by number among all slots that have a view; of a word twice the same.
    words: Vec<[usize; 2]>,
    /// How many slots have one.
    pub(crate) word_count: usize,
    by_place: BTreeMap<(u16, bool), usize>,
}

impl Views {
    pub(crate) fn of(function: &Function, code: &[Insn]) -> Views {
        let (all, words, by_place) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut views = Views { all, words, word_count: 0, by_place };
        for at in function.first..function.first + function.count {
            let operands = operands(code[at as usize]);
            operands.reads().chain(operands.writes()).for_each(|operand| views.note(operand));
        }
        let arrays = arrays(&code[function.first as usize..(function.first + function.count) as usize]);
        for view in &mut views.all {
            let (first, behind) = (u32::from(view.slot), u32::from(view.slot) + 1 + u32::from(view.is_wide));
            view.is_open = arrays.iter().any(|array| first < array.end && array.start < behind);
        }
        views.number_words();
        views
    }

    fn number_words(&mut self) {
        let mut numbers = BTreeMap::new();
        let slots = |view: &View| [view.slot, view.slot.wrapping_add(u16::from(view.is_wide))];
        let mut number = |slot| {
            let fresh = numbers.len();
            *numbers.entry(slot).or_insert(fresh)
        };
        self.words = self.all.iter().map(|view| slots(view).map(&mut number)).collect();
        self.word_count = numbers.len();
    }

    /// The slots of a view, by number.
    pub(crate) fn words_of(&self, view: usize) -> [usize; 2] {
        self.words[view]
    }

    fn note(&mut self, (slot, class): Operand) {
        let fresh = self.all.len();
        let view = *self.by_place.entry((slot, class.is_wide())).or_insert(fresh);
        if view == fresh {
            self.all.push(View { slot, is_wide: class.is_wide(), is_real: false, is_open: false });
        }
        self.all[view].is_real |= class.is_real();
    }

    pub(crate) fn at(&self, (slot, class): Operand) -> usize {
        self.by_place[&(slot, class.is_wide())]
    }

    /// Behind the last slot of any view that may be held.
    pub(crate) fn behind(&self) -> u32 {
        let ends = self
            .all
            .iter()
            .filter(|view| !view.is_open)
            .map(|view| u32::from(view.slot) + 1 + u32::from(view.is_wide));
        ends.max().unwrap_or(0)
    }

    /// Whether a word of the frame belongs to any view that may be held.
    pub(crate) fn name(&self, slot: u16) -> bool {
        let has =
            |slot, is_wide| self.by_place.get(&(slot, is_wide)).is_some_and(|&view| !self.all[view].is_open);
        has(slot, false) || has(slot, true) || slot.checked_sub(1).is_some_and(|slot| has(slot, true))
    }

    /// It is held from now on, if it may be.
    fn hold(&self, operand: Operand, set: &mut ViewSet) {
        let view = self.at(operand);
        if !self.all[view].is_open {
            set.add(view);
        }
    }

    /// The views that share a slot with that one.
    pub(crate) fn overlapping(&self, view: usize) -> impl Iterator<Item = usize> + '_ {
        let View { slot, is_wide, .. } = self.all[view];
        let before = slot.checked_sub(1).map(|slot| (slot, true));
        let behind = slot.checked_add(1).filter(|_| is_wide);
        [before, Some((slot, !is_wide)), behind.map(|slot| (slot, false)), behind.map(|slot| (slot, true))]
            .into_iter()
            .flatten()
            .filter_map(|place| self.by_place.get(&place).copied())
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

    /// Takes the slots of a view out of a set of slots: but for those into which reports look.
    pub(crate) fn cover(&self, words: &mut ViewSet, view: usize) {
        let View { slot, is_wide, .. } = self.all[view];
        let [first, second] = self.words[view];
        for (slot, word) in [(slot, first), (slot.wrapping_add(u16::from(is_wide)), second)] {
            if slot >= LOOKED_AT {
                words.remove(word);
            }
        }
    }

    /// The slots into which reports look.
    pub(crate) fn looked_at(&self) -> ViewSet {
        let mut words = ViewSet::none(self.word_count);
        for (view, of_view) in self.all.iter().zip(&self.words) {
            let slots = [view.slot, view.slot.wrapping_add(u16::from(view.is_wide))];
            slots.iter().zip(of_view).filter(|it| *it.0 < LOOKED_AT).for_each(|it| words.add(*it.1));
        }
        words
    }

    /// Whether a slot of the view is in a set of slots.
    pub(crate) fn is_among(&self, words: &ViewSet, view: usize) -> bool {
        self.words[view].iter().any(|&word| words.has(word))
    }

    /// What is held behind an instruction before which `held` is.
    pub(crate) fn pass(&self, insn: Insn, held: &mut ViewSet) {
        let operands = operands(insn);
        operands.reads().for_each(|operand| self.hold(operand, held));
        self.lose(kills(insn), held);
        operands.writes().for_each(|operand| self.write(operand, held));
    }

    /// What is late behind an instruction before which `late` is: no less than what is so in the code.
    fn pass_late(&self, insn: Insn, late: &mut ViewSet) {
        self.lose(kills(insn), late);
        operands(insn).writes().for_each(|operand| self.write(operand, late));
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
        self.hold(operand, held);
    }
}

/// Where in the frame arrays lie, as slots: those whose address and count stand before them.
fn arrays(code: &[Insn]) -> Vec<std::ops::Range<u32>> {
    let mut found = Vec::new();
    for insn in code.iter().filter(|insn| insn.op == Op::Addr && insn.imm() == 4 * (i32::from(insn.a) + 2)) {
        let first = u32::from(insn.a) + 2;
        let counts = |it: &&Insn| it.op == Op::Ldi && u32::from(it.a) + 1 == first;
        let count = code.iter().filter(counts).map(|it| it.imm().clamp(0, 1 << 16) as u32).max().unwrap_or(0);
        let accesses = code.iter().enumerate().filter(|(_, it)| it.b == insn.a);
        let bytes = accesses.filter_map(|(at, it)| element_bytes(&code[..at], *it)).max().unwrap_or(4);
        found.push(first..first + (count * bytes).div_ceil(4));
    }
    found
}

/// How large the elements are that an instruction accesses, which comes behind that code.
fn element_bytes(before: &[Insn], insn: Insn) -> Option<u32> {
    match insn.op.effect() {
        Effect::Set(Formula::Load(Location::Element, width)) | Effect::Store(Location::Element, width) => {
            Some(width.bytes())
        }
        _ if insn.op == Op::Elem => {
            let size = before.iter().rev().take(4).find(|it| it.op == Op::Ldi && it.a == insn.a);
            size.and_then(|it| u32::try_from(it.imm()).ok()).filter(|&size| size < 1 << 16)
        }
        _ => None,
    }
}

/// So many views that a loop only writes are held in it.
const WRITTEN_MAX: u32 = 48;

/// What is worth holding at the head of each loop, if these are settled.
pub(crate) fn wanted_at_heads(
    views: &Views,
    blocks: &Blocks,
    code: &[Insn],
    settled: &ViewSet,
) -> Vec<ViewSet> {
    let mut wanted = wanted_by_loops(views, blocks, code);
    let held = held_with(views, blocks, code, &wanted);
    for (number, block) in blocks.all.iter().enumerate() {
        let Some(last) = block.looped_from.filter(|_| block.is_live) else { continue };
        let mut written = ViewSet::none(views.all.len());
        for &insn in &code[block.first as usize..=last as usize] {
            operands(insn).writes().for_each(|operand| views.hold(operand, &mut written));
        }
        let comes_back = |from: &&BasicBlock| from.behind > block.first && from.next.contains(&number);
        for (from, _) in blocks.all.iter().enumerate().filter(|(_, from)| comes_back(from) && from.is_live) {
            let mut out = held[from].clone();
            instructions(&blocks.all[from], code).for_each(|insn| views.pass(insn, &mut out));
            written.meet(&out);
        }
        if written.count() <= WRITTEN_MAX {
            wanted[number].join(&written);
        }
    }
    hold_settled(views, blocks, code, (settled, &mut wanted));
    wanted
}

/// What is settled, and what a loop reads and does not change, is held in the loops in it, too: there it may be a
/// constant, which needs no register, and so is what was compared of it.
fn hold_settled(
    views: &Views,
    blocks: &Blocks,
    code: &[Insn],
    (settled, wanted): (&ViewSet, &mut [ViewSet]),
) {
    let heads = |block: &BasicBlock| block.looped_from.filter(|_| block.is_live);
    for (outer, block) in blocks.all.iter().enumerate() {
        let Some(last) = heads(block) else { continue };
        let mut kept = wanted[outer].clone();
        for &insn in &code[block.first as usize..=last as usize] {
            views.lose(kills(insn), &mut kept);
            let writes = operands(insn);
            writes
                .writes()
                .for_each(|(slot, class)| views.forget(&mut kept, slot, 1 + u32::from(class.is_wide())));
        }
        kept.meet(settled);
        for (inner, block) in blocks.all.iter().enumerate().skip(outer + 1) {
            if block.first > last {
                break;
            }
            if heads(block).is_some_and(|behind| behind <= last) {
                wanted[inner].join(&kept);
            }
        }
    }
}

/// What is held at the beginning of each block, if that is wanted at the heads of loops, and what is late.
pub(crate) fn held_at_blocks(
    views: &Views,
    blocks: &Blocks,
    code: &[Insn],
    wanted: &[ViewSet],
) -> (Vec<ViewSet>, Vec<ViewSet>) {
    let held = held_with(views, blocks, code, wanted);
    let late = late_at_blocks(views, blocks, code, &held);
    (held, late)
}

/// What may be late at the beginning of each block.
fn late_at_blocks(views: &Views, blocks: &Blocks, code: &[Insn], held: &[ViewSet]) -> Vec<ViewSet> {
    let mut late = vec![ViewSet::none(views.all.len()); blocks.all.len()];
    let may_be: Vec<ViewSet> = blocks.all.iter().zip(held).map(|it| may_be_late(views, it, code)).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for (number, block) in blocks.all.iter().enumerate().filter(|(_, block)| block.is_live) {
            let mut out = late[number].clone();
            instructions(block, code).for_each(|insn| views.pass_late(insn, &mut out));
            let test = first_test(blocks, code, number);
            test.iter()
                .flat_map(|it| instructions(it, code))
                .for_each(|insn| views.pass_late(insn, &mut out));
            for &next in &test.unwrap_or(block).next {
                let mut joined = out.clone();
                joined.meet(&may_be[next]);
                joined.join(&late[next]);
                changed |= joined != late[next];
                late[next] = joined;
            }
        }
    }
    late
}

/// The test of a loop that is made once more at the end of that block, which then goes on behind it: so nobody comes to
/// the test from there.
fn first_test<'b>(blocks: &'b Blocks, code: &[Insn], number: usize) -> Option<&'b BasicBlock> {
    let &[next] = &blocks.all[number].next[..] else { return None };
    blocks.is_first_test(code, number, next).then(|| &blocks.all[next])
}

/// What may be late at the beginning of a block where that is held: at the head of a loop, what the loop writes.
fn may_be_late(views: &Views, (block, held): (&BasicBlock, &ViewSet), code: &[Insn]) -> ViewSet {
    let mut set = held.clone();
    if let Some(last) = block.looped_from {
        let mut written = ViewSet::none(views.all.len());
        for &insn in &code[block.first as usize..=last as usize] {
            operands(insn).writes().for_each(|operand| written.add(views.at(operand)));
        }
        set.meet(&written);
    }
    set
}

/// What is held at the beginning of each block, if that is wanted at the heads of loops.
fn held_with(views: &Views, blocks: &Blocks, code: &[Insn], wanted: &[ViewSet]) -> Vec<ViewSet> {
    let count = views.all.len();
    let mut held: Vec<ViewSet> = blocks
        .all
        .iter()
        .zip(wanted)
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
            let test = first_test(blocks, code, number);
            test.iter().flat_map(|it| instructions(it, code)).for_each(|insn| views.pass(insn, &mut out));
            for &next in &test.unwrap_or(block).next {
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
            operands(insn).reads().for_each(|operand| views.hold(operand, &mut read));
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
    operands.reads().for_each(|operand| views.hold(operand, set));
}
