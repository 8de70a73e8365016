//! Owns: which loops are simple, and what of them stays the same: what their instructions say.
//! May use: `blocks`, `mistakes`, `operands`, `plan`, `views`, `cranelift-codegen`,
//! `raddle-bytecode`.
//! Never: code.

use super::loops::KnownLoop;
use crate::blocks::{BasicBlock, Blocks, LEAVES_OUT, target};
use crate::mistakes::{RangeMistake, makes};
use crate::operands::{Doer, Kills, ValueClass, how, kills, operands, spends_fuel};
use crate::plan::{FunctionPlan, Piece};
use crate::views::ViewSet;
use cranelift_codegen::ir::Block;
use raddle_bytecode::effect::{Effect, Formula, Location};
use raddle_bytecode::{Insn, Op};
use std::collections::{BTreeMap, HashSet};

/// A loop that is entered by its head alone.
#[derive(Debug)]
pub(super) struct Loop {
    /// Its head, by number of the block.
    pub(super) head: usize,
    pub(super) parent: Option<usize>,
    /// The views that registers hold in all of it, and that nothing in it changes; and whether it reads each.
    pub(super) constants: Vec<(usize, bool)>,
    /// Which of its blocks each way from the head back to it passes, from the head on.
    pub(super) certain: Vec<bool>,
    /// Accesses of elements in the other blocks, of which each way passes one of the same element.
    pub(super) certain_together: HashSet<u32>,
    /// If it only counts.
    pub(super) counts: Option<Counts>,
    /// From where to where its index seems to go.
    pub(super) seems: Option<(i32, i32)>,
    /// The instruction that sets an element, if that is all that it does.
    pub(super) fills: Option<u32>,
    /// What it tests, if it goes on while a variable is less than something.
    pub(super) tests: Option<Test>,
    pub(super) known: Option<KnownLoop>,
    /// Loops are in it.
    pub(super) has_inner: bool,
    /// The same loop without spans, by number.
    pub(super) again: Option<usize>,
    /// If it is that: where one comes in.
    pub(super) before: Option<Block>,
}

impl Loop {
    /// The same loop, with another place before it, and without spans.
    pub(super) fn once_more(&self, before: Block) -> Loop {
        Loop {
            known: None,
            again: None,
            before: Some(before),
            constants: self.constants.clone(),
            certain: self.certain.clone(),
            certain_together: self.certain_together.clone(),
            fills: None,
            ..*self
        }
    }
}

/// What a loop counts by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    /// The views of its index and of its count.
    pub(super) index: usize,
    pub(super) count: usize,
    /// What a jump back costs.
    pub(super) cost: i32,
    /// Something in it uses fuel, too.
    pub(super) burns: bool,
}

/// A loop goes on while that view is less, with sign, and otherwise only adds to it what is not negative.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    pub(super) index: usize,
    pub(super) than: Than,
    /// The view that is added, if it is no constant.
    pub(super) step: Option<usize>,
    /// The constant that is, otherwise.
    pub(super) by: i32,
    /// What a jump back costs, if each turn adds once and does nothing else that uses fuel: so fuel follows from how
    /// often was added.
    pub(super) cost: Option<i32>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Than {
    Number(i32),
    /// A view that is held and stays the same.
    View(usize),
}

/// Of a loop in so many others nothing is known: what it takes to find out grows with the depth.
const DEEPEST: usize = 16;

fn members<'b>(
    blocks: &'b Blocks,
    piece: &'b Piece,
    (head, last): (usize, usize),
) -> impl Iterator<Item = usize> + 'b {
    (head..=last).filter(|&number| piece.has[number] && blocks.all[number].is_live)
}

fn instructions<'c>(block: &BasicBlock, code: &'c [Insn]) -> &'c [Insn] {
    &code[block.first as usize..block.behind as usize]
}

