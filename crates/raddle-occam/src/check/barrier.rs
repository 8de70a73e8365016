//! Owns: barriers.
//! May use: `types`, `raddle-occam-syntax`.
//! Never: judges who is a member; `usage` does.

use super::Checker;
use crate::ast::{ExprId, Mode, ProcessId};
use crate::diag::Code;
use crate::source::Span;
use crate::types::{Type, TypeId, Types};

impl Checker<'_> {
    /// An expression that names a barrier.
    fn barrier(&mut self, barrier: ExprId) {
        let ty = self.expr(barrier, None);
        if ty != Types::ERROR && !self.program.types.is_barrier(ty) {
            let message = format!("this is of type {}, and no BARRIER", self.show(ty));
            self.complain(Code::WrongKind, self.span(barrier), message);
        }
    }

    /// A barrier is passed as itself, so that whoever uses it is a member; a MOBILE one may be given away.
    pub(super) fn no_barrier_value(&mut self, mode: Mode, ty: TypeId, span: Span) {
        let types = &self.program.types;
        let given = mode == Mode::Initial && matches!(types.get(ty), Type::Mobile(_));
        let barriers = types.is_barrier(ty) || types.holds_barriers(ty);
        if barriers && matches!(mode, Mode::Val | Mode::Initial) && !given {
            self.complain(Code::TypeMismatch, span, "a BARRIER is no value: leave out VAL or INITIAL");
        }
        if mode == Mode::Val && self.program.types.is_any_end(ty) {
            self.complain(Code::TypeMismatch, span, "who gets a MOBILE.CHAN has it: leave out VAL");
        }
    }

    pub(super) fn sync(&mut self, barrier: ExprId, span: Span) {
        self.communicates(span);
        self.barrier(barrier);
    }

    pub(super) fn resign(&mut self, barrier: ExprId, body: ProcessId, span: Span) {
        self.sync(barrier, span);
        self.steadily("a RESIGN", span, body);
    }

    pub(super) fn enroll(&mut self, barriers: &[ExprId], par: ProcessId) {
        barriers.iter().for_each(|&barrier| self.barrier(barrier));
        self.process(par);
    }
}
