//! Owns: the instructions of operators.
//! May use: the builder.
//! Never: lowers comparisons that only choose a way; `branch` does.

use super::shape::Class;
use super::{Lowerer, Slot};
use crate::ast::{Dyadic, ExprId, Monadic};
use crate::program::NameId;

impl Lowerer<'_> {
    pub(super) fn monadic(&mut self, expr: ExprId, operator: Monadic, value: ExprId, to: Slot) {
        if self.program.name_of(expr) != NameId::NONE {
            return self.user_operator(expr, &[value], to);
        }
        let class = self.class(expr);
        let from = self.scalar(value);
        let code = &mut self.f.code;
        match (operator, class) {
            (Monadic::Not, _) => code.not_bool(to, from),
            (Monadic::Minus, Class::Real) => code.neg_f(to, from),
            (Monadic::Minus, Class::Double) => code.neg_d(to, from),
            (Monadic::Minus, Class::Long) => code.neg_l(to, from),
            (Monadic::Minus, _) => {
                code.neg(to, from);
                self.check_range(to, class);
            }
            (Monadic::MinusWrapping, Class::Long) => {
                let zero = self.slots(2);
                self.f.code.ldi_l(zero, 0);
                self.f.code.minus_l(to, zero, from);
            }
            (Monadic::MinusWrapping, _) => {
                let zero = self.slot();
                self.f.code.ldi(zero, 0);
                self.f.code.minus(to, zero, from);
                self.wrap(to, class);
            }
            (Monadic::BitNot, Class::Long) => code.not_l(to, from),
            (Monadic::BitNot | Monadic::Size, _) => {
                code.not(to, from);
                self.wrap(to, class);
            }
        }
    }

    /// Traps if what stands in the slot is not of a narrow class.
    pub(super) fn check_range(&mut self, slot: Slot, class: Class) {
        match class {
            Class::Byte => self.f.code.chk_b(slot, slot),
            Class::Half => self.f.code.chk_h(slot, slot),
            Class::Bool => self.f.code.chk_bool(slot, slot),
            _ => {}
        }
    }

    /// Brings what stands in the slot into the range of a narrow class.
    pub(super) fn wrap(&mut self, slot: Slot, class: Class) {
        match class {
            Class::Byte | Class::Bool => self.f.code.wrap_b(slot, slot),
            Class::Half => self.f.code.wrap_h(slot, slot),
            _ => {}
        }
    }

    pub(super) fn dyadic(&mut self, expr: ExprId, operator: Dyadic, left: ExprId, right: ExprId, to: Slot) {
        if self.program.name_of(expr) != NameId::NONE {
            return self.user_operator(expr, &[left, right], to);
        }
        match operator {
            Dyadic::And | Dyadic::Or => return self.short_circuit(operator, left, right, to),
            Dyadic::Add | Dyadic::Subtract | Dyadic::Plus | Dyadic::Minus
                if self.class(expr) == Class::Word && self.add_constant(operator, left, right, to) =>
            {
                return;
            }
            Dyadic::BitAnd | Dyadic::Multiply
                if self.class(expr) == Class::Word && self.by_constant(operator, left, right, to) =>
            {
                return;
            }
            _ => {}
        }
        let class = self.class(left);
        let a = self.scalar(left);
        let b = self.scalar(right);
        self.apply(operator, class, to, a, b);
    }

    /// `a + 1` and its like, in one instruction.
    fn add_constant(&mut self, operator: Dyadic, left: ExprId, right: ExprId, to: Slot) -> bool {
        let small = |value: Option<i64>| value.and_then(|value| i16::try_from(value).ok());
        let (operand, constant) = match (operator, small(self.fold(left)), small(self.fold(right))) {
            (Dyadic::Add | Dyadic::Plus, _, Some(constant)) => (left, i32::from(constant)),
            (Dyadic::Add | Dyadic::Plus, Some(constant), _) => (right, i32::from(constant)),
            (_, _, Some(constant)) if constant > i16::MIN => (left, -i32::from(constant)),
            _ => return false,
        };
        let from = self.scalar(operand);
        match operator {
            Dyadic::Plus | Dyadic::Minus => self.f.code.plus_i(to, from, constant),
            _ => self.f.code.add_i(to, from, constant),
        }
        true
    }

    /// `a /\ 7` and `a * 7`, in one instruction.
    fn by_constant(&mut self, operator: Dyadic, left: ExprId, right: ExprId, to: Slot) -> bool {
        let small = |value: Option<i64>| value.and_then(|value| i16::try_from(value).ok()).map(i32::from);
        let (operand, constant) = match (small(self.fold(left)), small(self.fold(right))) {
            (_, Some(constant)) => (left, constant),
            (Some(constant), _) => (right, constant),
            _ => return false,
        };
        let from = self.scalar(operand);
        match operator {
            Dyadic::BitAnd => self.f.code.and_i(to, from, constant),
            _ => self.f.code.mul_i(to, from, constant),
        }
        true
    }

    /// AND and OR look at their right side only where the left leaves it open.
    fn short_circuit(&mut self, operator: Dyadic, left: ExprId, right: ExprId, to: Slot) {
        // The result's slot may be read by the right side, so it is written last.
        let result = self.slot();
        let done = self.f.code.label();
        self.scalar_into(left, result);
        match operator {
            Dyadic::And => self.f.code.jz(result, done),
            _ => self.f.code.jnz(result, done),
        }
        self.scalar_into(right, result);
        self.f.code.bind(done);
        self.f.code.mov(to, result);
    }

    /// `to := a operator b`.
    pub(super) fn apply(&mut self, operator: Dyadic, class: Class, to: Slot, a: Slot, b: Slot) {
        match class {
            Class::Long => self.apply_long(operator, to, a, b),
            Class::Real => self.apply_real(operator, to, a, b),
            Class::Double => self.apply_double(operator, to, a, b),
            _ => self.apply_word(operator, class, to, a, b),
        }
    }

    fn apply_word(&mut self, operator: Dyadic, class: Class, to: Slot, a: Slot, b: Slot) {
        use Dyadic::*;
        let code = &mut self.f.code;
        match operator {
            Add => code.add(to, a, b),
            Subtract => code.sub(to, a, b),
            Multiply => code.mul(to, a, b),
            Divide => code.div(to, a, b),
            Remainder => code.rem(to, a, b),
            Plus => code.plus(to, a, b),
            Minus => code.minus(to, a, b),
            Times => code.times(to, a, b),
            BitAnd | And => code.and(to, a, b),
            BitOr | Or => code.or(to, a, b),
            BitXor => code.xor(to, a, b),
            ShiftLeft | ShiftRight => return self.shift(operator, class, to, a, b),
            Equal => code.eq(to, a, b),
            NotEqual => code.ne(to, a, b),
            Less => code.lt(to, a, b),
            Greater => code.lt(to, b, a),
            LessEqual => code.le(to, a, b),
            GreaterEqual => code.le(to, b, a),
            After => return self.after(class, to, a, b),
        }
        match operator {
            Add | Subtract | Multiply | Divide => self.check_range(to, class),
            Plus | Minus | Times => self.wrap(to, class),
            _ => {}
        }
    }

    fn shift(&mut self, operator: Dyadic, class: Class, to: Slot, a: Slot, b: Slot) {
        let bits = match class {
            Class::Byte => 8,
            Class::Half => 16,
            _ => 32,
        };
        if bits < 32 {
            self.f.code.chk_shift(b, bits);
        }
        if operator == Dyadic::ShiftLeft {
            self.f.code.shl(to, a, b);
            return self.wrap(to, class);
        }
        let mut from = a;
        if class == Class::Half {
            let mask = self.slot();
            self.f.code.ldi(mask, 0xFFFF);
            self.f.code.and(mask, a, mask);
            from = mask;
        }
        self.f.code.shr(to, from, b);
        self.wrap(to, class);
    }

    fn after(&mut self, class: Class, to: Slot, a: Slot, b: Slot) {
        if class == Class::Word {
            return self.f.code.after(to, a, b);
        }
        let (distance, zero) = (self.slot(), self.slot());
        self.f.code.minus(distance, a, b);
        self.wrap(distance, class);
        self.f.code.ldi(zero, 0);
        self.f.code.lt(zero, zero, distance);
        if class == Class::Byte {
            self.f.code.lt_i(distance, distance, 128);
            self.f.code.and(zero, zero, distance);
        }
        self.f.code.mov(to, zero);
    }

    fn apply_long(&mut self, operator: Dyadic, to: Slot, a: Slot, b: Slot) {
        use Dyadic::*;
        let code = &mut self.f.code;
        match operator {
            Add => code.add_l(to, a, b),
            Subtract => code.sub_l(to, a, b),
            Multiply => code.mul_l(to, a, b),
            Divide => code.div_l(to, a, b),
            Remainder => code.rem_l(to, a, b),
            Plus => code.plus_l(to, a, b),
            Minus => code.minus_l(to, a, b),
            Times => code.times_l(to, a, b),
            BitAnd | And => code.and_l(to, a, b),
            BitOr | Or => code.or_l(to, a, b),
            BitXor => code.xor_l(to, a, b),
            ShiftLeft => code.shl_l(to, a, b),
            ShiftRight => code.shr_l(to, a, b),
            Equal => code.eq_l(to, a, b),
            NotEqual => code.ne_l(to, a, b),
            Less => code.lt_l(to, a, b),
            Greater => code.lt_l(to, b, a),
            LessEqual => code.le_l(to, a, b),
            GreaterEqual => code.le_l(to, b, a),
            After => code.after_l(to, a, b),
        }
    }

    fn apply_real(&mut self, operator: Dyadic, to: Slot, a: Slot, b: Slot) {
        use Dyadic::*;
        let code = &mut self.f.code;
        match operator {
            Add | Plus => code.add_f(to, a, b),
            Subtract | Minus => code.sub_f(to, a, b),
            Multiply | Times => code.mul_f(to, a, b),
            Divide => code.div_f(to, a, b),
            Remainder => code.rem_f(to, a, b),
            Equal => code.eq_f(to, a, b),
            NotEqual => code.ne_f(to, a, b),
            Less => code.lt_f(to, a, b),
            Greater => code.lt_f(to, b, a),
            LessEqual => code.le_f(to, a, b),
            GreaterEqual => code.le_f(to, b, a),
            _ => {}
        }
    }

    fn apply_double(&mut self, operator: Dyadic, to: Slot, a: Slot, b: Slot) {
        use Dyadic::*;
        let code = &mut self.f.code;
        match operator {
            Add | Plus => code.add_d(to, a, b),
            Subtract | Minus => code.sub_d(to, a, b),
            Multiply | Times => code.mul_d(to, a, b),
            Divide => code.div_d(to, a, b),
            Remainder => code.rem_d(to, a, b),
            Equal => code.eq_d(to, a, b),
            NotEqual => code.ne_d(to, a, b),
            Less => code.lt_d(to, a, b),
            Greater => code.lt_d(to, b, a),
            LessEqual => code.le_d(to, a, b),
            GreaterEqual => code.le_d(to, b, a),
            _ => {}
        }
    }
}
