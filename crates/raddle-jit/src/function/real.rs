//! Owns: arithmetic on real numbers.
//! May use: `mistakes`, `operands`, `cranelift-codegen`, `raddle-bytecode`.
//! Never: a result that differs from the interpreter's in a bit: where one could, the interpreter does it.

use super::Translation;
use crate::mistakes::{RangeMistake, makes};
use crate::operands::ValueClass;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder as _, MemFlagsData, Type, Value, types};
use raddle_bytecode::{Insn, Op};

impl Translation<'_, '_> {
    /// Translates an instruction on reals; false if it is none.
    pub(super) fn real(&mut self, insn: Insn) -> bool {
        self.real_arithmetic(insn) || self.real_comparison(insn) || self.conversion(insn)
    }

    fn real_arithmetic(&mut self, insn: Insn) -> bool {
        let class = match insn.op {
            Op::AddF | Op::SubF | Op::MulF | Op::DivF | Op::NegF | Op::FnF => ValueClass::Real,
            Op::AddD | Op::SubD | Op::MulD | Op::DivD | Op::NegD | Op::FnD => ValueClass::Double,
            _ => return false,
        };
        let left = self.read((insn.b, class));
        let value = match insn.op {
            Op::NegF | Op::NegD => self.ins.ins().fneg(left),
            Op::FnF | Op::FnD if insn.c == 0 => self.ins.ins().fabs(left),
            Op::FnF | Op::FnD => {
                let root = self.ins.ins().sqrt(left);
                // Which bits a NaN has is the interpreter's business.
                let is_number = self.ins.ins().fcmp(FloatCC::Ordered, root, root);
                self.leave_unless(is_number);
                self.routine_cost();
                root
            }
            _ => {
                let right = self.read((insn.c, class));
                let value = match insn.op {
                    Op::AddF | Op::AddD => self.ins.ins().fadd(left, right),
                    Op::SubF | Op::SubD => self.ins.ins().fsub(left, right),
                    Op::MulF | Op::MulD => self.ins.ins().fmul(left, right),
                    _ => self.ins.ins().fdiv(left, right),
                };
                // By what is infinite one can divide.
                let is_quotient = matches!(insn.op, Op::DivF | Op::DivD) && !makes(RangeMistake::Divisor);
                self.note_made_of(value, [left, if is_quotient { left } else { right }]);
                value
            }
        };
        if matches!(insn.op, Op::FnF | Op::FnD) && insn.c == 0 {
            self.routine_cost();
        }
        self.write((insn.a, class), value);
        true
    }

    fn real_comparison(&mut self, insn: Insn) -> bool {
        let (class, relation) = match insn.op {
            Op::EqF => (ValueClass::Real, FloatCC::Equal),
            Op::NeF => (ValueClass::Real, FloatCC::NotEqual),
            Op::LtF => (ValueClass::Real, FloatCC::LessThan),
            Op::LeF => (ValueClass::Real, FloatCC::LessThanOrEqual),
            Op::EqD => (ValueClass::Double, FloatCC::Equal),
            Op::NeD => (ValueClass::Double, FloatCC::NotEqual),
            Op::LtD => (ValueClass::Double, FloatCC::LessThan),
            Op::LeD => (ValueClass::Double, FloatCC::LessThanOrEqual),
            _ => return false,
        };
        let (left, right) = (self.read((insn.b, class)), self.read((insn.c, class)));
        let bit = self.ins.ins().fcmp(relation, left, right);
        let word = self.ins.ins().uextend(types::I32, bit);
        self.set_word(insn.a, word);
        true
    }

    fn conversion(&mut self, insn: Insn) -> bool {
        let (class, value) = match insn.op {
            Op::WtoF | Op::WtoD => {
                let word = self.word_at(insn.b);
                let class = if insn.op == Op::WtoF { ValueClass::Real } else { ValueClass::Double };
                (class, self.ins.ins().fcvt_from_sint(real_type(class), word))
            }
            Op::LtoF | Op::LtoD => {
                let long = self.read((insn.b, ValueClass::Long));
                let class = if insn.op == Op::LtoF { ValueClass::Real } else { ValueClass::Double };
                (class, self.ins.ins().fcvt_from_sint(real_type(class), long))
            }
            Op::FtoD => {
                let real = self.read((insn.b, ValueClass::Real));
                (ValueClass::Double, self.ins.ins().fpromote(types::F64, real))
            }
            Op::DtoF => (ValueClass::Real, self.narrow(insn)),
            Op::FtoW | Op::DtoW => (ValueClass::Word, self.whole(insn, types::I32, 31)),
            Op::FtoL | Op::DtoL => (ValueClass::Long, self.whole(insn, types::I64, 63)),
            Op::ChkF | Op::ChkD => {
                let class = if insn.op == Op::ChkF { ValueClass::Real } else { ValueClass::Double };
                let value = self.read((insn.a, class));
                if !self.check_later(value) {
                    self.leave_unless_finite(value);
                }
                return true;
            }
            _ => return false,
        };
        self.write((insn.a, class), value);
        true
    }

    pub(super) fn leave_unless_finite(&mut self, value: Value) {
        let is_none = self.is_no_finite_number(value);
        self.leave_if(is_none);
    }

    pub(super) fn is_no_finite_number(&mut self, value: Value) -> Value {
        let wide = self.ins.func.dfg.value_type(value) == types::F64;
        if wide {
            let bits = self.ins.ins().bitcast(types::I64, MemFlagsData::new(), value);
            let exponent = self.ins.ins().iconst(types::I64, 0x7ff0_0000_0000_0000);
            let masked = self.ins.ins().band(bits, exponent);
            self.ins.ins().icmp(IntCC::Equal, masked, exponent)
        } else {
            let bits = self.ins.ins().bitcast(types::I32, MemFlagsData::new(), value);
            let exponent = self.ins.ins().iconst(types::I32, 0x7f80_0000);
            let masked = self.ins.ins().band(bits, exponent);
            self.ins.ins().icmp(IntCC::Equal, masked, exponent)
        }
    }

    /// REAL64 to REAL32, the nearest one.
    fn narrow(&mut self, insn: Insn) -> Value {
        let value = self.read((insn.b, ValueClass::Double));
        let near = self.ins.ins().fdemote(types::F32, value);
        // Infinite, or too large, or no number: the interpreter knows what that is.
        self.is_unproven();
        self.leave_unless_finite(near);
        near
    }

    /// The whole number that is nearest, or nearest towards zero; leaves if it does not fit.
    fn whole(&mut self, insn: Insn, ty: Type, bits: i32) -> Value {
        let value = if matches!(insn.op, Op::FtoW | Op::FtoL) {
            let real = self.read((insn.b, ValueClass::Real));
            self.ins.ins().fpromote(types::F64, real)
        } else {
            self.read((insn.b, ValueClass::Double))
        };
        let rounded = if insn.c == 0 { self.ins.ins().nearest(value) } else { self.ins.ins().trunc(value) };
        let limit = 2_f64.powi(bits);
        let (low, high) = (self.ins.ins().f64const(-limit), self.ins.ins().f64const(limit));
        let fits_low = self.ins.ins().fcmp(FloatCC::GreaterThanOrEqual, rounded, low);
        self.leave_unless(fits_low);
        let fits_high = self.ins.ins().fcmp(FloatCC::LessThan, rounded, high);
        self.leave_unless(fits_high);
        self.ins.ins().fcvt_to_sint_sat(ty, rounded)
    }
}

fn real_type(class: ValueClass) -> Type {
    if class == ValueClass::Real { types::F32 } else { types::F64 }
}
