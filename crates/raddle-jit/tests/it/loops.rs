//! Random loops in bytecode, over few slots: indices, counts and arrays are changed wherever they should not be, by the
//! loop, by another branch of a PAR while this one waits, and by address. Most of them run to their end.
//!
//! `RADDLE_FUZZ_ROUNDS=100000` makes it a long run, `RADDLE_FUZZ_FROM=5000` begins there.

use crate::corners::CORNERS;
use crate::hostile::rounds;
use crate::random::Dice;
use crate::support::{Paper, same, verified};
use raddle_bytecode::build::{Code, FunctionId, ModuleBuilder};
use raddle_bytecode::{Insn, Op, Verified};

/// Words that anything may change.
const WORDS: std::ops::Range<u16> = 2..10;
/// What comes and goes within a statement.
pub(crate) const TEMPORARIES: std::ops::Range<u16> = 10..12;
/// Arrays elsewhere than in the frame, by address and count; the last one's elements follow it.
pub(crate) const ARRAYS: [u16; 4] = [12, 14, 16, 18];
const ELEMENTS: u16 = 8;
/// The one with many elements, and how many.
pub(crate) const LARGE: u16 = 16;
pub(crate) const MANY: i32 = 4500;
/// Eight words, right behind the last array's count.
pub(crate) const OWN: u16 = 20;
const LONG: u16 = 28;
const PAR: u16 = 30;
const SHOWN: u16 = 32;
/// Where the frame of what is called begins.
const BASE: u16 = 40;
/// And that of a routine that has the loops.
const ROUTINE: u16 = 8;

/// Numbers that are at an edge.
const EDGES: [i32; 6] = [i32::MAX, i32::MAX - 3, i32::MIN, i32::MIN + 2, -1, 1 << 30];

pub(crate) struct Loops {
    pub(crate) code: Code,
    pub(crate) dice: Dice,
    /// The slots that count here, and are less than eight as long as nobody changes them.
    indices: Vec<u16>,
    callee: Option<FunctionId>,
    /// Whether the process may wait here.
    waits: bool,
}

impl Loops {
    pub(crate) fn one_in(&mut self, chances: u64) -> bool {
        self.dice.below(chances) == 0
    }

    pub(crate) fn of(&mut self, slots: std::ops::Range<u16>) -> u16 {
        slots.start + self.dice.below(u64::from(slots.end - slots.start)) as u16
    }

    pub(crate) fn word(&mut self) -> u16 {
        self.of(WORDS)
    }

    /// A word that no loop counts with, but for once in a while.
    fn free_word(&mut self) -> u16 {
        let word = self.word();
        if self.indices.contains(&word) && !self.one_in(12) { self.of(TEMPORARIES) } else { word }
    }

    pub(crate) fn push(&mut self, op: Op, a: u16, b: u16, c: u16) {
        self.code.push(Insn::new(op, a, b, c));
    }

    pub(crate) fn set(&mut self, slot: u16, value: i32) {
        self.code.push(Insn::with_imm(Op::Ldi, slot, value));
    }

    fn number(&mut self) -> i32 {
        if self.one_in(12) {
            return EDGES[self.dice.below(EDGES.len() as u64) as usize];
        }
        self.dice.below(12) as i32 - 2
    }

    /// A slot with a subscript, most often one that is in range.
    fn subscript(&mut self) -> u16 {
        if let Some(&index) = self.indices.last()
            && !self.one_in(3)
        {
            let place = self.dice.below(self.indices.len() as u64) as usize;
            return if self.one_in(2) { index } else { self.indices[place] };
        }
        let (from, to) = (self.word(), self.of(TEMPORARIES));
        if self.one_in(40) {
            return from;
        }
        self.push(Op::AndI, to, from, 7);
        to
    }

    pub(crate) fn access(&mut self) {
        let index = self.subscript();
        let array = ARRAYS[self.dice.below(4) as usize];
        let word = self.free_word();
        match self.dice.below(12) {
            0 => self.push(Op::AldB, word, array, index),
            1 => self.push(Op::AldH, word, array, index),
            2 => self.push(Op::AstB, word, array, index),
            3 => self.push(Op::AstH, word, array, index),
            4 if array != 18 => self.push(Op::AldL, LONG, array, index),
            5 if array != 18 => self.push(Op::AstL, LONG, array, index),
            6..=8 => self.push(Op::AldW, word, array, index),
            _ => self.push(Op::AstW, word, array, index),
        }
    }

