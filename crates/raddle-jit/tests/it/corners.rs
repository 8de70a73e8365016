//! What chance alone seldom makes of a loop in `loops`: an element that is looked at twice, of which less was shown
//! than it seems; an index that counts itself, or begins near the largest number, or elsewhere than it seems; a step
//! below 0; a test that is jumped to from outside the loop around its loop; an array that is set to the same thing
//! wherever the function sets it, and is changed by its address; slots that an array reaches, while a loop goes on from
//! the interpreter; reals that are too large.

use crate::loops::{ARRAYS, Loops, TEMPORARIES};
use crate::support::{Paper, module_of, same, verified};
use raddle_bytecode::{Function, Insn, Module, Op};

/// Slots for this alone, so that no loop around is disturbed.
pub(crate) const CORNERS: std::ops::Range<u16> = 35..40;
pub(crate) const INDEX: u16 = 35;
pub(crate) const COUNT: u16 = 36;
pub(crate) const STEP: u16 = 37;
pub(crate) const OUTER: u16 = 38;
/// Four that have reals.
const REALS: u16 = 60;
/// An array that is always set to the same; nothing else writes it by its name.
const SETTLED: u16 = 58;

impl Loops {
    pub(crate) fn corner(&mut self) {
        match self.dice.below(16) {
            14 | 15 => self.sums(),
            11 | 12 => self.products(),
            13 => self.fills(),
            10 => self.doubles(),
            9 => self.looked_at_by_address(),
            8 => self.reals(),
            6 => self.settled(),
            7 => self.looked_at(),
            0 => self.twice(),
            1 => self.counts_itself(),
            2 => self.near_an_end(),
            3 => self.begins_elsewhere(),
            4 => self.stepped(),
            _ => self.jumps_into_the_middle(),
        }
    }

    fn small_array(&mut self) -> u16 {
        ARRAYS[self.dice.below(2) as usize]
    }

    fn element(&mut self, array: u16, index: u16) {
        let to = self.of(TEMPORARIES);
        let op = [Op::AldW, Op::AldB, Op::AldH, Op::AstW][self.dice.below(4) as usize];
        self.push(op, to, array, index);
    }

    fn now_and_then(&mut self) {
        if self.one_in(3) {
            self.access();
        }
    }

    /// The same element by two counts, or on one of two ways and then behind both.
    fn twice(&mut self) {
        let array = self.small_array();
        let (to, op) = (self.of(TEMPORARIES), [Op::AldW, Op::AldB, Op::AstW][self.dice.below(3) as usize]);
        if self.one_in(2) {
            let index = self.dice.below(8) as i32;
            self.set(INDEX, index);
            self.push(op, to, array, INDEX);
            let count = [8, 8, 5, 3][self.dice.below(4) as usize];
            self.set(array + 1, count);
        } else {
            let (index, lot) = ([1, 4, 8][self.dice.below(3) as usize], self.dice.below(4) as i32);
            self.set(INDEX, index);
            self.set(COUNT, lot);
            self.set(OUTER, 0);
            // From here on registers hold the array, on each way.
            self.push(op, to, array, OUTER);
            let behind = self.code.label();
            self.code.push_jump(Insn::new(Op::JltI, COUNT, 2, 0), behind);
            self.push(op, to, array, INDEX);
            if self.one_in(2) {
                // Or nothing is shown on the other way, which is the longer one.
                let end = self.code.label();
                self.code.push_jump(Insn::new(Op::Jump, 0, 0, 0), end);
                self.code.bind(behind);
                self.arithmetic();
                self.code.bind(end);
            } else {
                self.code.bind(behind);
            }
        }
        self.push(op, to, array, INDEX);
        self.set(array + 1, 8);
    }

