//! Owns: arithmetic on words.
//! May use: `mistakes`, `operands`, `cranelift-codegen`, `raddle-bytecode`.
//! Never: a trap; what goes wrong leaves to the interpreter.

use super::Translation;
use super::ranges::Range;
use crate::mistakes::{RangeMistake, makes};
use crate::operands::ValueClass;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder as _, Value, types};
use raddle_bytecode::{Insn, Op};

impl Translation<'_, '_> {
    /// Translates an instruction on words; false if it is none.
    pub(super) fn word(&mut self, insn: Insn) -> bool {
        self.word_checked(insn) || self.word_plain(insn) || self.word_check(insn)
    }

    /// Results that may not fit.
    fn word_checked(&mut self, insn: Insn) -> bool {
        let half = i64::from(insn.c as i16);
        let value = match insn.op {
            Op::Add | Op::Sub | Op::Mul => {
                let (left, right) = (self.word_at(insn.b), self.word_at(insn.c));
                self.checked_word(insn.op, left, right)
            }
            Op::AddI => {
                let left = self.word_at(insn.b);
                let more = self.ins.ins().iconst(types::I32, i64::from(half as u32));
                let sum = self.ins.ins().iadd(left, more);
                let range = Range::of(Op::Add, self.range(left), Range::new(half, half));
                if !self.is_proved(range, Range::WORD)
                    && !self.is_proved_to_fit(left, half as i32)
                    && !self.is_spanned(sum, [left, more])
                {
                    // A comparison and a jump are one instruction of the processor; an addition's flag is fetched
                    // first.
                    let wraps = if half >= 0 { IntCC::SignedLessThan } else { IntCC::SignedGreaterThan };
                    let overflows = self.ins.ins().icmp(wraps, sum, left);
                    self.leave_if(overflows);
                }
                self.note_sum(sum, left, half);
                self.note_range(sum, range);
                self.note_span(sum, [left, more]);
                sum
            }
            Op::MulI => {
                let left = self.word_at(insn.b);
                let right = self.ins.ins().iconst(types::I32, half);
                self.checked_word(Op::Mul, left, right)
            }
            Op::Neg => {
                let right = self.word_at(insn.b);
                let zero = self.ins.ins().iconst(types::I32, 0);
                self.checked_word(Op::Sub, zero, right)
            }
            Op::Div | Op::Rem => {
                let (left, right) = (self.word_at(insn.b), self.word_at(insn.c));
                self.quotient(insn.op, left, right)
            }
            Op::Shl | Op::Shr => {
                let (value, places) = (self.word_at(insn.b), self.word_at(insn.c));
                if !self.is_proved_within(places, Range::new(0, 32)) {
                    self.leave_if_word(IntCC::UnsignedGreaterThan, places, 32);
                }
                let wide = self.ins.ins().uextend(types::I64, value);
                let shifted = match insn.op {
                    Op::Shl => self.ins.ins().ishl(wide, places),
                    _ => self.ins.ins().ushr(wide, places),
                };
                self.ins.ins().ireduce(types::I32, shifted)
            }
            _ => return false,
        };
        self.set_word(insn.a, value);
        true
    }

    /// The quotient or the remainder; leaves where what divides is 0 or -1.
    fn quotient(&mut self, op: Op, left: Value, right: Value) -> Value {
        let (dividend, divisor) = (self.range(left), self.range(right));
        let is_proved = !divisor.has(0) && !divisor.has(-1);
        self.checks.left_out += u64::from(is_proved);
        if !is_proved {
            // By -1 the interpreter divides most.
            if !makes(RangeMistake::Certain) {
                self.is_unproven();
            }
            let one_more = self.ins.ins().iadd_imm_s(right, 1);
            self.leave_if_word(IntCC::UnsignedLessThanOrEqual, one_more, 1);
        }
        let has_no_signs = dividend.low >= 0 && divisor.low > 0;
        let value = match (op, has_no_signs) {
            (Op::Div, true) => self.ins.ins().udiv(left, right),
            (Op::Div, false) => self.ins.ins().sdiv(left, right),
            (_, true) => self.ins.ins().urem(left, right),
            (_, false) => self.ins.ins().srem(left, right),
        };
        let range = match op {
            // What divides is 1 or more, or -2 or less.
            Op::Div => {
                Range::new(dividend.low.min(-dividend.high).min(0), dividend.high.max(-dividend.low).max(0))
            }
            _ => Range::of_remainder(dividend, divisor),
        };
        self.note_range(value, range);
        if op == Op::Div && self.constant_of(right).is_some_and(|divisor| divisor > 0) {
            self.note_span(value, [left, right]);
        }
        value
    }

