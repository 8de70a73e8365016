//! Owns: the instructions of operators.
//! May use: `program`, `raddle-bytecode`, `raddle-occam-syntax`.
//! Never: lowers comparisons that only choose a way; `branch` does.

use super::shape::Class;
use super::{Lowerer, Slot};
use crate::ast::{Dyadic, ExprId, Monadic};
use crate::operator::{Immediate, MonadicLowering, Narrow};
use crate::program::NameId;
use raddle_bytecode::{Insn, Trap};

impl Lowerer<'_> {
    pub(super) fn monadic(&mut self, expr: ExprId, operator: Monadic, value: ExprId, to: Slot) {
        if self.program.name_of(expr) != NameId::NONE {
            return self.user_operator(expr, &[value], to);
        }
        let class = self.class(expr);
        let from = self.scalar(value);
        match operator.row().lowering {
            MonadicLowering::Direct { word, long, reals, narrow } => {
                let op = match class {
                    Class::Long | Class::ULong => long,
                    Class::Real => reals.map(|(single, _)| single),
                    Class::Double => reals.map(|(_, double)| double),
                    _ => Some(word),
                };
                self.f.code.push(Insn::new(op.unwrap_or(word), to, from, 0));
                self.keep_in_range(narrow, to, class);
            }
            MonadicLowering::FromZero(operator) => {
                let zero = self.slots(class.slots());
                self.load_bits(zero, class, 0);
                self.apply(operator, class, to, zero, from);
            }
            MonadicLowering::Elsewhere => {}
        }
    }

    /// Keeps a result of a narrow class in its range.
    fn keep_in_range(&mut self, narrow: Narrow, slot: Slot, class: Class) {
        match narrow {
            Narrow::Keep => {}
            Narrow::Check => self.check_range(slot, class),
            Narrow::Wrap | Narrow::ShiftLeft | Narrow::ShiftRight | Narrow::After => self.wrap(slot, class),
        }
    }

    /// Traps if what stands in the slot is not of a narrow class.
    pub(super) fn check_range(&mut self, slot: Slot, class: Class) {
        match class {
            Class::Byte => self.f.code.chk_b(slot, slot),
            Class::Half => self.f.code.chk_h(slot, slot),
            Class::UHalf => self.must_fit(slot, Class::Word, 16, Trap::Overflow),
            Class::Bool => self.f.code.chk_bool(slot, slot),
            _ => {}
        }
    }

    /// Brings what stands in the slot into the range of a narrow class.
    pub(super) fn wrap(&mut self, slot: Slot, class: Class) {
        match class {
            Class::Byte | Class::Bool => self.f.code.wrap_b(slot, slot),
            Class::Half => self.f.code.wrap_h(slot, slot),
            Class::UHalf => self.low_half(slot, slot),
            _ => {}
        }
    }

    pub(super) fn dyadic(&mut self, expr: ExprId, operator: Dyadic, left: ExprId, right: ExprId, to: Slot) {
        if self.program.name_of(expr) != NameId::NONE {
            return self.user_operator(expr, &[left, right], to);
        }
        let row = operator.row();
        if let Some(decider) = row.decided_by {
            return self.short_circuit(decider, left, right, to);
        }
        if let Some(immediate) = row.lowering.immediate
            && self.class(expr) == Class::Word
            && self.with_constant(immediate, left, right, to)
        {
            return;
        }
        let class = self.class(left);
        let a = self.scalar(left);
        let b = self.scalar(right);
        self.apply(operator, class, to, a, b);
        if operator.row().lowering.relation.is_none() && !self.is_predefined(expr) {
            self.must_be_finite(to, class);
        }
    }

    /// An infinity or a NaN is no result of an operator; that of REAL32OP and its like, which are written in occam, it
    /// may be.
    fn must_be_finite(&mut self, slot: Slot, class: Class) {
        match class {
            Class::Real => self.f.code.chk_f(slot),
            Class::Double => self.f.code.chk_d(slot),
            _ => {}
        }
    }

    fn is_predefined(&self, expr: ExprId) -> bool {
        let place = self.sources.place(self.ast.expr(expr).span.lo);
        place.is_some_and(|place| place.file == crate::library::PREDEFINED_NAME)
    }

    /// `a + 1`, `7 /\ a` and their like, in one instruction.
    fn with_constant(&mut self, immediate: Immediate, left: ExprId, right: ExprId, to: Slot) -> bool {
        let small = |value: Option<i64>| value.and_then(|value| i16::try_from(value).ok());
        let (operand, constant) = match (immediate.negated, small(self.fold(left)), small(self.fold(right))) {
            (false, _, Some(constant)) => (left, constant),
            (false, Some(constant), None) => (right, constant),
            (true, _, Some(constant)) if constant > i16::MIN => (left, -constant),
            _ => return false,
        };
        let from = self.scalar(operand);
        self.f.code.push(Insn::new(immediate.op, to, from, constant as u16));
        true
    }

    /// AND and OR look at their right side only where the left leaves it open.
    fn short_circuit(&mut self, decider: bool, left: ExprId, right: ExprId, to: Slot) {
        // The result's slot may be read by the right side, so it is written last.
        let result = self.slot();
        let done = self.f.code.label();
        self.scalar_into(left, result);
        match decider {
            false => self.f.code.jz(result, done),
            true => self.f.code.jnz(result, done),
        }
        self.scalar_into(right, result);
        self.f.code.bind(done);
        self.f.code.mov(to, result);
    }

    /// `to := a operator b`.
    pub(super) fn apply(&mut self, operator: Dyadic, class: Class, to: Slot, a: Slot, b: Slot) {
        let lowering = operator.row().lowering;
        if self.unsigned(operator, class, to, a, b) {
            return;
        }
        let op = match class {
            Class::Long | Class::ULong => Some(lowering.long),
            Class::Real => lowering.reals.map(|(single, _)| single),
            Class::Double => lowering.reals.map(|(_, double)| double),
            _ => Some(lowering.word),
        };
        // The checker lets no real to an operator that has none.
        let Some(op) = op else { return };
        let (mut a, b) = if lowering.swapped { (b, a) } else { (a, b) };
        let bits = match class {
            Class::Byte => 8,
            Class::Half | Class::UHalf => 16,
            _ => 32,
        };
        match lowering.narrow {
            Narrow::After if matches!(class, Class::Half | Class::UHalf | Class::Byte | Class::Bool) => {
                return self.after(class, to, a, b);
            }
            Narrow::ShiftLeft | Narrow::ShiftRight if bits < 32 => self.f.code.chk_shift(b, bits),
            _ => {}
        }
        if lowering.narrow == Narrow::ShiftRight && class == Class::Half {
            let mask = self.slot();
            self.f.code.ldi(mask, 0xFFFF);
            self.f.code.and(mask, a, mask);
            a = mask;
        }
        self.f.code.push(Insn::new(op, to, a, b));
        self.keep_in_range(lowering.narrow, to, class);
    }

    fn after(&mut self, class: Class, to: Slot, a: Slot, b: Slot) {
        let (distance, zero) = (self.slot(), self.slot());
        self.f.code.minus(distance, a, b);
        self.wrap(distance, if class == Class::UHalf { Class::Half } else { class });
        self.f.code.ldi(zero, 0);
        self.f.code.lt(zero, zero, distance);
        if class == Class::Byte {
            self.f.code.lt_i(distance, distance, 128);
            self.f.code.and(zero, zero, distance);
        }
        self.f.code.mov(to, zero);
    }
}