    /// A loop whose index is its count: what is added is taken off.
    fn counts_itself(&mut self) {
        let from = -(self.dice.below(3) as i32);
        self.set(INDEX, from);
        let again = self.code.label();
        self.code.bind(again);
        let (to, by) = (self.of(TEMPORARIES), self.dice.below(9) as u16);
        self.push(Op::PlusI, to, INDEX, by);
        self.code.push_jump(Insn::new(Op::Repeat, INDEX, INDEX, 0), again);
    }

    /// What is added to the index may go beyond the largest number, or the lowest.
    fn near_an_end(&mut self) {
        let (times, by) = (1 + self.dice.below(4) as i32, 1 + self.dice.below(3) as i32);
        let room = self.dice.below(9) as i32;
        let is_low = self.one_in(3);
        self.set(INDEX, if is_low { i32::MIN + room } else { i32::MAX - room });
        self.set(COUNT, times);
        let again = self.code.label();
        self.code.bind(again);
        let to = self.of(TEMPORARIES);
        self.push(Op::AddI, to, INDEX, if is_low { -by } else { by } as u16);
        self.code.push_jump(Insn::new(Op::Repeat, INDEX, COUNT, 0), again);
    }

    /// Index and count are not what was put there last as constants.
    fn begins_elsewhere(&mut self) {
        let (from, times) = (self.dice.below(3) as i32, 1 + self.dice.below(4) as i32);
        self.set(INDEX, from);
        self.set(COUNT, times);
        let by = 1 + self.dice.below(3) as u16;
        match self.dice.below(3) {
            0 => self.push(Op::PlusI, INDEX, INDEX, by),
            1 => self.push(Op::AddI, COUNT, COUNT, by),
            _ => {}
        }
        let again = self.code.label();
        self.code.bind(again);
        let limit = from + times + self.dice.below(3) as i32;
        self.code.push(Insn::with_imm(Op::ChkI, INDEX, limit));
        self.now_and_then();
        self.code.push_jump(Insn::new(Op::Repeat, INDEX, COUNT, 0), again);
    }

    /// A loop with a test whose step is no constant.
    fn stepped(&mut self) {
        let array = self.small_array();
        let step = [1, 1, 2, 3, -1][self.dice.below(5) as usize];
        let (from, bound) = (self.dice.below(4) as i32 - self.dice.below(8) as i32 / 7, 8);
        self.set(INDEX, from);
        self.set(COUNT, bound);
        self.set(STEP, step);
        let (again, test) = (self.code.label(), self.code.label());
        if self.one_in(2) {
            self.code.push_jump(Insn::new(Op::Jump, 0, 0, 0), test);
        }
        self.code.bind(again);
        self.element(array, INDEX);
        self.now_and_then();
        if from % 2 == 0 {
            // With this the loop is entered anew each time only where its fuel is used up.
            self.code.push(Insn::with_imm(Op::Zero, TEMPORARIES.end - 1, 4));
        }
        self.push(Op::Add, INDEX, INDEX, STEP);
        self.code.bind(test);
        self.code.push_jump(Insn::new(Op::Jlt, INDEX, COUNT, 0), again);
    }

    /// The array seems to be the same whenever the loop is entered.
    fn settled(&mut self) {
        self.code.push(Insn::with_imm(Op::Addr, SETTLED, 80));
        self.set(SETTLED + 1, 8);
        self.set(INDEX, 0);
        let times = 6 + self.dice.below(3) as i32;
        self.set(COUNT, times);
        let changes = self.one_in(2);
        if changes {
            // By an address that does not tell which slot it is.
            let slot = SETTLED + self.dice.below(2) as u16;
            self.code.push(Insn::with_imm(Op::Addr, 10, 4 * i32::from(slot) - 24));
            self.push(Op::AddI, 10, 10, 24);
            if slot == SETTLED {
                let place = 4 * (2 + self.dice.below(9) as i32);
                self.code.push(Insn::with_imm(Op::Addr, 11, place));
            } else {
                let count = [7, 8, 3, 5, -1][self.dice.below(5) as usize];
                self.set(11, count);
            }
            self.push(Op::StrW, 11, 10, 0);
        }
        let again = self.code.label();
        self.code.bind(again);
        (0..=self.dice.below(3)).for_each(|_| self.element(SETTLED, INDEX));
        self.now_and_then();
        self.code.push_jump(Insn::new(Op::Repeat, INDEX, COUNT, 0), again);
    }