    /// `left` op `right` of words, which leaves where it does not fit.
    fn checked_word(&mut self, op: Op, left: Value, right: Value) -> Value {
        let range = Range::of(op, self.range(left), self.range(right));
        let is_proved = self.is_proved(range, Range::WORD);
        if !is_proved && !self.have_spans([left, right]) {
            if self.sums_are_checked_later(op) {
                return self.sum_checked_later(op, left, right);
            }
            let value = self.checked(op, left, right);
            self.note_range(value, range);
            return value;
        }
        let value = self.unchecked(op, left, right);
        match is_proved {
            true => self.note_span(value, [left, right]),
            false => self.rely_on_span(value, [left, right]),
        }
        self.note_range(value, range);
        value
    }

    /// `left` op `right`, cut to so many bits as they have.
    pub(super) fn unchecked(&mut self, op: Op, left: Value, right: Value) -> Value {
        match op {
            Op::Add => self.ins.ins().iadd(left, right),
            Op::Sub => self.ins.ins().isub(left, right),
            _ => self.ins.ins().imul(left, right),
        }
    }

    /// `left` op `right`, which leaves where it does not fit.
    pub(super) fn checked(&mut self, op: Op, left: Value, right: Value) -> Value {
        let (value, overflows) = self.with_overflow(op, left, right);
        self.leave_if(overflows);
        value
    }

    /// `left` op `right`, and whether it does not fit.
    pub(super) fn with_overflow(&mut self, op: Op, left: Value, right: Value) -> (Value, Value) {
        match op {
            Op::Add => self.ins.ins().sadd_overflow(left, right),
            Op::Sub => self.ins.ins().ssub_overflow(left, right),
            _ => self.ins.ins().smul_overflow(left, right),
        }
    }

    /// Results that always are.
    fn word_plain(&mut self, insn: Insn) -> bool {
        let imm = i64::from(insn.imm());
        let value = match insn.op {
            Op::Nop => return true,
            Op::Mov => {
                // As a register has it: it may be a real.
                let value = self.read_as_held((insn.b, ValueClass::Word));
                self.set_word(insn.a, value);
                return true;
            }
            Op::Ldi => self.ins.ins().iconst(types::I32, i64::from(imm as u32)),
            Op::Par => self.ins.ins().iconst(types::I32, imm + 1),
            Op::Addr => self.frame_address(insn.imm()),
            Op::Data => {
                let address = self.common.data.wrapping_add(insn.imm() as u32);
                self.ins.ins().iconst(types::I32, i64::from(address))
            }
            Op::Plus | Op::Minus | Op::Times | Op::And | Op::Or | Op::Xor => {
                let (left, right) = (self.word_at(insn.b), self.word_at(insn.c));
                match insn.op {
                    Op::Plus => self.ins.ins().iadd(left, right),
                    Op::Minus => self.ins.ins().isub(left, right),
                    Op::Times => self.ins.ins().imul(left, right),
                    Op::And => self.and(left, right),
                    Op::Or => self.ins.ins().bor(left, right),
                    _ => self.ins.ins().bxor(left, right),
                }
            }
            Op::PlusI | Op::AndI | Op::Not | Op::NotBool | Op::WrapH | Op::WrapB => self.word_of_one(insn),
            Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::EqI | Op::LtI | Op::After => self.comparison(insn),
            _ => return false,
        };
        self.set_word(insn.a, value);
        true
    }

    fn and(&mut self, left: Value, right: Value) -> Value {
        let (one, other) = (self.range(left), self.range(right));
        let value = self.ins.ins().band(left, right);
        // Of two numbers without a sign it is no more than the lesser one, and of one, than that.
        let highs = [one, other].into_iter().filter(|range| range.low >= 0).map(|range| range.high);
        if let Some(high) = highs.min() {
            self.note_range(value, Range::new(0, high));
        }
        value
    }

