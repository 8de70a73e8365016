//! What chance alone seldom makes of a loop in `loops`, about what is found out before it: products and sums of its
//! index that are near the largest number or beyond it; arrays that it only fills; a loop with a test that adds in some
//! turns alone, for longer than the fuel lasts.

use crate::corners::{COUNT, INDEX, OUTER, STEP};
use crate::loops::{ARRAYS, LARGE, Loops, MANY, OWN, TEMPORARIES};
use raddle_bytecode::{Insn, Op};

impl Loops {
    fn one_of<const N: usize>(&mut self, numbers: [i32; N]) -> i32 {
        numbers[self.dice.below(N as u64) as usize]
    }

    /// A number, which the function does not say every time.
    fn number_or_what_is_read(&mut self, slot: u16, number: i32) {
        self.set(slot, number);
        if self.one_in(2) {
            let word = self.word();
            self.push(Op::AndI, 11, word, 3);
            self.push(Op::Plus, slot, slot, 11);
        }
    }

    /// What is made of the index and of what stays the same, some of it too large.
    pub(crate) fn products(&mut self) {
        let from = self.one_of([-50_000, -46_341, -46_338, -3, 0, 1, 46_337, 46_339, 1 << 20]);
        let other = self.one_of([-(1 << 30), -46_341, -2, 0, 3, 46_340, 46_341, 1 << 11, i32::MAX - 8]);
        let times = 1 + self.dice.below(6) as i32;
        self.number_or_what_is_read(INDEX, from);
        self.number_or_what_is_read(OUTER, other);
        self.set(COUNT, times);
        self.set(STEP, 0);
        let is_tested = self.one_in(3);
        if is_tested {
            self.push(Op::Plus, COUNT, COUNT, INDEX);
        }
        let again = self.code.label();
        self.code.bind(again);
        for _ in 0..1 + self.dice.below(3) {
            let [left, right] = [0; 2].map(|_| [INDEX, INDEX, OUTER, 10, 11][self.dice.below(5) as usize]);
            let to = self.of(TEMPORARIES);
            match self.dice.below(8) {
                0 => self.push(Op::Mul, to, INDEX, INDEX),
                1 => self.push(Op::Mul, to, INDEX, OUTER),
                2 => self.push(Op::Mul, to, left, right),
                3 => self.push(Op::Add, to, left, right),
                4 => self.push(Op::Sub, to, left, right),
                5 => {
                    let by = self.dice.below(9) as i16 - 4;
                    self.push(Op::AddI, to, left, by as u16);
                }
                6 => {
                    let by = self.one_of([1, 2, 3, 7, -2]);
                    self.set(to, by);
                    let left = if left == to { INDEX } else { left };
                    self.push(Op::Div, to, left, to);
                }
                _ => self.push(Op::AndI, to, left, 0xff),
            }
            self.push(Op::Xor, STEP, STEP, to);
        }
        if is_tested {
            self.push(Op::AddI, INDEX, INDEX, 1);
            self.code.push_jump(Insn::new(Op::Jlt, INDEX, COUNT, 0), again);
        } else {
            self.code.push_jump(Insn::new(Op::Repeat, INDEX, COUNT, 0), again);
        }
        self.push(Op::Xor, OUTER, STEP, 10);
    }

    /// Sums one behind the other, with what stops some of them, of numbers which may be large.
    pub(crate) fn sums(&mut self) {
        const PARTS: std::ops::Range<u16> = 2..8;
        for slot in PARTS {
            let is_large = self.one_in(4);
            let large =
                self.one_of([1 << 30, 1 << 29, -(1 << 30), i32::MIN + 5, i32::MAX - 5, (1 << 30) - 1]);
            let small = self.dice.below(1000) as i32 - 20;
            self.set(slot, if is_large { large } else { small });
        }
        self.set(INDEX, 0);
        self.set(COUNT, 2);
        self.set(STEP, -1);
        let again = self.code.label();
        self.code.bind(again);
        for _ in 0..3 + self.dice.below(8) {
            let (to, left, right) = (self.of(PARTS), self.of(PARTS), self.of(PARTS));
            match self.dice.below(16) {
                0..=6 => self.push(Op::Add, to, left, right),
                7..=9 => self.push(Op::Sub, to, left, right),
                10 => self.push(Op::AddI, to, left, 3),
                // It leaves, and goes on.
                11 => self.push(Op::Div, OUTER, left, STEP),
                12 => self.push(Op::AldW, to, ARRAYS[0], INDEX),
                13 => self.push(Op::AstW, left, ARRAYS[3], INDEX),
                _ => self.push(Op::AndI, to, left, 0x7f),
            }
        }
        self.code.push_jump(Insn::new(Op::Repeat, INDEX, COUNT, 0), again);
    }

    /// All elements of an array, or some of them, are set to the same.
    pub(crate) fn fills(&mut self) {
        let array = ARRAYS[[3, 3, 1, 2][self.dice.below(4) as usize]];
        let op = [Op::AstB, Op::AstH, Op::AstW, Op::AstW, Op::AstL][self.dice.below(5) as usize];
        let size = if array == LARGE { MANY } else { 8 };
        let room = match op {
            // There is no room for more.
            Op::AstL if array == ARRAYS[3] => 4,
            _ if self.one_in(8) => size + 1,
            _ => size,
        };
        if room == 4 {
            self.set(array + 1, 4);
        }
        let from = self.dice.below(4) as i32;
        self.set(INDEX, from);
        let times = if self.one_in(2) { room - from } else { self.dice.below(7) as i32 };
        self.set(COUNT, times);
        let value = self.dice.below(1 << 32) as i32;
        self.set(TEMPORARIES.start, value);
        let again = self.code.label();
        self.code.bind(again);
        if self.one_in(2) {
            self.set(TEMPORARIES.start, value);
        }
        self.push(op, TEMPORARIES.start, array, INDEX);
        self.code.push_jump(Insn::new(Op::Repeat, INDEX, COUNT, 0), again);
        self.set(array + 1, size);
        // What else is set would be seen.
        for slot in 2..6 {
            self.set(OUTER, i32::from(slot) + 2);
            self.push(Op::AldW, slot, array, OUTER);
        }
    }

    /// A loop with a test that takes longer than the fuel lasts, and adds in each turn or in every other.
    pub(crate) fn long_tested(&mut self) {
        let (index, bound, lot) = (8, 6, self.dice.below(3));
        self.set(index, 0);
        self.set(bound, MANY);
        self.set(TEMPORARIES.start, 0);
        let by = 1 + self.dice.below(3) as u16;
        let (again, behind) = (self.code.label(), self.code.label());
        self.code.bind(again);
        if lot == 0 {
            self.push(Op::AldL, 28, LARGE, index);
        }
        if lot < 2 {
            self.push(Op::NotBool, TEMPORARIES.start, TEMPORARIES.start, 0);
            self.code.push_jump(Insn::new(Op::Jz, TEMPORARIES.start, 0, 0), behind);
        }
        self.push(Op::AddI, index, index, by);
        self.code.bind(behind);
        if self.one_in(2) {
            self.push(Op::PlusI, 4, 4, 1);
        }
        self.code.push_jump(Insn::new(Op::Jlt, index, bound, 0), again);
    }
}

/// The array in the frame is the last one.
const _: () = assert!(ARRAYS[3] + 2 == OWN);