    /// Slots that are written more than once in a turn, while an array reaches them, and the interpreter has parts of
    /// the turn.
    fn looked_at(&mut self) {
        let (array, first) = (ARRAYS[0], 9 + self.dice.below(2) as i32);
        self.code.push(Insn::with_imm(Op::Addr, array, 4 * first));
        self.set(array + 1, 4);
        self.set(INDEX, 0);
        self.set(COUNT, 4);
        self.set(STEP, -1);
        let again = self.code.label();
        self.code.bind(again);
        for _ in 0..6 {
            let temporary = self.of(TEMPORARIES);
            match self.dice.below(8) {
                0 | 1 => {
                    let number = self.dice.below(50) as i32;
                    self.set(temporary, number);
                }
                // It leaves, and goes on.
                2 => self.push(Op::Div, OUTER, INDEX, STEP),
                3 => self.push(Op::Plus, temporary, INDEX, temporary),
                // By a subscript of which nothing is known before the loop.
                4 | 5 => {
                    let word = self.of(2..6);
                    self.push(Op::AldW, OUTER, ARRAYS[1], INDEX);
                    self.push(Op::AldW, word, array, OUTER);
                }
                _ => {
                    let word = self.of(2..6);
                    let array = if self.one_in(3) { ARRAYS[1] } else { array };
                    let op = [Op::AldW, Op::AldW, Op::AldB, Op::AstW][self.dice.below(4) as usize];
                    self.push(op, word, array, INDEX);
                }
            }
        }
        self.code.push_jump(Insn::new(Op::Repeat, INDEX, COUNT, 0), again);
        self.push(Op::Mov, array, ARRAYS[1], 0);
        self.push(Op::Mov, array + 1, ARRAYS[1] + 1, 0);
    }

    /// The same where nothing that is compared before the loop fails: the subscript is the count, of which no more is
    /// known than that it is a word, or there is none. Each slot is written before the access and behind it.
    fn looked_at_by_address(&mut self) {
        let (array, first) = (ARRAYS[0], i32::from(TEMPORARIES.start));
        self.code.push(Insn::with_imm(Op::Addr, array, 4 * first - 4));
        self.set(array + 1, 3);
        self.set(INDEX, 0);
        self.set(COUNT, 2);
        let again = self.code.label();
        self.code.bind(again);
        for _ in 0..2 {
            for slot in TEMPORARIES {
                let number = self.dice.below(50) as i32;
                self.set(slot, number);
            }
            let word = self.of(2..6);
            if self.one_in(2) {
                let op = [Op::AldW, Op::AldW, Op::AldB, Op::AstB][self.dice.below(4) as usize];
                self.push(op, word, array, COUNT);
            } else {
                let place = 4 * (first + self.dice.below(2) as i32);
                self.code.push(Insn::with_imm(Op::Addr, OUTER, place));
                let op = [Op::LdrW, Op::LdrB, Op::StrB][self.dice.below(3) as usize];
                self.push(op, word, OUTER, 0);
            }
        }
        TEMPORARIES.for_each(|slot| self.set(slot, 0));
        self.code.push_jump(Insn::new(Op::Repeat, INDEX, COUNT, 0), again);
        self.push(Op::Mov, array, ARRAYS[1], 0);
        self.push(Op::Mov, array + 1, ARRAYS[1] + 1, 0);
    }

