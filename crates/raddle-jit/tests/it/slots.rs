//! Random code over few slots, which are seen as words, as reals and in overlapping pairs, by their names and by
//! addresses, and as elements of an array that is the frame itself: who reads a slot finds what was written last,
//! whatever stands in a register and was not put into memory since it is written again.
//!
//! `RADDLE_FUZZ_ROUNDS=100000` makes it a long run, `RADDLE_FUZZ_FROM=5000` begins there.

use crate::hostile::rounds;
use crate::random::Dice;
use crate::support::{Paper, same, verified};
use raddle_bytecode::build::{Code, FunctionId, ModuleBuilder};
use raddle_bytecode::{Insn, Op, Verified};

/// How many slots there are, from slot 2 on: of these some are used.
const SLOTS: u64 = 8;
/// Index and count of a loop; the loop in it has the next two.
const LOOPS: u16 = 12;
const PLACE: u16 = 16;
const OTHER: u16 = 17;
/// The array, by address and count.
const ARRAY: u16 = 18;
/// Has -1, by which no compiled code divides.
const MINUS: u16 = 20;
const SCREEN: u16 = 21;
const BASE: u16 = 24;

struct Slots {
    code: Code,
    dice: Dice,
    callee: FunctionId,
    depth: u16,
}

impl Slots {
    fn one_in(&mut self, chances: u64) -> bool {
        self.dice.below(chances) == 0
    }

    fn slot(&mut self) -> u16 {
        2 + self.dice.below(SLOTS) as u16
    }

    /// The first of two.
    fn pair(&mut self) -> u16 {
        2 + self.dice.below(SLOTS - 1) as u16
    }

    fn push(&mut self, op: Op, a: u16, b: u16, c: u16) {
        self.code.push(Insn::new(op, a, b, c));
    }

    fn set(&mut self, op: Op, slot: u16, value: i32) {
        self.code.push(Insn::with_imm(op, slot, value));
    }

    fn word(&mut self) {
        let (to, left, right) = (self.slot(), self.slot(), self.slot());
        match self.dice.below(7) {
            0..=2 => {
                let value = self.dice.below(90) as i32;
                self.set(Op::Ldi, to, value);
            }
            3 => self.push(Op::Mov, to, left, 0),
            4 => self.push(Op::Plus, to, left, right),
            5 if self.one_in(12) => self.push(Op::NegF, to, left, 0),
            5 => self.push(Op::AndI, to, left, 7),
            _ => self.push(Op::PlusI, to, left, 3),
        }
    }

    fn long(&mut self) {
        let (to, left, right, word) = (self.pair(), self.pair(), self.pair(), self.slot());
        match self.dice.below(6) {
            0 | 1 => self.push(Op::MovL, to, left, 0),
            2 => self.push(Op::PlusL, to, left, right),
            3 => self.push(Op::WtoL, to, word, 0),
            4 => self.push(Op::EqL, word, left, right),
            _ if self.one_in(6) => self.push(Op::NegD, to, left, 0),
            _ => self.push(Op::XorL, to, left, right),
        }
    }

    /// By an address that may be of any of the slots, and of half of one.
    fn by_address(&mut self) {
        let (slot, word, pair) = (self.slot(), self.slot(), self.pair());
        let hidden = 4 * self.dice.below(3) as u16;
        let apart = if self.one_in(6) { 2 } else { 0 };
        // Nobody reads it by its name in between.
        let between = self.one_in(2);
        if between {
            let value = self.dice.below(90) as i32;
            self.set(Op::Ldi, slot, value);
        }
        self.set(Op::Addr, PLACE, 4 * i32::from(slot) - i32::from(hidden) - apart);
        if hidden > 0 {
            self.push(Op::PlusI, PLACE, PLACE, hidden);
        }
        match self.dice.below(8) {
            0 | 1 => self.push(Op::LdrW, word, PLACE, 0),
            2 => self.push(Op::LdrL, pair, PLACE, 0),
            3 => self.push(Op::LdrB, word, PLACE, 1),
            4 => self.push(Op::LdrH, word, PLACE, 2),
            5 => self.push(Op::StrW, word, PLACE, 0),
            6 => self.push(Op::StrL, pair, PLACE, 0),
            _ => self.push(Op::StrB, word, PLACE, 1),
        }
        if between {
            self.set(Op::Ldi, slot, 0);
        }
    }

    fn element(&mut self) {
        let (word, pair) = (self.slot(), self.pair());
        let index = match self.dice.below(4) {
            0 if self.depth > 0 => LOOPS + 2 * (self.depth - 1),
            1 if self.depth > 0 => LOOPS + 2 * (self.depth - 1) + 1,
            _ => {
                let from = self.slot();
                self.push(Op::AndI, OTHER, from, 3);
                OTHER
            }
        };
        match self.dice.below(6) {
            0..=2 => self.push(Op::AldW, word, ARRAY, index),
            3 => self.push(Op::AldL, pair, ARRAY, index),
            4 => self.push(Op::AldB, word, ARRAY, index),
            _ => self.push(Op::AstW, word, ARRAY, index),
        }
    }

