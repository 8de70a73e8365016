//! Owns: which processes of an extended rendezvous nobody can tell from none.
//! May use: `program`, `raddle-occam-syntax`.
//! Never: one that may fail, wait, or go on for ever.
//!
//! Whether the sender waits until its end or goes on at once is the same to everybody: it changes variables that only
//! the receiver has, and is done for certain. So a plain input does, which is faster.

use super::shape::Shape;
use super::{Lowerer, Watch};
use crate::ast::{ConstructKind, Dyadic, ExprId, ExprKind, Mode, Monadic, ProcessId, ProcessKind};
use crate::program::{NameId, NameKind};

impl Lowerer<'_> {
    /// SKIP, and assignments of what cannot fail to variables that only one process has.
    pub(super) fn is_instant(&self, process: ProcessId) -> bool {
        if self.watched != Watch::Nothing {
            return false;
        }
        match &self.ast.process(process).kind {
            ProcessKind::Skip => true,
            ProcessKind::Construct { order: ConstructKind::Seq, replicator: None, body } => {
                body.iter().all(|&it| self.is_instant(it))
            }
            ProcessKind::Assign { targets, values } => {
                targets.iter().all(|&it| self.is_own_scalar(it))
                    && values.iter().all(|&it| self.cannot_fail(it))
            }
            _ => false,
        }
    }

    fn is_own_scalar(&self, expr: ExprId) -> bool {
        let ExprKind::Name(_) = self.ast.expr(expr).kind else { return false };
        let name = self.program.name_of(expr);
        if name == NameId::NONE {
            return false;
        }
        // What has a second name may be under #PRAGMA SHARED by the first one.
        let name = self.program.name(name);
        let kinds = [
            NameKind::Variable,
            NameKind::Index,
            NameKind::Formal(Mode::Val),
            NameKind::Formal(Mode::Initial),
        ];
        !name.shared
            && kinds.contains(&name.kind)
            && matches!(self.shape(self.program.type_of(expr)), Shape::Scalar(_))
    }

    fn cannot_fail(&self, expr: ExprId) -> bool {
        if matches!(self.ast.expr(expr).kind, ExprKind::Name(_)) {
            return self.fold(expr).is_some() || self.is_own_scalar(expr);
        }
        let own = self.program.name_of(expr) != NameId::NONE;
        match self.ast.expr(expr).kind {
            ExprKind::Bool(_) | ExprKind::Byte { .. } | ExprKind::Integer { .. } => true,
            ExprKind::Monadic(Monadic::Not | Monadic::BitNot, value) => !own && self.cannot_fail(value),
            ExprKind::Dyadic(operator, left, right) => {
                use Dyadic::{And, BitAnd, BitOr, BitXor, Equal, Less, Minus, NotEqual, Or, Plus, Times};
                let certain = matches!(
                    operator,
                    And | BitAnd | BitOr | BitXor | Equal | Less | Minus | NotEqual | Or | Plus | Times
                );
                !own && certain && self.cannot_fail(left) && self.cannot_fail(right)
            }
            _ => false,
        }
    }
}