    /// Results of reals, each of which is checked or not, once in a while too large, with what others see between them.
    fn reals(&mut self) {
        for real in REALS..REALS + 4 {
            let is_large = self.one_in(12);
            let lot = self.dice.below(4) as usize;
            let number =
                if is_large { [f32::MAX, -f32::MAX, 1e30, 1e-40][lot] } else { [1.0, -2.0, 0.5, 3.0][lot] };
            self.set(real, number.to_bits() as i32);
        }
        self.set(INDEX, 0);
        self.set(STEP, -1);
        for _ in 0..6 + self.dice.below(6) {
            let [to, left, right] = [0; 3].map(|_| self.of(REALS..REALS + 4));
            match self.dice.below(12) {
                0 => self.push(Op::AstW, to, ARRAYS[3], INDEX),
                1 => self.push(Op::PlusI, INDEX, INDEX, 1),
                2 => self.push(Op::LtF, 10, left, right),
                3 => self.push(Op::Mov, to, left, 0),
                // It leaves, and goes on.
                4 => self.push(Op::Div, 11, INDEX, STEP),
                _ => {
                    let op = [Op::AddF, Op::SubF, Op::MulF, Op::DivF][self.dice.below(4) as usize];
                    let divides = op == Op::DivF && self.one_in(3);
                    self.push(op, to, left, if divides || op != Op::DivF { right } else { REALS });
                    if !self.one_in(5) {
                        self.push(Op::ChkF, to, 0, 0);
                    }
                }
            }
            self.push(Op::AndI, INDEX, INDEX, 7);
        }
        // What divides is once in a while too large: then the quotient is a number.
        let number = if self.one_in(4) { f32::MAX } else { 3.0 };
        self.set(REALS, number.to_bits() as i32);
        for (op, to, left, right) in [(Op::MulF, 1, 0, 0), (Op::DivF, 2, 0, 1)] {
            self.push(op, REALS + to, REALS + left, REALS + right);
            self.push(Op::ChkF, REALS + to, 0, 0);
        }
        self.push(Op::AstW, REALS + 2, ARRAYS[3], INDEX);
    }

    /// The same of 64 bits, in pairs of the same slots: so they are seen as a pair and by halves. In a loop, as what is
    /// too large may come of what a turn before has made.
    fn doubles(&mut self) {
        for (place, half) in (REALS..REALS + 4).enumerate() {
            let large = if self.one_in(8) { 0x7fe0_0000 } else { 0x3ff8_0000 };
            self.set(half, if place % 2 == 1 { large } else { 0 });
        }
        self.set(INDEX, 0);
        self.set(COUNT, 3);
        self.set(STEP, -1);
        let again = self.code.label();
        self.code.bind(again);
        for _ in 0..4 + self.dice.below(8) {
            let [to, left, right] = [0; 3].map(|_| REALS + 2 * self.dice.below(2) as u16);
            let (half, word) = (self.of(REALS..REALS + 4), self.of(2..6));
            match self.dice.below(14) {
                0 => self.push(Op::AstW, half, ARRAYS[3], INDEX),
                1 => self.push(Op::Mov, word, half, 0),
                2 => self.push(Op::LtD, 10, left, right),
                3 => self.push(Op::MovL, to, left, 0),
                // It leaves, and goes on.
                4 => self.push(Op::Div, 11, INDEX, STEP),
                5 => self.push(Op::DtoF, half, left, 0),
                // By an address that reaches a half.
                6 => {
                    self.code.push(Insn::with_imm(Op::Addr, OUTER, 4 * i32::from(half)));
                    let op = [Op::LdrW, Op::StrW][self.dice.below(2) as usize];
                    self.push(op, word, OUTER, 0);
                }
                7 => {
                    let which = self.dice.below(2) as u16;
                    self.push(Op::FnD, to, left, which);
                }
                _ => {
                    let op = [Op::AddD, Op::SubD, Op::MulD, Op::DivD][self.dice.below(4) as usize];
                    self.push(op, to, left, right);
                    if !self.one_in(5) {
                        self.push(Op::ChkD, to, 0, 0);
                    }
                }
            }
        }
        self.code.push_jump(Insn::new(Op::Repeat, INDEX, COUNT, 0), again);
        (0..4).for_each(|half| self.push(Op::Mov, 2 + half, REALS + half, 0));
    }

