//! Owns: which slots may be looked at before they are written again.
//! May use: `blocks`, `mistakes`, `operands`, `plan`, `views`, `raddle-bytecode`.
//! Never: code.
//!
//! What is written stays in a register, and memory is told where somebody else may look. Whatever is written again
//! before anybody can, need never be told to memory, nor kept for it. Who may look: an instruction that reads the slot,
//! where a way out leads to the interpreter; the report of what that finds wrong, into the first three slots; a helper;
//! whoever is called; other processes, when this one waits or its fuel is used up, so at the head of each loop; and an
//! access by an address that nothing has shown to lie elsewhere. Of most in loops that is shown (`claims`), but only
//! while they are translated. So a piece is translated as if all of them were, and once more where one was not.
//!
//! Most ways out are taken only where the interpreter will find something wrong: *that* ends the program, and looks at
//! nothing but what the instructions read up to there, and the first three slots. So nothing else need be told to
//! memory there, nor kept for it: what one turn of a loop leaves in a slot that the next one writes again is in no
//! register at the loop's head. Where the interpreter may find nothing wrong it goes on, and all is looked at: so a way
//! out of that kind counts as an access of which nothing is shown. At the jump back all is looked at, as fuel may be
//! used up there; and by who comes to the head from elsewhere, as the loop may rely on what does not hold.
//!
//! That what is wrong once is wrong when the interpreter looks is so because nothing is between but what this process
//! has in slots, and in memory that it reads. If another OS thread writes there meanwhile, the program may go on, with
//! the values of earlier turns in slots that it has yet to write: a slot that is read by its address then, without
//! having been written, may have any value that stood in it before.

use crate::blocks::{BasicBlock, LEAVES_OUT};
use crate::mistakes::{RangeMistake, makes};
use crate::operands::{Doer, how, operands, spends_fuel};
use crate::plan::{FunctionPlan, Piece};
use crate::views::{ViewSet, Views, held_at_blocks};
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
    /// For who is there, which at the head of a loop is less: who comes in may find that the loop cannot be entered.
    inside: Vec<ViewSet>,
    /// Before each instruction of the block that is translated, and behind it; and the first one.
    here: (u32, Vec<ViewSet>),
    /// The same for who finds out what is wrong there, and goes no further.
    reports: Vec<ViewSet>,
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
        let (at_blocks, inside) = (vec![all.clone(); blocks.len()], vec![all; blocks.len()]);
        let mut live = Liveness { at_blocks, inside, here: (0, Vec::new()), reports: Vec::new() };
        for (number, block) in blocks.iter().enumerate().rev().filter(|&(number, _)| piece.has[number]) {
            let mut set = live.behind(plan, block);
            for at in (block.first..block.behind).rev() {
                pass(&plan.views, (at, code[at as usize]), &mut set, unproven);
            }
            if block.looped_from.is_none() {
                live.at_blocks[number] = set.clone();
            }
            live.inside[number] = set;
        }
        live
    }

    /// What is held at the beginning of each block, and what is late: at the head of a loop nothing that is written
    /// before anybody looks at it.
    pub(super) fn held_at_blocks(&self, plan: &FunctionPlan, code: &[Insn]) -> (Vec<ViewSet>, Vec<ViewSet>) {
        let of = |(inside, wanted): (&ViewSet, &ViewSet)| {
            let mut set = wanted.clone();
            let is_dead = |view: &usize| LEAVES_OUT && !plan.views.is_among(inside, *view);
            wanted.all_of().filter(is_dead).for_each(|view| set.remove(view));
            set
        };
        let wanted: Vec<ViewSet> = self.inside.iter().zip(&plan.wanted).map(of).collect();
        held_at_blocks(&plan.views, &plan.blocks, code, &wanted)
    }

    /// What may be looked at behind a block.
    fn behind(&self, plan: &FunctionPlan, block: &BasicBlock) -> ViewSet {
        let mut set = match block.next[..] {
            [] => ViewSet::all(plan.views.word_count),
            _ => ViewSet::none(plan.views.word_count),
        };
        block.next.iter().for_each(|&next| set.join(&self.at_blocks[next]));
        if let [one, other] = block.next[..]
            && makes(RangeMistake::Either)
        {
            set.meet(&self.at_blocks[one]);
            set.meet(&self.at_blocks[other]);
        }
        set
    }

    /// The instructions of that block are to be asked for.
    pub(super) fn enter(&mut self, plan: &FunctionPlan, number: usize, code: &[Insn], unproven: &Unproven) {
        let block = &plan.blocks.all[number];
        let before_each = |behind: ViewSet, jumps: bool| {
            let mut sets = vec![behind];
            for at in (block.first..block.behind).rev() {
                let mut set = sets[sets.len() - 1].clone();
                let insn = code[at as usize];
                if jumps || how(insn) != Doer::Jump {
                    pass(&plan.views, (at, insn), &mut set, unproven);
                }
                sets.push(set);
            }
            sets.reverse();
            sets
        };
        self.here = (block.first, before_each(self.behind(plan, block), true));
        self.reports = match LEAVES_OUT {
            true => before_each(plan.views.looked_at(), false),
            false => self.here.1.clone(),
        };
    }

    /// What is looked at by who finds out what is wrong at that instruction, and that something is.
    pub(super) fn for_report(&self, views: &Views, (at, insn): (u32, Insn), unproven: &Unproven) -> ViewSet {
        if !LEAVES_OUT {
            return self.before(at).clone();
        }
        let mut set = views.looked_at();
        match looks_at_all((at, insn), unproven) {
            true => self.before(at).clone(),
            false => {
                read(views, insn, &mut set);
                set
            }
        }
    }

    /// What may be looked at where the block begins.
    pub(super) fn at_block(&self, number: usize) -> &ViewSet {
        &self.at_blocks[number]
    }

    /// What may be looked at by who jumps back to that block, or is in it.
    pub(super) fn inside(&self, number: usize) -> &ViewSet {
        &self.inside[number]
    }

    /// What is looked at by who finds out what is wrong at that instruction, or behind it in the block, and that
    /// something is.
    pub(super) fn for_reports_from(&self, at: u32) -> &ViewSet {
        &self.reports[(at - self.here.0) as usize]
    }

    /// What may be looked at before an instruction of the block that was entered, or behind its last one.
    pub(super) fn before(&self, at: u32) -> &ViewSet {
        &self.here.1[(at - self.here.0) as usize]
    }
}

/// Whether others may look at an instruction, or who leaves at it may go on.
fn looks_at_all((at, insn): (u32, Insn), unproven: &Unproven) -> bool {
    match how(insn) {
        // These use fuel, where others may run.
        Doer::Inline => spends_fuel(insn) || unproven.contains(&at),
        Doer::Jump => false,
        _ => true,
    }
}

fn read(views: &Views, insn: Insn, set: &mut ViewSet) {
    for operand in operands(insn).reads() {
        views.words_of(views.at(operand)).into_iter().for_each(|word| set.add(word));
    }
}

/// What may be looked at before an instruction behind which `set` may.
fn pass(views: &Views, (at, insn): (u32, Insn), set: &mut ViewSet, unproven: &Unproven) {
    if looks_at_all((at, insn), unproven) {
        *set = ViewSet::all(views.word_count);
        return;
    }
    operands(insn).writes().for_each(|operand| views.cover(set, views.at(operand)));
    read(views, insn, set);
}
