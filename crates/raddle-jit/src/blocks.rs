//! Owns: the blocks of a function: where they begin, what follows them, where one may come in from outside.
//! May use: `operands`, `raddle-bytecode`.
//! Never: code.

use crate::operands::{Doer, goes_on, how};
use raddle_bytecode::{Form, Function, Insn, Op};
use std::collections::BTreeMap;

/// A function with more instructions is left to the interpreter: what registers hold takes time to find out that grows
/// with the square of it.
pub(crate) const INSTRUCTIONS_MAX: u32 = 1 << 14;

/// Whether checks are left out because of what is known of values, of ways and of loops (`docs/NATIVE.md`). Without it
/// each is made where it stands, and no loop is entered otherwise than the bytecode says.
pub(crate) const LEAVES_OUT: bool = cfg!(feature = "ranges");

/// Instructions that are run one after the other.
#[derive(Debug, Default)]
pub(crate) struct BasicBlock {
    /// The first instruction.
    pub(crate) first: u32,
    /// Behind the last one.
    pub(crate) behind: u32,
    /// Blocks that compiled code may go on with, by number.
    pub(crate) next: Vec<usize>,
    /// Blocks from which it may come here.
    pub(crate) from: Vec<usize>,
    /// A process may be resumed here.
    pub(crate) is_resume: bool,
    /// If a jump comes back here, the last instruction from which one does.
    pub(crate) looped_from: Option<u32>,
    /// It can be reached.
    pub(crate) is_live: bool,
}

/// All blocks of a function, in the order of its instructions.
#[derive(Debug)]
pub(crate) struct Blocks {
    pub(crate) all: Vec<BasicBlock>,
    by_first: BTreeMap<u32, usize>,
}

/// What a place in the code is.
#[derive(Clone, Copy, Default)]
struct CodePlace {
    leads: bool,
    resumes: bool,
    looped_from: Option<u32>,
}

/// Where a jump goes to.
pub(crate) fn target(at: u32, insn: Insn) -> u32 {
    (at + 1).wrapping_add_signed(insn.distance())
}

/// Whether that is a jump whose target stands in it.
fn jumps(insn: Insn) -> bool {
    matches!(insn.op.form(), Form::l | Form::al | Form::abl | Form::ail)
}

/// Whether a jump always jumps.
fn is_unconditional(insn: Insn) -> bool {
    matches!(insn.op, Op::Jump | Op::Switch)
}

fn places(function: &Function, code: &[Insn]) -> Vec<CodePlace> {
    let mut places = vec![CodePlace::default(); function.count as usize + 1];
    (places[0].leads, places[0].resumes) = (true, true);
    for at in function.first..function.first + function.count {
        let insn = code[at as usize];
        let here = (at - function.first) as usize;
        let how = how(insn);
        if jumps(insn) {
            let to = target(at, insn);
            let place = &mut places[(to - function.first) as usize];
            place.leads = true;
            place.resumes |= how != Doer::Jump || to <= at;
            if to <= at && how == Doer::Jump {
                place.looped_from = place.looped_from.max(Some(at));
            }
        }
        if insn.op == Op::Switch {
            (0..=insn.imm() as usize).for_each(|number| places[here + 1 + number].leads = true);
        }
        places[here + 1].leads |= how != Doer::Inline;
        places[here + 1].resumes |=
            matches!(how, Doer::Meet(_) | Doer::Aside | Doer::Again | Doer::Call) || insn.op == Op::CallD;
        if how == Doer::Again {
            (places[here].leads, places[here].resumes) = (true, true);
        }
    }
    places
}

impl Blocks {
    pub(crate) fn of(function: &Function, code: &[Insn]) -> Blocks {
        let places = places(function, code);
        let behind = function.first + function.count;
        let firsts: Vec<u32> =
            (function.first..behind).filter(|&at| places[(at - function.first) as usize].leads).collect();
        let by_first: BTreeMap<u32, usize> =
            firsts.iter().enumerate().map(|(number, &at)| (at, number)).collect();
        let block = |(number, &first): (usize, &u32)| {
            let place = places[(first - function.first) as usize];
            let behind = firsts.get(number + 1).copied().unwrap_or(behind);
            let next = followers(code, behind, &by_first);
            let (is_resume, looped_from) = (place.resumes, place.looped_from);
            BasicBlock { first, behind, next, from: Vec::new(), is_resume, looped_from, is_live: false }
        };
        let all: Vec<BasicBlock> = firsts.iter().enumerate().map(block).collect();
        let mut blocks = Blocks { all, by_first };
        blocks.find_live();
        for number in 0..blocks.all.len() {
            for next in blocks.all[number].next.clone() {
                blocks.all[next].from.push(number);
            }
        }
        blocks
    }

    /// The block that begins at that instruction.
    pub(crate) fn at(&self, first: u32) -> usize {
        self.by_first[&first]
    }

    /// Whether the jump at the end of one block to the other is to the test of a loop from outside: then that is made
    /// once more there, and the loop has one way into it, by its head.
    pub(crate) fn is_first_test(&self, code: &[Insn], from: usize, to: usize) -> bool {
        const MOST: u32 = 4;
        if !LEAVES_OUT {
            return false;
        }
        let (jump, test) = (self.all[from].behind - 1, &self.all[to]);
        let (back, insn) = (test.behind - 1, code[test.behind as usize - 1]);
        let is_test = matches!(insn.op, Op::Jz | Op::Jnz | Op::Jeq | Op::Jne | Op::Jlt | Op::Jle)
            || matches!(insn.op, Op::JeqI | Op::JneI | Op::JltI | Op::JgeI);
        let is_short = test.behind - test.first <= MOST && !test.is_resume && test.looped_from.is_none();
        code[jump as usize].op == Op::Jump
            && target(jump, code[jump as usize]) == test.first
            && is_test
            && is_short
            && target(back, insn) > jump
            && target(back, insn) <= back
            && code[test.first as usize..back as usize].iter().all(|&it| how(it) == Doer::Inline)
    }

    fn find_live(&mut self) {
        let mut found: Vec<usize> = (0..self.all.len()).filter(|&at| self.all[at].is_resume).collect();
        while let Some(block) = found.pop() {
            if !std::mem::replace(&mut self.all[block].is_live, true) {
                found.extend(self.all[block].next.iter().copied().filter(|&next| !self.all[next].is_live));
            }
        }
    }
}

/// The blocks that may follow the instruction before `behind`.
fn followers(code: &[Insn], behind: u32, by_first: &BTreeMap<u32, usize>) -> Vec<usize> {
    let at = behind - 1;
    let insn = code[at as usize];
    let block = |first: u32| by_first.get(&first).copied();
    match how(insn) {
        Doer::Last(_) | Doer::Call | Doer::Return => Vec::new(),
        Doer::Jump if insn.op == Op::Switch => {
            (0..=insn.imm() as u32).filter_map(|n| block(behind + n)).collect()
        }
        Doer::Jump => {
            let falls = if is_unconditional(insn) { None } else { block(behind) };
            [block(target(at, insn)), falls].into_iter().flatten().collect()
        }
        Doer::Inline => block(behind).into_iter().collect(),
        Doer::Meet(_) if goes_on(insn) => block(behind).into_iter().collect(),
        // What comes behind is a resume point, and found by its number.
        Doer::Aside | Doer::Meet(_) | Doer::Again => Vec::new(),
    }
}