/// The loops of a piece that are entered by their heads alone, and for each block the innermost one that it is in.
pub(super) fn of(plan: &FunctionPlan, piece: &Piece, code: &[Insn]) -> (Vec<Loop>, Vec<Option<usize>>) {
    let blocks = &plan.blocks;
    let mut loops: Vec<Loop> = Vec::new();
    let mut innermost: Vec<Option<usize>> = vec![None; blocks.all.len()];
    for (head, block) in blocks.all.iter().enumerate().filter(|_| LEAVES_OUT) {
        let Some(from) = block.looped_from.filter(|_| piece.has[head]) else { continue };
        let last = blocks.all.partition_point(|block| block.first <= from) - 1;
        let range = (head, last);
        let is_inside = |&number: &usize| (head..=last).contains(&number);
        let is_broken_into = (head + 1..=last).any(|member| {
            // What is made once more for a first test leads to the test's loop, and behind it: that is past this loop
            // only if it is this one's own test.
            let is_own = member == last;
            piece.entries.contains(&member)
                || blocks.all[member].from.iter().any(|&way| {
                    let is_first = is_own && blocks.is_first_test(code, way, member);
                    piece.has[way] && !is_inside(&way) && !is_first
                })
        });
        // Also if nothing will be known of this one: who falls into it comes to the one code of it that there is.
        if let Some(outer) = innermost[head] {
            loops[outer].has_inner = true;
        }
        let depth = std::iter::successors(innermost[head], |&outer: &usize| loops[outer].parent).count();
        if is_broken_into || !piece.has[last] || depth >= DEEPEST {
            continue;
        }
        let number = loops.len();
        let parent = innermost[head];
        let set = constants(plan, piece, range, code);
        let read = read(plan, piece, range, code);
        let constants: Vec<(usize, bool)> = set.iter().map(|&view| (view, read.has(view))).collect();
        let certain: Vec<bool> =
            (head..=last).map(|number| is_certain(blocks, piece, range, |it| it == number)).collect();
        let certain_together = certain_together(blocks, piece, range, code, &certain);
        let counts = counts(plan, piece, range, code);
        members(blocks, piece, range).for_each(|member| innermost[member] = Some(number));
        let tests = tests(plan, piece, range, code, &set);
        let seems = counts.and_then(|_| seems(&code[..block.first as usize], code[from as usize]));
        let fills = counts.filter(|_| head == last).and_then(|_| fills(block, code));
        loops.push(Loop {
            head,
            parent,
            constants,
            certain,
            certain_together,
            counts,
            seems,
            fills,
            tests,
            known: None,
            has_inner: false,
            again: None,
            before: None,
        });
    }
    (loops, innermost)
}

/// The views that are held wherever one is in the loop, and that no instruction there writes or loses.
fn constants(plan: &FunctionPlan, piece: &Piece, range: (usize, usize), code: &[Insn]) -> Vec<usize> {
    let mut set = plan.held_at[range.0].clone();
    for member in members(&plan.blocks, piece, range) {
        set.meet(&plan.held_at[member]);
        for &insn in instructions(&plan.blocks.all[member], code) {
            plan.views.lose(kills(insn), &mut set);
            if makes(RangeMistake::Written) {
                continue;
            }
            forget_written(plan, insn, &mut set);
        }
    }
    set.all_of().filter(|&view| !plan.views.all[view].is_open).collect()
}

/// The views that a loop reads.
fn read(plan: &FunctionPlan, piece: &Piece, range: (usize, usize), code: &[Insn]) -> ViewSet {
    let mut set = ViewSet::none(plan.views.all.len());
    for member in members(&plan.blocks, piece, range) {
        let insns = instructions(&plan.blocks.all[member], code).iter();
        insns.for_each(|&insn| operands(insn).reads().for_each(|operand| set.add(plan.views.at(operand))));
    }
    set
}

/// Whether an access finds an element's address, how many bytes it has otherwise, and the slots of array and subscript.
type AccessKey = (bool, u32, u16, u16);