    /// What looks at memory, or may lead to where somebody does.
    fn look(&mut self) {
        let (word, other, pair) = (self.slot(), self.slot(), self.pair());
        match self.dice.below(12) {
            0..=3 => self.push(Op::Div, OTHER, word, MINUS),
            4 if self.one_in(20) => self.push(Op::Div, OTHER, word, other),
            5 => self.push(Op::Out, SCREEN, word, 1),
            6 => self.push(Op::Resched, 0, 0, 0),
            7 => self.code.call(self.callee, BASE),
            8 => self.set(Op::Zero, pair, 8),
            9 => {
                self.set(Op::Addr, PLACE, 4 * i32::from(word));
                self.set(Op::Addr, OTHER, 4 * i32::from(other));
                self.push(Op::CopyI, PLACE, OTHER, 4);
            }
            10 if self.one_in(20) => self.push(Op::LtoW, word, pair, 0),
            _ => self.push(Op::Div, OTHER, MINUS, MINUS),
        }
    }

    fn statement(&mut self) {
        match self.dice.below(if self.depth < 2 { 16 } else { 14 }) {
            0..=4 => self.word(),
            5 | 6 => self.long(),
            7 => self.by_address(),
            8 => self.element(),
            9 | 10 => self.look(),
            11..=13 => self.choice(),
            _ => self.turns(),
        }
    }

    fn some(&mut self) {
        (0..=self.dice.below(5)).for_each(|_| self.statement());
    }

    fn choice(&mut self) {
        let (other, end, word) = (self.code.label(), self.code.label(), self.slot());
        let bound = self.dice.below(60) as u16;
        let op = [Op::Jz, Op::JltI, Op::JeqI][self.dice.below(3) as usize];
        self.code.push_jump(Insn::new(op, word, bound, 0), other);
        (0..=self.dice.below(3)).for_each(|_| self.word());
        if self.one_in(3) {
            self.look();
        }
        if self.one_in(2) {
            self.code.push_jump(Insn::new(Op::Jump, 0, 0, 0), end);
            self.code.bind(other);
            self.word();
            self.long();
        } else {
            self.code.bind(other);
        }
        self.code.bind(end);
    }

    fn turns(&mut self) {
        let (index, again, test) = (LOOPS + 2 * self.depth, self.code.label(), self.code.label());
        let (times, counts) = (1 + self.dice.below(4) as u16, self.one_in(2));
        self.set(Op::Ldi, index, 0);
        self.set(Op::Ldi, index + 1, times.into());
        if !counts && self.one_in(2) {
            self.code.push_jump(Insn::new(Op::Jump, 0, 0, 0), test);
        }
        self.code.bind(again);
        self.depth += 1;
        self.some();
        self.some();
        self.depth -= 1;
        if counts {
            self.code.bind(test);
            self.code.push_jump(Insn::new(Op::Repeat, index, index + 1, 0), again);
            return;
        }
        self.push(Op::AddI, index, index, 1);
        self.code.bind(test);
        self.code.push_jump(Insn::new(Op::Jlt, index, index + 1, 0), again);
    }

    fn show(&mut self) {
        for slot in 2..2 + SLOTS as u16 {
            self.set(Op::Addr, PLACE, 4 * i32::from(slot));
            for byte in 0..4 {
                self.push(Op::LdrB, OTHER, PLACE, byte);
                self.push(Op::Out, SCREEN, OTHER, 1);
            }
        }
    }
}

fn program(round: u64) -> Verified {
    let mut builder = ModuleBuilder::new();
    let dice = Dice(round.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let (main, callee) = (builder.declare("main"), builder.declare("callee"));
    let mut inner = builder.function();
    inner.push(Insn::new(Op::Ret, 0, 0, 0));
    let mut slots = Slots { code: builder.function(), dice, callee, depth: 0 };
    for slot in 2..2 + SLOTS as u16 {
        slots.set(Op::Ldi, slot, i32::from(slot) * 5);
    }
    let first = 2 + slots.dice.below(5) as i32;
    slots.set(Op::Addr, ARRAY, 4 * first);
    slots.set(Op::Ldi, ARRAY + 1, 4);
    slots.set(Op::Ldi, MINUS, -1);
    slots.set(Op::Ldi, SCREEN, 20);
    (0..4).for_each(|_| slots.statement());
    slots.turns();
    slots.show();
    slots.push(Op::End, 0, 0, 0);
    builder.define(main, slots.code, 40);
    builder.define(callee, inner, 8);
    builder.entry(main);
    verified(builder.finish())
}

#[test]
fn code_over_few_slots_does_the_same() {
    let (mut well, mut all) = (0, 0);
    for round in rounds(300) {
        let program = program(round);
        let code = program.module().code.iter().enumerate();
        let lines: String = code
            .map(|(at, it)| format!("{at} {} {} {} {} {}\n", it.op.name(), it.x, it.a, it.b, it.c))
            .collect();
        let name = format!("round {round}:\n{lines}");
        let ended = same(&program, || Paper::new("", 40), (1 << 16, round % 3), &name);
        all += 1;
        well += u64::from(ended == Some(Ok(())));
    }
    eprintln!("{well} of {all} programs ended well");
    assert!(2 * well > all, "{well} of {all}: the test tests little");
}