    /// A jump to the test of a loop, from outside the loop that this one is in.
    fn jumps_into_the_middle(&mut self) {
        let array = self.small_array();
        let [outer, inner, test] = [0; 3].map(|_| self.code.label());
        (INDEX..=OUTER).for_each(|slot| self.set(slot, 1));
        self.element(array, OUTER);
        self.code.push_jump(Insn::new(Op::Jump, 0, 0, 0), test);
        self.code.bind(outer);
        self.element(array, OUTER);
        self.set(INDEX, 0);
        self.code.bind(inner);
        self.element(array, INDEX);
        self.push(Op::AddI, INDEX, INDEX, 1);
        self.code.bind(test);
        let turns = 2 + self.dice.below(3) as u16;
        self.code.push_jump(Insn::new(Op::JltI, INDEX, turns, 0), inner);
        self.element(array, STEP);
        self.now_and_then();
        if self.one_in(2) {
            self.push(Op::AddI, OUTER, OUTER, 1);
            self.code.push_jump(Insn::new(Op::JltI, OUTER, turns, 0), outer);
        } else {
            self.code.push_jump(Insn::new(Op::Repeat, OUTER, COUNT, 0), outer);
        }
    }
}

/// The way through the test's copy comes into the loop around without passing what is compared before it.
#[test]
fn a_test_that_is_jumped_to_from_outside_two_loops_does_the_same() {
    for turns in 1..4 {
        let code = vec![
            Insn::with_imm(Op::Addr, 4, 80),
            Insn::with_imm(Op::Ldi, 5, 8),
            Insn::with_imm(Op::Ldi, 6, 1),
            Insn::with_imm(Op::Ldi, 7, 0),
            Insn::new(Op::AldW, 8, 4, 7),
            Insn::new(Op::Jump, 0, 0, 0).to(4),
            // The loop around.
            Insn::new(Op::AldW, 8, 4, 7),
            Insn::with_imm(Op::Ldi, 6, 0),
            // The loop with the test.
            Insn::new(Op::AldW, 9, 4, 6),
            Insn::new(Op::AddI, 6, 6, 1),
            Insn::new(Op::JltI, 6, turns, 0).to(-3),
            Insn::new(Op::AstW, 6, 4, 7),
            Insn::new(Op::AddI, 7, 7, 1),
            Insn::new(Op::JltI, 7, 6, 0).to(-8),
            Insn::new(Op::Mov, 2, 9, 0),
            Insn::new(Op::End, 0, 0, 0),
        ];
        let main = Function { name: 0, first: 0, count: code.len() as u32, slots: 32 };
        let program = verified(Module { code, functions: vec![main], ..Module::default() });
        same(&program, || Paper::new("", 5), (1 << 16, 0), &format!("{turns} turns"));
    }
}

/// A slot that is a real elsewhere is one in its register, also where it is the bound of a loop, or its step.
#[test]
fn a_bound_that_is_a_real_elsewhere_does_the_same() {
    for (bound, step) in [(3, 4), (4, 3)] {
        let code = vec![
            Insn::with_imm(Op::Ldi, 2, 0),
            Insn::with_imm(Op::Ldi, bound, 8),
            Insn::with_imm(Op::Ldi, step, 2),
            Insn::with_imm(Op::Addr, 6, 80),
            Insn::with_imm(Op::Ldi, 7, 8),
            Insn::new(Op::AldW, 8, 6, 2),
            Insn::new(Op::Add, 2, 2, step),
            Insn::new(Op::Jlt, 2, bound, 0).to(-3),
            Insn::new(Op::NegF, 3, 3, 0),
            Insn::new(Op::End, 0, 0, 0),
        ];
        let main = Function { name: 0, first: 0, count: code.len() as u32, slots: 32 };
        let program = verified(Module { code, functions: vec![main], ..Module::default() });
        same(&program, || Paper::new("", 5), (1 << 16, 0), &format!("bound {bound}, step {step}"));
    }
}