/// Accesses of elements in blocks that not each turn passes, if each turn passes one of the same array, by the same
/// subscript: as when one way sets it to this, and the other to that.
fn certain_together(
    blocks: &Blocks,
    piece: &Piece,
    range: (usize, usize),
    code: &[Insn],
    certain: &[bool],
) -> HashSet<u32> {
    let mut places: BTreeMap<AccessKey, Vec<(usize, u32)>> = BTreeMap::new();
    for member in members(blocks, piece, range).filter(|member| !certain[member - range.0]) {
        for at in blocks.all[member].first..blocks.all[member].behind {
            let insn = code[at as usize];
            let bytes = match insn.op.effect() {
                Effect::Set(Formula::Load(Location::Element, width))
                | Effect::Store(Location::Element, width) => width.bytes(),
                _ if insn.op == Op::Elem => 0,
                _ => continue,
            };
            places.entry((insn.op == Op::Elem, bytes, insn.b, insn.c)).or_default().push((member, at));
        }
    }
    let is_in_all = |of: &&Vec<(usize, u32)>| {
        is_certain(blocks, piece, range, |number| of.iter().any(|it| it.0 == number))
    };
    places.values().filter(|of| of.len() > 1).filter(is_in_all).flatten().map(|it| it.1).collect()
}

/// Whether each way from the head to the last block passes one of those. It is no matter of safety: a guard for what
/// comes seldom would leave to the interpreter too often, and what a loop with a test has used of its fuel would be
/// wrong.
fn is_certain(
    blocks: &Blocks,
    piece: &Piece,
    (head, last): (usize, usize),
    is_one: impl Fn(usize) -> bool,
) -> bool {
    const MOST: usize = 64;
    if is_one(head) || is_one(last) || last - head > MOST {
        return is_one(head) || is_one(last);
    }
    let mut seen = vec![false; last - head + 1];
    let mut found = vec![head];
    while let Some(member) = found.pop() {
        if member == last {
            return false;
        }
        if !is_one(member) && !std::mem::replace(&mut seen[member - head], true) {
            let inside = |next: &&usize| (head..=last).contains(*next) && piece.has[**next];
            found.extend(blocks.all[member].next.iter().filter(inside));
        }
    }
    true
}

/// Whether it changes registers and memory alone, and goes on forwards.
fn is_plain(at: u32, insn: Insn) -> bool {
    match how(insn) {
        Doer::Inline => kills(insn) == Kills::Nothing,
        Doer::Jump => insn.op == Op::Switch || target(at, insn) > at,
        _ => false,
    }
}

/// What a loop counts by, if nothing but its `repeat` counts.
fn counts(plan: &FunctionPlan, piece: &Piece, range: (usize, usize), code: &[Insn]) -> Option<Counts> {
    let (head, last) = range;
    let blocks = &plan.blocks.all;
    let at = blocks[last].behind - 1;
    let repeat = code[at as usize];
    let is_one_slot = repeat.a == repeat.b && !makes(RangeMistake::OneSlot);
    if repeat.op != Op::Repeat || is_one_slot || target(at, repeat) != blocks[head].first {
        return None;
    }
    let view = |slot| plan.views.at((slot, ValueClass::Word));
    let (index, count) = (view(repeat.a), view(repeat.b));
    let (mut set, mut burns) = (plan.held_at[head].clone(), false);
    for member in members(&plan.blocks, piece, range) {
        set.meet(&plan.held_at[member]);
        for at in (blocks[member].first..blocks[member].behind).filter(|&it| it != at) {
            let insn = code[at as usize];
            if !is_plain(at, insn) {
                return None;
            }
            burns |= spends_fuel(insn);
            forget_written(plan, insn, &mut set);
        }
    }
    let is_word =
        |view: usize| set.has(view) && !plan.views.all[view].is_open && !plan.views.all[view].is_real;
    let cost = -repeat.distance();
    (is_word(index) && is_word(count)).then_some(Counts { index, count, cost, burns })
}

/// The instruction that sets an element by the index, if the block's others only make what it sets it to and count.
fn fills(block: &BasicBlock, code: &[Insn]) -> Option<u32> {
    let at = block.behind.checked_sub(2).filter(|&at| at >= block.first)?;
    let repeat = code[block.behind as usize - 1];
    let insn = code[at as usize];
    let is_set = matches!(insn.op.effect(), Effect::Store(Location::Element, _)) && insn.c == repeat.a;
    let makes = &code[block.first as usize..at as usize];
    let is_made = makes.iter().all(|it| matches!(it.op, Op::Ldi | Op::LdiL | Op::Pool) && it.a == insn.a);
    (is_set && is_made).then_some(at)
}

