//! Owns: conditions that choose a way.
//! May use: `expr`.
//! Never: computes a BOOL where a jump will do.

use super::Lowerer;
use super::shape::Class;
use crate::ast::{Dyadic, ExprId, ExprKind, Monadic};
use crate::program::NameId;
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
            ExprKind::Dyadic(operator @ (Dyadic::And | Dyadic::Or), left, right) if !own => {
                self.branch_pair(operator, left, right, when, label);
            }
            ExprKind::Dyadic(operator, left, right) if !own && self.compares_words(operator, left) => {
                self.compare(operator, left, right, when, label);
            }
            _ => {
                let slot = self.scalar(condition);
                if when { self.f.code.jnz(slot, label) } else { self.f.code.jz(slot, label) }
            }
        }
        // Slots only: nothing in a condition's temporary memory outlives its computation unless it was taken here.
        self.release(mark);
    }

    fn branch_pair(&mut self, operator: Dyadic, left: ExprId, right: ExprId, when: bool, label: Label) {
        // `a AND b` is TRUE where both are; `a OR b` is FALSE where both are.
        if (operator == Dyadic::And) == when {
            let skip = self.f.code.label();
            self.branch(left, !when, skip);
            self.branch(right, when, label);
            self.f.code.bind(skip);
        } else {
            self.branch(left, when, label);
            self.branch(right, when, label);
        }
    }

    fn compares_words(&self, operator: Dyadic, left: ExprId) -> bool {
        use Dyadic::*;
        matches!(operator, Equal | NotEqual | Less | Greater | LessEqual | GreaterEqual)
            && matches!(self.class(left), Class::Word | Class::Half | Class::Byte | Class::Bool)
    }

    fn compare(&mut self, operator: Dyadic, left: ExprId, right: ExprId, when: bool, label: Label) {
        use Dyadic::*;
        let operator = if when { operator } else { opposite(operator) };
        let small = self.fold(right).and_then(|value| i16::try_from(value).ok()).map(i32::from);
        let a = self.computed(left);
        if let Some(value) = small {
            let code = &mut self.f.code;
            match operator {
                Equal if value == 0 => return code.jz(a, label),
                NotEqual if value == 0 => return code.jnz(a, label),
                Equal => return code.jeq_i(a, value, label),
                NotEqual => return code.jne_i(a, value, label),
                Less => return code.jlt_i(a, value, label),
                GreaterEqual => return code.jge_i(a, value, label),
                LessEqual if value < 0x7FFF => return code.jlt_i(a, value + 1, label),
                Greater if value < 0x7FFF => return code.jge_i(a, value + 1, label),
                _ => {}
            }
        }
        let b = self.computed(right);
        let code = &mut self.f.code;
        match operator {
            Equal => code.jeq(a, b, label),
            NotEqual => code.jne(a, b, label),
            Less => code.jlt(a, b, label),
            Greater => code.jlt(b, a, label),
            LessEqual => code.jle(a, b, label),
            _ => code.jle(b, a, label),
        }
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

fn opposite(operator: Dyadic) -> Dyadic {
    use Dyadic::*;
    match operator {
        Equal => NotEqual,
        NotEqual => Equal,
        Less => GreaterEqual,
        GreaterEqual => Less,
        Greater => LessEqual,
        _ => Greater,
    }
}