/// A slot that is written again before its name is read, while an address reaches it: by a subscript of which nothing
/// is compared before the loop, and by an address alone. What is found there is what was written last.
#[test]
fn a_slot_that_is_read_by_its_address_before_it_is_written_again_does_the_same() {
    let reads = [
        [Insn::with_imm(Op::Addr, 9, 16), Insn::new(Op::AldW, 10, 14, 7)],
        [Insn::with_imm(Op::Addr, 9, 24), Insn::new(Op::LdrW, 10, 9, 0)],
        [Insn::with_imm(Op::Addr, 9, 20), Insn::new(Op::LdrL, 10, 9, 0)],
    ];
    for (number, read) in reads.into_iter().enumerate() {
        let mut code = vec![
            Insn::with_imm(Op::Addr, 14, 16),
            Insn::with_imm(Op::Ldi, 15, 3),
            Insn::with_imm(Op::Ldi, 5, 7),
            Insn::with_imm(Op::Ldi, 6, 7),
            Insn::with_imm(Op::Ldi, 12, 0),
            Insn::with_imm(Op::Ldi, 8, 0),
            Insn::with_imm(Op::Ldi, 7, 2),
            // The loop.
            Insn::new(Op::PlusI, 5, 8, 42),
            Insn::new(Op::PlusI, 6, 8, 43),
            read[0],
            read[1],
            Insn::new(Op::Plus, 12, 12, 10),
            Insn::new(Op::Plus, 12, 12, 12),
            Insn::with_imm(Op::Ldi, 5, 0),
            Insn::with_imm(Op::Ldi, 6, 0),
            Insn::new(Op::Repeat, 8, 7, 0).to(-9),
        ];
        code.extend([Insn::with_imm(Op::Ldi, 13, 20), Insn::new(Op::Out, 13, 12, 1)]);
        code.push(Insn::new(Op::End, 0, 0, 0));
        let main = Function { name: 0, first: 0, count: code.len() as u32, slots: 32 };
        let program = verified(Module { code, functions: vec![main], ..Module::default() });
        let ended = same(&program, || Paper::new("", 5), (1 << 16, 0), &format!("read {number}"));
        assert_eq!(ended, Some(Ok(())), "read {number}");
    }
}

/// The report of an error says for which index of a replicated PAR it was: it looks into slot 2 of the frame, whatever
/// the code does with that.
#[test]
fn a_report_finds_the_index_that_is_written_again() {
    let code = vec![
        Insn::with_imm(Op::Ldi, 3, 7),
        Insn::with_imm(Op::Ldi, 4, 1),
        Insn::with_imm(Op::Ldi, 5, 1),
        Insn::with_imm(Op::ForkN, 2, 1),
        Insn::new(Op::JoinN, 2, 0, 0),
        Insn::new(Op::End, 0, 0, 0),
        // The branch.
        Insn::with_imm(Op::Ldi, 3, 0),
        Insn::with_imm(Op::Ldi, 2, 5),
        Insn::new(Op::Div, 4, 3, 3),
        Insn::with_imm(Op::Ldi, 2, 6),
        Insn::new(Op::End, 0, 0, 0),
    ];
    let main = Function { name: 0, first: 0, count: 6, slots: 32 };
    let branch = Function { name: 0, first: 6, count: 5, slots: 8 };
    let program = verified(Module { code, functions: vec![main, branch], ..Module::default() });
    let ended = same(&program, || Paper::new("", 5), (1 << 16, 0), "an index");
    assert!(matches!(ended, Some(Err(_))), "{ended:?}");
}

