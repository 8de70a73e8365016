//! Owns: conditions that choose a way.
//! May use: `program`, `raddle-bytecode`, `raddle-occam-syntax`.
//! Never: computes a BOOL where a jump will do.

use super::Lowerer;
use super::shape::Class;
use crate::ast::{Dyadic, ExprId, ExprKind, Monadic};
use crate::operator::Lowering;
use crate::program::NameId;
use raddle_bytecode::Insn;
use raddle_bytecode::build::Label;

impl Lowerer<'_> {
    /// Goes there if the condition is TRUE.
    pub(super) fn jump_if(&mut self, condition: ExprId, label: Label) {
        self.branch(condition, true, label);
    }

    /// Goes there if the condition is FALSE.
    pub(super) fn jump_unless(&mut self, condition: ExprId, label: Label) {
        self.branch(condition, false, label);
    }

    fn branch(&mut self, condition: ExprId, when: bool, label: Label) {
        if let Some(known) = self.fold(condition) {
            if (known != 0) == when {
                self.f.code.jump(label);
            }
            return;
        }
        let mark = self.mark();
        let ast = self.ast;
        let own = self.program.name_of(condition) != NameId::NONE;
        match ast.expr(condition).kind {
            ExprKind::Monadic(Monadic::Not, value) if !own => self.branch(value, !when, label),
            ExprKind::Dyadic(operator, left, right) if !own => {
                let row = operator.row();
                if let Some(decider) = row.decided_by {
                    self.branch_pair(decider, left, right, when, label);
                } else if row.lowering.relation.is_some() && self.fits_slot(left) {
                    self.compare(operator, left, right, when, label);
                } else {
                    self.branch_on_value(condition, when, label);
                }
            }
            _ => self.branch_on_value(condition, when, label),
        }
        // Slots only: nothing in a condition's temporary memory outlives its computation unless it was taken here.
        self.release(mark);
    }

    fn branch_on_value(&mut self, condition: ExprId, when: bool, label: Label) {
        let slot = self.scalar(condition);
        if when { self.f.code.jnz(slot, label) } else { self.f.code.jz(slot, label) }
    }

    fn branch_pair(&mut self, decider: bool, left: ExprId, right: ExprId, when: bool, label: Label) {
        // `a AND b` is TRUE where both are; `a OR b` is FALSE where both are.
        if decider != when {
            let skip = self.f.code.label();
            self.branch(left, !when, skip);
            self.branch(right, when, label);
            self.f.code.bind(skip);
        } else {
            self.branch(left, when, label);
            self.branch(right, when, label);
        }
    }

    fn fits_slot(&self, value: ExprId) -> bool {
        matches!(self.class(value), Class::Word | Class::Half | Class::UHalf | Class::Byte | Class::Bool)
    }

    fn compare(&mut self, operator: Dyadic, left: ExprId, right: ExprId, when: bool, label: Label) {
        let Some(relation) = operator.row().lowering.relation else { return };
        let operator = if when { operator } else { relation.negation };
        let Lowering { relation: Some(relation), swapped, .. } = operator.row().lowering else { return };
        let small = self.fold(right).and_then(|value| i16::try_from(value).ok());
        let a = self.computed(left);
        if let (Some(0), Some(jump)) = (small, relation.jump_zero) {
            return self.f.code.push_jump(Insn::new(jump, a, 0, 0), label);
        }
        let constant = small.and_then(|value| i16::try_from(i32::from(value) + relation.constant_plus).ok());
        if let Some(constant) = constant {
            return self.f.code.push_jump(Insn::new(relation.jump_constant, a, constant as u16, 0), label);
        }
        let b = self.computed(right);
        let (first, second) = if swapped { (b, a) } else { (a, b) };
        self.f.code.push_jump(Insn::new(relation.jump, first, second, 0), label);
    }

    /// A value whose temporary memory is given back before anybody jumps.
    fn computed(&mut self, expr: ExprId) -> super::Slot {
        if let ExprKind::Name(_) = self.ast.expr(expr).kind {
            return self.scalar(expr);
        }
        let to = self.slot();
        self.scalar_into(expr, to);
        to
    }
}