    fn word_of_one(&mut self, insn: Insn) -> Value {
        let half = i64::from(insn.c as i16);
        let value = self.word_at(insn.b);
        match insn.op {
            Op::PlusI => {
                let sum = self.ins.ins().iadd_imm_s(value, half);
                self.note_sum(sum, value, half);
                sum
            }
            Op::AndI => {
                let result = self.ins.ins().band_imm_s(value, half);
                if half >= 0 {
                    self.note_range(result, Range::new(0, half));
                }
                result
            }
            Op::Not => self.ins.ins().bnot(value),
            Op::NotBool => self.ins.ins().bxor_imm_s(value, 1),
            Op::WrapB => {
                let result = self.ins.ins().band_imm_s(value, 0xff);
                self.note_range(result, Range::BYTE);
                result
            }
            _ => self.narrow_half(value),
        }
    }

    /// The low 16 bits, sign-extended.
    fn narrow_half(&mut self, value: Value) -> Value {
        let half = self.ins.ins().ireduce(types::I16, value);
        self.ins.ins().sextend(types::I32, half)
    }

    fn comparison(&mut self, insn: Insn) -> Value {
        let left = self.word_at(insn.b);
        let half = i64::from(insn.c as i16);
        let bit = match insn.op {
            Op::EqI => self.ins.ins().icmp_imm_s(IntCC::Equal, left, half),
            Op::LtI => self.ins.ins().icmp_imm_s(IntCC::SignedLessThan, left, half),
            Op::After => {
                let right = self.word_at(insn.c);
                let distance = self.ins.ins().isub(left, right);
                self.ins.ins().icmp_imm_s(IntCC::SignedGreaterThan, distance, 0)
            }
            _ => {
                let right = self.word_at(insn.c);
                let relation = match insn.op {
                    Op::Eq => IntCC::Equal,
                    Op::Ne => IntCC::NotEqual,
                    Op::Lt => IntCC::SignedLessThan,
                    _ => IntCC::SignedLessThanOrEqual,
                };
                self.ins.ins().icmp(relation, left, right)
            }
        };
        let word = self.ins.ins().uextend(types::I32, bit);
        self.note_range(word, Range::BIT);
        word
    }

    /// Leaves unless it is a number from 0 to that one.
    fn leave_unless_within(&mut self, value: Value, most: i64) {
        if !self.is_proved_within(value, Range::new(0, most)) {
            self.leave_if_word(IntCC::UnsignedGreaterThan, value, most);
        }
    }

    /// Checks of values.
    fn word_check(&mut self, insn: Insn) -> bool {
        match insn.op {
            Op::ChkH | Op::ChkB | Op::ChkBool => {
                let value = self.word_at(insn.b);
                match insn.op {
                    Op::ChkH => {
                        if !self.is_proved_within(value, Range::HALF) {
                            let narrow = self.narrow_half(value);
                            let differs = self.ins.ins().icmp(IntCC::NotEqual, narrow, value);
                            self.leave_if(differs);
                        }
                    }
                    Op::ChkB => self.leave_unless_within(value, 255),
                    _ => self.leave_unless_within(value, 1),
                }
                self.set_word(insn.a, value);
            }
            Op::ChkI => {
                let value = self.word_at(insn.a);
                let limit = self.ins.ins().iconst(types::I32, i64::from(insn.imm() as u32));
                self.check_below(value, limit);
            }
            Op::ChkShift | Op::ChkCount => {
                let value = self.word_at(insn.a);
                if insn.op == Op::ChkShift {
                    self.leave_unless_within(value, i64::from(insn.imm() as u32));
                } else if !self.is_proved_within(value, Range::new(0, Range::WORD.high)) {
                    self.leave_if_word(IntCC::SignedLessThan, value, 0);
                }
            }
            Op::Chk => {
                let (index, count) = (self.word_at(insn.a), self.word_at(insn.b));
                self.check_below(index, count);
            }
            Op::ChkSize => {
                let (left, right) = (self.word_at(insn.a), self.word_at(insn.b));
                let condition = self.ins.ins().icmp(IntCC::NotEqual, left, right);
                self.leave_if(condition);
            }
            Op::ChkSlice => {
                let (from, count, all) = (self.word_at(insn.a), self.word_at(insn.b), self.word_at(insn.c));
                let long = self.ins.ins().icmp(IntCC::UnsignedGreaterThan, count, all);
                self.leave_if(long);
                let room = self.ins.ins().isub(all, count);
                let far = self.ins.ins().icmp(IntCC::UnsignedGreaterThan, from, room);
                self.leave_if(far);
            }
            _ => return false,
        }
        true
    }
}