/// Who compiles it looks at what each sum is made of, and must not call itself for each.
#[test]
fn a_loop_of_thousands_of_sums_one_of_the_other_does_the_same() {
    const SUMS: i32 = 9000;
    let (index, count, sum, product, array, more, zero) = (2, 3, 4, 5, 6, 8, 9);
    let mut code = vec![
        Insn::with_imm(Op::Ldi, index, 0),
        Insn::with_imm(Op::Ldi, count, 4),
        Insn::with_imm(Op::Ldi, product, 0),
        Insn::with_imm(Op::Ldi, zero, 0),
        Insn::with_imm(Op::Addr, array, 80),
        Insn::with_imm(Op::Ldi, array + 1, 8),
        // A number that the loop does not make, and of which nothing is known.
        Insn::new(Op::AldW, more, array, zero),
        Insn::new(Op::AndI, sum, index, 255),
    ];
    code.extend((0..SUMS).map(|_| Insn::new(Op::AddI, sum, sum, 1)));
    code.push(Insn::new(Op::Mul, sum, sum, more));
    code.push(Insn::new(Op::Xor, product, product, sum));
    code.push(Insn::new(Op::Repeat, index, count, 0).to(-(SUMS + 4)));
    code.push(Insn::new(Op::End, 0, 0, 0));
    let main = Function { name: 0, first: 0, count: code.len() as u32, slots: 32 };
    let program = verified(Module { code, functions: vec![main], ..Module::default() });
    same(&program, || Paper::new("", 5), (1 << 16, 0), "a row of sums");
}

/// Of a byte it is thought that it may be 255, and so that the product may be no word: then the loop goes on where each
/// product is looked at. Of 200 none is too large; of 230 the last ones are.
#[test]
fn a_loop_whose_products_seem_too_large_does_the_same() {
    for highest in [200, 230] {
        let text = format!(
            "PROC main (CHAN BYTE keyboard?, screen!, error!)
  VAL n IS 9000:
  [n]BYTE level:
  INT sum:
  SEQ
    SEQ i = 0 FOR n
      level[i] := BYTE ((i / 40) \\ {highest})
    sum := 0
    SEQ round = 0 FOR 3
      SEQ
        SEQ i = 0 FOR n
          sum := (sum + (((INT level[i]) * 10000000) / 1000000)) /\\ 65535
        screen ! BYTE (sum /\\ 127)
:
"
        );
        let program = verified(module_of(&text).expect("it is a program"));
        let ended = same(&program, || Paper::new("", 100_000), (1 << 16, 0), &format!("up to {highest}"));
        assert_eq!(ended.map(|it| it.is_ok()), Some(highest == 200), "up to {highest}");
    }
}

/// What was shown to be less than a count is added to: at the largest number.
#[test]
fn a_sum_of_a_subscript_does_the_same() {
    for (below, more) in [(1, 12), (2, 12), (1, 300)] {
        let count = i32::MAX - more + 2;
        let code = vec![
            Insn::with_imm(Op::Ldi, 3, count - below),
            Insn::with_imm(Op::ChkI, 3, count),
            Insn::new(Op::AddI, 4, 3, more as u16),
            Insn::new(Op::End, 0, 0, 0),
        ];
        let main = Function { name: 0, first: 0, count: code.len() as u32, slots: 8 };
        let program = verified(Module { code, functions: vec![main], ..Module::default() });
        let ended = same(&program, || Paper::new("", 5), (1 << 16, 0), &format!("{below}, {more}"));
        assert_eq!(ended.map(|it| it.is_ok()), Some(below == 2), "{below}, {more}");
    }
}