/// The test with which a loop ends, if that is its only way back: a variable that registers hold in all of it, and to
/// which one addition alone, which is checked, adds what is not negative or stays the same.
fn tests(
    plan: &FunctionPlan,
    piece: &Piece,
    range: (usize, usize),
    code: &[Insn],
    constants: &[usize],
) -> Option<Test> {
    let (head, last) = range;
    let blocks = &plan.blocks.all;
    let test = code[blocks[last].behind as usize - 1];
    let view = |slot| plan.views.at((slot, ValueClass::Word));
    let is_constant = |slot| Some(view(slot)).filter(|view| constants.contains(view) && is_kept(plan, slot));
    let before_test = instructions(&blocks[last], code).iter().rev().nth(1);
    let than = match test.op {
        Op::JltI => Than::Number(i32::from(test.b as i16)),
        Op::Jlt => match (is_constant(test.b), before_test) {
            (Some(view), _) => Than::View(view),
            (None, Some(set)) if set.op == Op::Ldi && set.a == test.b && set.a != test.a => {
                Than::Number(set.imm())
            }
            _ => return None,
        },
        _ => return None,
    };
    let comes_back = |from: &&usize| (head..=last).contains(*from) && piece.has[**from];
    if blocks[head].from.iter().filter(comes_back).count() != 1 || !is_kept(plan, test.a) {
        return None;
    }
    let (mut step, mut by, mut adds_at, mut is_all_plain) = (None, 0, head, true);
    let index = view(test.a);
    let test_at = blocks[last].behind - 1;
    for member in members(&plan.blocks, piece, range) {
        if !plan.held_at[member].has(index) {
            return None;
        }
        for at in blocks[member].first..blocks[member].behind {
            let insn = code[at as usize];
            is_all_plain &= at == test_at || is_plain(at, insn) && !spends_fuel(insn);
            let mut set = ViewSet::none(plan.views.all.len());
            set.add(index);
            plan.views.lose(kills(insn), &mut set);
            forget_written(plan, insn, &mut set);
            if set.has(index) {
                continue;
            }
            let added = match insn.op {
                Op::AddI if insn.a == test.a && insn.b == test.a && insn.c as i16 >= 0 => {
                    by = i32::from(insn.c as i16);
                    None
                }
                Op::Add if insn.a == test.a && insn.b == test.a => Some(is_constant(insn.c)?),
                Op::Add if insn.a == test.a && insn.c == test.a => Some(is_constant(insn.b)?),
                _ => return None,
            };
            adds_at = member;
            if step.replace(added).is_some() {
                return None;
            }
        }
    }
    let adds = is_certain(&plan.blocks, piece, range, |it| it == adds_at) || makes(RangeMistake::Once);
    let cost = Some(-test.distance()).filter(|_| is_all_plain && adds);
    Some(Test { index, than, step: step?, by, cost })
}

/// Whether a slot's word is no part of an array, nor used as a real.
fn is_kept(plan: &FunctionPlan, slot: u16) -> bool {
    let view = plan.views.all[plan.views.at((slot, ValueClass::Word))];
    !view.is_open && !view.is_real
}

/// What an instruction writes is taken out.
fn forget_written(plan: &FunctionPlan, insn: Insn, set: &mut ViewSet) {
    operands(insn)
        .writes()
        .for_each(|(slot, class)| plan.views.forget(set, slot, 1 + u32::from(class.is_wide())));
}

/// From where to where the index of a `repeat` goes, behind that code, if that seems to set it to a constant, and the
/// count too. It is a guess: what comes of it is compared.
fn seems(before: &[Insn], repeat: Insn) -> Option<(i32, i32)> {
    let near = || before.iter().rev().take(6).take_while(|it| how(**it) == Doer::Inline || it.op == Op::Jz);
    let set = |slot: u16| near().find(|it| it.op == Op::Ldi && it.a == slot).map(|it| it.imm());
    let (from, count) = (set(repeat.a)?, set(repeat.b)?);
    let to = from.checked_add(count.checked_sub(1)?).filter(|&to| count > 0 && to < i32::MAX)?;
    Some((from, to))
}