    /// An element that is an array itself.
    fn row(&mut self) {
        let (index, inner, word) = (self.subscript(), self.subscript(), self.free_word());
        let array = ARRAYS[self.dice.below(3) as usize];
        let size = [4, 8, 16, 4, 0, 1 << 20][self.dice.below(6) as usize];
        self.set(10, size);
        self.push(Op::Elem, 10, array, index);
        if self.one_in(2) {
            self.push(Op::LdrW, word, 10, 0);
        } else {
            let count = if self.one_in(3) { 8 } else { size / 4 };
            self.set(11, count);
            if index != 11 && inner != 11 && inner != 10 {
                self.push(Op::AldW, word, 10, inner);
            }
        }
    }

    pub(crate) fn arithmetic(&mut self) {
        let (to, left, right) = (self.free_word(), self.word(), self.word());
        match self.dice.below(14) {
            0 => self.push(Op::Add, to, left, right),
            1 => self.push(Op::Sub, to, left, right),
            2 => self.push(Op::Mul, to, left, right),
            3..=5 => {
                let by = self.dice.below(5) as i16 - 2;
                self.push(Op::AddI, to, left, by as u16);
            }
            6 => self.push(Op::Plus, to, left, right),
            7 => self.push(Op::Minus, to, left, right),
            8 => self.push(Op::Rem, to, left, right),
            9 => self.push(Op::PlusI, to, left, 3),
            10 => self.push(Op::Mov, to, left, 0),
            11 => self.push(Op::Shr, to, left, right),
            // From then on that word is a real in its register, in all of the function.
            12 if self.one_in(6) => self.push(Op::NegF, to, left, 0),
            _ => {
                let number = self.number();
                self.set(to, number);
            }
        }
    }

    /// What should not happen in a loop: its array, its count or its index becomes another.
    fn mischief(&mut self) {
        let array = ARRAYS[self.dice.below(4) as usize];
        let other = ARRAYS[self.dice.below(4) as usize];
        match self.dice.below(20) {
            9 if self.one_in(3) => {
                let address = EDGES[self.dice.below(EDGES.len() as u64) as usize];
                self.set(array, address);
            }
            10 if self.one_in(3) => self.set(array, (1 << 16) - 16),
            0 | 11 => {
                self.push(Op::Mov, array, other, 0);
                self.push(Op::Mov, array + 1, other + 1, 0);
            }
            1 | 12 | 13 => {
                let count = [8, 7, 8, 8, 3, 0, -1, 8, 8, 9, 1 << 28, 8][self.dice.below(12) as usize];
                self.set(array + 1, count);
            }
            2 => {
                self.push(Op::AddI, array, array, 4);
                self.set(array + 1, 7);
            }
            3 => {
                let word = self.word();
                self.push(Op::Mov, word, array + 1, 0);
            }
            4 => {
                let (word, number) = (self.word(), self.number());
                self.set(word, number);
            }
            5 => {
                let (place, word) = (self.word(), self.word());
                self.code.push(Insn::with_imm(Op::Addr, 10, 4 * i32::from(place)));
                let op = [Op::StrW, Op::StrB, Op::StrH][self.dice.below(3) as usize];
                self.push(op, word, 10, 0);
            }
            6 => {
                let word = self.word();
                self.code.push(Insn::with_imm(Op::Zero, word, 4));
            }
            7 => {
                self.code.push(Insn::with_imm(Op::Addr, 10, 4 * i32::from(OWN)));
                let place = self.word();
                self.code.push(Insn::with_imm(Op::Addr, 11, 4 * i32::from(place)));
                self.push(Op::CopyI, 11, 10, 4);
            }
            _ => {
                let word = self.word();
                self.push(Op::Neg, word, word, 0);
            }
        }
    }

    fn wait(&mut self) {
        match (self.waits, self.callee) {
            (_, Some(callee)) if self.one_in(2) => {
                let word = self.word();
                self.push(Op::Mov, BASE + 2, word, 0);
                self.code.call(callee, BASE);
                self.push(Op::Mov, 11, BASE + 2, 0);
            }
            _ => self.push(Op::Resched, 0, 0, 0),
        }
    }

    fn statement(&mut self, depth: u32) {
        if self.one_in(7) {
            return self.corner();
        }
        match self.dice.below(if depth == 0 { 12 } else { 18 }) {
            0..=5 => self.access(),
            6 => self.row(),
            7..=9 => self.arithmetic(),
            10 if self.one_in(3) => self.mischief(),
            11 if self.one_in(2) => self.wait(),
            10 | 11 => self.access(),
            12..=14 if self.indices.len() < 2 && self.one_in(8) => self.long(),
            12..=14 => self.repeat(depth),
            15 | 16 => self.counted(depth),
            _ => self.choice(depth),
        }
    }