/// Two sums one behind the other are checked together: it is found which of them is wrong.
#[test]
fn two_sums_that_are_checked_together_do_the_same() {
    let (large, one, zero, array, sums) = (2, 3, 4, 5, [8, 9]);
    for [first, second] in [[one, large], [large, one], [large, large], [one, one]] {
        let code = vec![
            Insn::with_imm(Op::Ldi, one, 0),
            Insn::with_imm(Op::Addr, array, 80),
            Insn::with_imm(Op::Ldi, array + 1, 8),
            // Numbers of which nothing is known.
            Insn::new(Op::AldW, zero, array, one),
            Insn::new(Op::AldW, one, array, one),
            Insn::new(Op::PlusI, one, one, 1),
            Insn::with_imm(Op::Ldi, large, i32::MAX),
            Insn::new(Op::Plus, large, large, zero),
            Insn::new(Op::Add, sums[0], first, one),
            Insn::new(Op::Add, sums[1], second, one),
            Insn::new(Op::End, 0, 0, 0),
        ];
        let main = Function { name: 0, first: 0, count: code.len() as u32, slots: 32 };
        let program = verified(Module { code, functions: vec![main], ..Module::default() });
        let ended = same(&program, || Paper::new("", 5), (1 << 16, 0), &format!("{first} and {second}"));
        assert_eq!(ended.map(|it| it.is_ok()), Some(first == one && second == one), "{first} and {second}");
    }
}

/// What one way through a loop writes the other one reads, in the next turn.
#[test]
fn what_one_way_writes_does_the_same() {
    let (index, count, bit, written, sum) = (3, 4, 5, 6, 7);
    let code = vec![
        Insn::with_imm(Op::Ldi, written, 7),
        Insn::with_imm(Op::Ldi, sum, 0),
        Insn::with_imm(Op::Ldi, index, 0),
        Insn::with_imm(Op::Ldi, count, 6),
        Insn::new(Op::AndI, bit, index, 1),
        Insn::new(Op::Jz, bit, 0, 0).to(2),
        Insn::new(Op::Plus, sum, sum, written),
        Insn::new(Op::Jump, 0, 0, 0).to(1),
        Insn::new(Op::Plus, written, index, index),
        Insn::new(Op::Repeat, index, count, 0).to(-6),
        // It is 0, 4 and 8.
        Insn::with_imm(Op::ChkI, sum, 13),
        Insn::new(Op::End, 0, 0, 0),
    ];
    let main = Function { name: 0, first: 0, count: code.len() as u32, slots: 16 };
    let program = verified(Module { code, functions: vec![main], ..Module::default() });
    let ended = same(&program, || Paper::new("", 5), (1 << 16, 0), "two ways");
    assert_eq!(ended, Some(Ok(())));
}

/// Behind the 17th of nested loops, of which nothing is known, a product that may be too large: of 200 none is, of 250
/// it is.
#[test]
fn a_product_behind_the_deepest_loop_does_the_same() {
    const DEEPEST: usize = 17;
    for highest in [200, 250] {
        let mut text = format!(
            "PROC main (CHAN BYTE keyboard?, screen!, error!)
  [8]BYTE level:
  INT x, sum:
  SEQ
    SEQ i = 0 FOR 8
      level[i] := BYTE {highest}
    sum := 0
"
        );
        for depth in 0..DEEPEST - 1 {
            let indent = "  ".repeat(2 + depth);
            text.push_str(&format!("{indent}SEQ i{depth} = 0 FOR 1 + ({depth} / {})\n", DEEPEST - 2));
        }
        let indent = "  ".repeat(1 + DEEPEST);
        text.push_str(&format!(
            "{indent}SEQ
{indent}  SEQ last = 0 FOR 2
{indent}    sum := sum >< last
{indent}  x := 10000000 * (INT level[sum /\\ 7])
{indent}  sum := sum >< (x /\\ 1)
    screen ! BYTE (sum /\\ 127)
:
"
        ));
        let program = verified(module_of(&text).expect("it is a program"));
        let ended = same(&program, || Paper::new("", 100_000), (1 << 16, 0), &format!("deep, of {highest}"));
        assert_eq!(ended.map(|it| it.is_ok()), Some(highest == 200), "of {highest}");
    }
}
