//! Owns: arithmetic on 64 bits, and between widths.
//! May use: `operands`, `cranelift-codegen`, `raddle-bytecode`.
//! Never: a trap; what goes wrong leaves to the interpreter.

use super::Translation;
use crate::operands::ValueClass;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder as _, Value, types};
use raddle_bytecode::{Insn, Op};

impl Translation<'_, '_> {
    fn long_at(&mut self, slot: u16) -> Value {
        self.read((slot, ValueClass::Long))
    }

    fn set_long(&mut self, slot: u16, value: Value) {
        self.write((slot, ValueClass::Long), value);
    }

    /// Translates an instruction on 64 bits; false if it is none.
    pub(super) fn long(&mut self, insn: Insn) -> bool {
        self.long_checked(insn) || self.long_plain(insn) || self.long_comparison(insn)
    }

    fn long_checked(&mut self, insn: Insn) -> bool {
        let value = match insn.op {
            Op::AddL | Op::SubL | Op::MulL => {
                let (left, right) = (self.long_at(insn.b), self.long_at(insn.c));
                let op = match insn.op {
                    Op::AddL => Op::Add,
                    Op::SubL => Op::Sub,
                    _ => Op::Mul,
                };
                self.checked(op, left, right)
            }
            Op::NegL => {
                let right = self.long_at(insn.b);
                let zero = self.ins.ins().iconst(types::I64, 0);
                self.checked(Op::Sub, zero, right)
            }
            Op::DivL | Op::RemL => {
                let (left, right) = (self.long_at(insn.b), self.long_at(insn.c));
                // By -1 the interpreter divides most.
                self.is_unproven();
                let one_more = self.ins.ins().iadd_imm_s(right, 1);
                self.leave_if_word(IntCC::UnsignedLessThanOrEqual, one_more, 1);
                match insn.op {
                    Op::DivL => self.ins.ins().sdiv(left, right),
                    _ => self.ins.ins().srem(left, right),
                }
            }
            Op::ShlL | Op::ShrL => {
                let (value, places) = (self.long_at(insn.b), self.word_at(insn.c));
                self.leave_if_word(IntCC::UnsignedGreaterThan, places, 64);
                let shifted = match insn.op {
                    Op::ShlL => self.ins.ins().ishl(value, places),
                    _ => self.ins.ins().ushr(value, places),
                };
                let zero = self.ins.ins().iconst(types::I64, 0);
                let all = self.ins.ins().icmp_imm_s(IntCC::Equal, places, 64);
                self.ins.ins().select(all, zero, shifted)
            }
            _ => return false,
        };
        self.set_long(insn.a, value);
        true
    }

    fn long_plain(&mut self, insn: Insn) -> bool {
        let value = match insn.op {
            Op::LdiL => self.ins.ins().iconst(types::I64, i64::from(insn.imm())),
            Op::Pool => {
                let bits = self.common.module.pool[insn.imm() as usize];
                self.ins.ins().iconst(types::I64, bits as i64)
            }
            // As a register has it: it may be a real.
            Op::MovL => self.read_as_held((insn.b, ValueClass::Long)),
            Op::NotL => {
                let value = self.long_at(insn.b);
                self.ins.ins().bnot(value)
            }
            Op::WtoL => {
                let value = self.word_at(insn.b);
                self.ins.ins().sextend(types::I64, value)
            }
            Op::PlusL | Op::MinusL | Op::TimesL | Op::AndL | Op::OrL | Op::XorL => {
                let (left, right) = (self.long_at(insn.b), self.long_at(insn.c));
                match insn.op {
                    Op::PlusL => self.ins.ins().iadd(left, right),
                    Op::MinusL => self.ins.ins().isub(left, right),
                    Op::TimesL => self.ins.ins().imul(left, right),
                    Op::AndL => self.ins.ins().band(left, right),
                    Op::OrL => self.ins.ins().bor(left, right),
                    _ => self.ins.ins().bxor(left, right),
                }
            }
            Op::LtoW => {
                let value = self.long_at(insn.b);
                let word = self.ins.ins().ireduce(types::I32, value);
                let back = self.ins.ins().sextend(types::I64, word);
                let differs = self.ins.ins().icmp(IntCC::NotEqual, back, value);
                self.leave_if(differs);
                self.set_word(insn.a, word);
                return true;
            }
            _ => return false,
        };
        self.set_long(insn.a, value);
        true
    }

    fn long_comparison(&mut self, insn: Insn) -> bool {
        let relation = match insn.op {
            Op::EqL => IntCC::Equal,
            Op::NeL => IntCC::NotEqual,
            Op::LtL => IntCC::SignedLessThan,
            Op::LeL => IntCC::SignedLessThanOrEqual,
            Op::AfterL => IntCC::SignedGreaterThan,
            _ => return false,
        };
        let (left, right) = (self.long_at(insn.b), self.long_at(insn.c));
        let bit = if insn.op == Op::AfterL {
            let distance = self.ins.ins().isub(left, right);
            self.ins.ins().icmp_imm_s(relation, distance, 0)
        } else {
            self.ins.ins().icmp(relation, left, right)
        };
        let word = self.ins.ins().uextend(types::I32, bit);
        self.set_word(insn.a, word);
        true
    }
}