    /// A loop that takes longer than the fuel lasts.
    fn long(&mut self) {
        if self.one_in(2) {
            return self.long_tested();
        }
        let (index, count, by) = (8, 6, self.dice.below(4) as u16);
        let from = self.dice.below(3) as i32;
        let times = MANY - i32::from(by) - from + self.dice.below(8) as i32 / 7;
        self.set(index, from);
        self.set(count, times);
        let again = self.code.label();
        self.code.bind(again);
        let (to, word) = (self.of(TEMPORARIES), self.of(2..6));
        self.push(Op::AddI, to, index, by);
        match self.dice.below(3) {
            0 => self.push(Op::AldL, LONG, LARGE, to),
            1 => self.push(Op::AldW, word, LARGE, to),
            _ => self.push(Op::AstW, word, LARGE, to),
        }
        if self.one_in(3) {
            self.push(Op::PlusI, word, word, 1);
        }
        self.code.push_jump(Insn::new(Op::Repeat, index, count, 0), again);
    }

    fn body(&mut self, depth: u32) {
        (0..=self.dice.below(4)).for_each(|_| self.statement(depth - 1));
    }

    fn choice(&mut self, depth: u32) {
        let (end, word, other) = (self.code.label(), self.word(), self.word());
        let bound = self.dice.below(9) as u16;
        let insn = match self.dice.below(4) {
            0 => Insn::new(Op::Jlt, word, other, 0),
            1 => Insn::new(Op::JgeI, word, bound, 0),
            2 => Insn::new(Op::JltI, word, bound, 0),
            _ => Insn::new(Op::Jz, word, 0, 0),
        };
        self.code.push_jump(insn, end);
        self.body(depth);
        self.code.bind(end);
    }

    /// A replicated loop, which need not be one: index and count may be one slot, the count below 1.
    fn repeat(&mut self, depth: u32) {
        let is_odd = self.one_in(5);
        let count = self.of(WORDS.start..WORDS.end - 1);
        let index = match self.word() {
            index if !is_odd && (index == count || index == count + 1) => self.of(TEMPORARIES),
            index => index,
        };
        let from = if is_odd { self.number() } else { self.dice.below(3) as i32 };
        let times = match is_odd {
            true if self.one_in(2) => -(self.dice.below(4) as i32),
            true => self.number().min(12),
            false => 8 - from - self.dice.below(3) as i32,
        };
        let step = if self.one_in(4) { [1, 2, -1, 0, i32::MAX][self.dice.below(5) as usize] } else { 1 };
        let is_stepped = self.one_in(5);
        self.set(index, from);
        match self.dice.below(5) {
            0 => self.push(Op::Mov, count, ARRAYS[1] + 1, 0),
            1 if is_odd => self.push(Op::Mov, count, 3, 0),
            _ => self.set(count, times),
        }
        if is_stepped {
            self.set(count + 1, step);
        }
        let (again, done) = (self.code.label(), self.code.label());
        // Without the check a count below 1 makes one turn.
        if !self.one_in(if is_odd { 2 } else { 8 }) {
            self.push(Op::ChkCount, count, 0, 0);
            self.code.push_jump(Insn::new(Op::Jz, count, 0, 0), done);
        }
        self.code.bind(again);
        self.indices.push(index);
        self.body(depth);
        self.indices.pop();
        let op = if is_stepped { Op::RepeatStep } else { Op::Repeat };
        self.code.push_jump(Insn::new(op, index, count, 0), again);
        self.code.bind(done);
    }

    /// A loop that counts by itself, with its test at the end.
    fn counted(&mut self, depth: u32) {
        let (index, bound) = (self.word(), self.word());
        let by = if self.one_in(6) { self.dice.below(5) as i16 - 2 } else { 1 };
        let from = if self.one_in(6) { self.number() } else { self.dice.below(3) as i32 };
        let below = if self.one_in(4) { self.number() } else { 8 };
        let (again, test) = (self.code.label(), self.code.label());
        self.set(index, from);
        if self.one_in(2) {
            self.set(bound, below);
        } else {
            let array = ARRAYS[self.dice.below(4) as usize];
            self.push(Op::Mov, bound, array + 1, 0);
        }
        if !self.one_in(6) {
            self.code.push_jump(Insn::new(Op::Jump, 0, 0, 0), test);
        }
        self.code.bind(again);
        self.indices.push(index);
        self.body(depth);
        self.indices.pop();
        let op = if self.one_in(3) { Op::PlusI } else { Op::AddI };
        self.push(op, index, index, by as u16);
        self.code.bind(test);
        let insn = match self.dice.below(4) {
            0 => Insn::new(Op::JltI, index, below as u16, 0),
            1 => Insn::new(Op::Jle, index, bound, 0),
            _ => Insn::new(Op::Jlt, index, bound, 0),
        };
        self.code.push_jump(insn, again);
    }

