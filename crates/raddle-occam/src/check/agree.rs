//! Owns: when a value of one type may stand where another is wanted.
//! May use: `ast`, `diag`, `types`.
//! Never: converts; occam does not.

use super::Checker;
use crate::ast::ExprId;
use crate::diag::{Code, Diagnostic};
use crate::types::{Type, TypeId, Types};

impl Checker<'_> {
    /// Whether a value of type `got` may stand where `want` is wanted.
    pub(super) fn agree(&self, want: TypeId, got: TypeId) -> bool {
        agree(&self.program.types, want, got)
    }

    /// Checks an expression whose type must be `want`.
    pub(super) fn expr_of(&mut self, expr: ExprId, want: TypeId) -> TypeId {
        let got = self.expr(expr, Some(want));
        self.must_agree(expr, want, got);
        got
    }

    pub(super) fn must_agree(&mut self, expr: ExprId, want: TypeId, got: TypeId) {
        if self.agree(want, got) {
            return;
        }
        let types = &self.program.types;
        let same_shape = match (types.as_array(want), types.as_array(got)) {
            (Some((_, want)), Some((_, got))) => self.agree(want, got),
            _ => false,
        };
        let code = if same_shape {
            Code::ArraySize
        } else if directions_differ(types, want, got) {
            Code::Direction
        } else {
            Code::TypeMismatch
        };
        let message = format!("this is of type {} where {} is wanted", self.show(got), self.show(want));
        let mut complaint = Diagnostic::new(code, self.span(expr), message);
        if types.basic(want).is_some() && types.basic(got).is_some() {
            complaint = complaint.help(format!("convert it: `{} (...)`", self.show(want)));
        }
        self.diagnostics.push(complaint);
    }
}

fn directions_differ(types: &Types, want: TypeId, got: TypeId) -> bool {
    match (types.get(types.innermost(want)), types.get(types.innermost(got))) {
        (Type::Chan { protocol: want, .. }, Type::Chan { protocol: got, .. }) => want == got,
        (Type::End { bundle: want, .. }, Type::End { bundle: got, .. }) => want == got,
        _ => false,
    }
}

pub(super) fn agree(types: &Types, want: TypeId, got: TypeId) -> bool {
    if want == got || want == Types::ERROR || got == Types::ERROR {
        return true;
    }
    match (types.get(want), types.get(got)) {
        (Type::Mobile(want), Type::Mobile(got)) | (Type::Port(want), Type::Port(got)) => {
            agree(types, want, got)
        }
        (Type::Mobile(want), _) => agree(types, want, got),
        (_, Type::Mobile(got)) => agree(types, want, got),
        (Type::Array { size: want_size, element: want }, Type::Array { size: got_size, element: got }) => {
            (want_size == got_size || want_size.is_none() || got_size.is_none()) && agree(types, want, got)
        }
        (
            Type::Chan { protocol: want, direction: want_end, .. },
            Type::Chan { protocol: got, direction: got_end, .. },
        ) => {
            let ends = want_end.is_none() || got_end.is_none() || want_end == got_end;
            ends && (agree(types, want, got) || want == Types::ANY || got == Types::ANY)
        }
        (
            Type::End { bundle: want, direction: want_end, .. },
            Type::End { bundle: got, direction: got_end, .. },
        ) => want == got && want_end == got_end,
        (Type::Counted { count, array }, Type::Counted { count: got_count, array: got_array }) => {
            agree(types, count, got_count) && agree(types, array, got_array)
        }
        _ => false,
    }
}
