//! Owns: which slots may be looked at before they are written again.
//! May use: `blocks`, `operands`, `plan`, `views`, `raddle-bytecode`.
//! Never: code.
//!
//! What is written stays in a register, and memory is told where somebody else may look. Whatever is written again
//! before anybody can, need never be told to memory, nor kept for it. Who may look: an instruction that reads the slot,
//! where a way out leads to the interpreter; the report of what that finds wrong, into the first three slots; a helper;
//! whoever is called; other processes, when this one waits or its fuel is used up, so at the head of each loop; and an
//! access by an address that nothing has shown to lie elsewhere. Of most in loops that is shown (`claims`), but only
//! while they are translated. So a piece is translated as if all of them were, and once more where one was not.

use crate::blocks::BasicBlock;
use crate::operands::{Doer, how, operands};
use crate::plan::{FunctionPlan, Piece};
use crate::views::{ViewSet, Views};
use raddle_bytecode::effect::{Effect, Formula};
use raddle_bytecode::{Insn, Op};
use std::collections::HashSet;

/// Accesses by an address of which nothing has shown that it is no view's, by instruction.
pub(crate) type Unproven = HashSet<u32>;

/// The slots at which one may look in memory before they are written, by number.
#[derive(Debug)]
pub(super) struct Liveness {
    /// For whoever comes to the beginning of that block.
    at_blocks: Vec<ViewSet>,
    /// Before each instruction of the block that is translated, and behind it; and the first one.
    here: (u32, Vec<ViewSet>),
}

/// Whether it is an access by an address, or finds one that others rely on.
fn is_by_address(insn: Insn) -> bool {
    matches!(insn.op.effect(), Effect::Set(Formula::Load(..)) | Effect::Store(..)) || insn.op == Op::Elem
}

/// What is taken for unproven before anything is translated: whatever is in no loop of which something is known.
pub(super) fn outside_loops(
    plan: &FunctionPlan,
    piece: &Piece,
    code: &[Insn],
    innermost: &[Option<usize>],
) -> Unproven {
    let mut unproven = Unproven::new();
    for (number, block) in plan.blocks.all.iter().enumerate() {
        if piece.has[number] && innermost[number].is_none() {
            unproven.extend((block.first..block.behind).filter(|&at| is_by_address(code[at as usize])));
        }
    }
    unproven
}

impl Liveness {
    pub(super) fn of(plan: &FunctionPlan, piece: &Piece, code: &[Insn], unproven: &Unproven) -> Liveness {
        let blocks = &plan.blocks.all;
        let all = ViewSet::all(plan.views.word_count);
        // All ways back lead to heads of loops, where all is looked at: so one look at each block is enough.
        let mut live = Liveness { at_blocks: vec![all; blocks.len()], here: (0, Vec::new()) };
        for (number, block) in blocks.iter().enumerate().rev() {
            if piece.has[number] && block.looped_from.is_none() {
                let mut set = live.behind(plan, block);
                for at in (block.first..block.behind).rev() {
                    pass(&plan.views, (at, code[at as usize]), &mut set, unproven);
                }
                live.at_blocks[number] = set;
            }
        }
        live
    }

    /// What may be looked at behind a block.
    fn behind(&self, plan: &FunctionPlan, block: &BasicBlock) -> ViewSet {
        let mut set = match block.next[..] {
            [] => ViewSet::all(plan.views.word_count),
            _ => ViewSet::none(plan.views.word_count),
        };
        block.next.iter().for_each(|&next| set.join(&self.at_blocks[next]));
        set
    }

    /// The instructions of that block are to be asked for.
    pub(super) fn enter(&mut self, plan: &FunctionPlan, number: usize, code: &[Insn], unproven: &Unproven) {
        let block = &plan.blocks.all[number];
        let mut sets = vec![self.behind(plan, block)];
        for at in (block.first..block.behind).rev() {
            let mut set = sets[sets.len() - 1].clone();
            pass(&plan.views, (at, code[at as usize]), &mut set, unproven);
            sets.push(set);
        }
        sets.reverse();
        self.here = (block.first, sets);
    }

    /// What may be looked at where the block begins.
    pub(super) fn at_block(&self, number: usize) -> &ViewSet {
        &self.at_blocks[number]
    }

    /// What may be looked at before an instruction of the block that was entered, or behind its last one.
    pub(super) fn before(&self, at: u32) -> &ViewSet {
        &self.here.1[(at - self.here.0) as usize]
    }
}

/// What may be looked at before an instruction behind which `set` may.
fn pass(views: &Views, (at, insn): (u32, Insn), set: &mut ViewSet, unproven: &Unproven) {
    let looks_at_all = match how(insn) {
        // These use fuel, where others may run.
        Doer::Inline => matches!(insn.op, Op::CopyI | Op::Zero | Op::FnF | Op::FnD) || unproven.contains(&at),
        Doer::Jump => false,
        _ => true,
    };
    if looks_at_all {
        *set = ViewSet::all(views.word_count);
        return;
    }
    let operands = operands(insn);
    operands.writes().for_each(|operand| views.cover(set, views.at(operand)));
    for operand in operands.reads() {
        views.words_of(views.at(operand)).into_iter().for_each(|word| set.add(word));
    }
}