    /// What stands in words and in the frame's array, as bytes on the screen.
    fn show(&mut self) {
        self.set(SHOWN, 20);
        for slot in WORDS.chain(ARRAYS).chain(OWN..OWN + ELEMENTS).chain([LONG, LONG + 1]).chain(CORNERS) {
            self.code.push(Insn::with_imm(Op::Addr, SHOWN + 1, 4 * i32::from(slot)));
            for byte in 0..4 {
                self.push(Op::LdrB, SHOWN + 2, SHOWN + 1, byte);
                self.push(Op::Out, SHOWN, SHOWN + 2, 1);
            }
        }
    }

    /// The arrays elsewhere, for a frame that begins there.
    fn arrays(&mut self, base: u16) {
        for (array, bytes) in [(12, 64), (14, 64), (LARGE, 8 * MANY)] {
            self.code.push(Insn::with_imm(Op::AllocI, base + array, bytes));
            self.set(base + array + 1, if array == LARGE { MANY } else { 8 });
        }
    }

    fn words(&mut self) {
        self.code.push(Insn::with_imm(Op::Addr, 18, 80));
        self.set(19, 8);
        for word in WORDS.chain(OWN..OWN + ELEMENTS).chain(CORNERS) {
            self.set(word, i32::from(word) % 7);
        }
    }
}

fn program(round: u64) -> Verified {
    let mut builder = ModuleBuilder::new();
    let dice = Dice(round.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let (main, callee) = (builder.declare("main"), builder.declare("callee"));
    let mut inner = builder.function();
    inner.push(Insn::new(Op::AddI, 2, 2, 1));
    inner.push(Insn::new(Op::Resched, 0, 0, 0));
    inner.push(Insn::new(Op::Ret, 0, 0, 0));
    let code = builder.function();
    let mut loops = Loops { code, dice, indices: Vec::new(), callee: Some(callee), waits: false };
    // A routine that has not waited yet is one piece, with all its loops; behind a wait each loop is its own.
    let routine = loops.one_in(2).then(|| builder.declare("routine"));
    loops.arrays(if routine.is_some() { ROUTINE } else { 0 });
    if let Some(routine) = routine {
        loops.code.call(routine, ROUTINE);
        loops.push(Op::End, 0, 0, 0);
        let code = std::mem::replace(&mut loops.code, builder.function());
        builder.define(main, code, u32::from(ROUTINE) + 64);
    }
    loops.words();
    if loops.one_in(2) {
        // Another branch of the same frame, which runs while this one waits.
        let (branch, behind) = (loops.code.label(), loops.code.label());
        loops.waits = true;
        loops.code.push(Insn::with_imm(Op::Par, PAR, 1));
        loops.code.push_jump(Insn::new(Op::Fork, PAR, 0, 0), branch);
        (0..3).for_each(|_| loops.statement(3));
        loops.push(Op::Join, PAR, 0, 0);
        loops.code.push_jump(Insn::new(Op::Jump, 0, 0, 0), behind);
        loops.code.bind(branch);
        // Only one of two may call: there is one frame for what is called.
        loops.callee = None;
        for _ in 0..2 {
            loops.statement(2);
            loops.mischief();
            loops.push(Op::Resched, 0, 0, 0);
        }
        loops.push(Op::End, 0, 0, 0);
        loops.code.bind(behind);
    } else {
        (0..4).for_each(|_| loops.statement(3));
    }
    loops.show();
    loops.push(if routine.is_some() { Op::Ret } else { Op::End }, 0, 0, 0);
    builder.define(routine.unwrap_or(main), loops.code, 64);
    builder.define(callee, inner, 16);
    builder.entry(main);
    verified(builder.finish())
}

fn listing(program: &Verified) -> String {
    let code = program.module().code.iter().enumerate();
    code.map(|(at, it)| format!("{at} {} {} {} {} {}\n", it.op.name(), it.x, it.a, it.b, it.c)).collect()
}

#[test]
fn loops_over_arrays_do_the_same() {
    let (mut well, mut all) = (0, 0);
    for round in rounds(600) {
        let program = program(round);
        let name = format!("round {round}:\n{}", listing(&program));
        let ended = same(&program, || Paper::new("", 40), (1 << 16, round % 3), &name);
        all += 1;
        well += u64::from(ended == Some(Ok(())));
    }
    eprintln!("{well} of {all} programs ended well");
    assert!(3 * well > all, "{well} of {all}: the test tests little");
}
