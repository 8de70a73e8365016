//! Owns: barriers.
//! May use: `ast`, `diag::codes`, `source`, `types`.
//! Never: judges who is a member; `usage` does.

use super::Checker;
use crate::ast::{ExprId, ProcessId};
use crate::diag::Code;
use crate::source::Span;
use crate::types::Types;

impl Checker<'_> {
    /// An expression that names a barrier.
    fn barrier(&mut self, barrier: ExprId) {
        let ty = self.expr(barrier, None);
        if ty != Types::ERROR && !self.program.types.is_barrier(ty) {
            let message = format!("this is of type {}, and no BARRIER", self.show(ty));
            self.complain(Code::WrongKind, self.span(barrier), message);
        }
    }

    pub(super) fn sync(&mut self, barrier: ExprId, span: Span) {
        self.communicates(span);
        self.barrier(barrier);
    }

    pub(super) fn resign(&mut self, barrier: ExprId, body: ProcessId, span: Span) {
        self.sync(barrier, span);
        self.process_in_scope(body);
    }

    pub(super) fn enroll(&mut self, barriers: &[ExprId], par: ProcessId) {
        barriers.iter().for_each(|&barrier| self.barrier(barrier));
        self.process(par);
    }
}
