//! Owns: when a value of one type may stand where another is wanted.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: converts; occam does not.

use super::Checker;
use crate::ast::{Basic, Direction, ExprId, ExprKind, Mode, SharedEnds};
use crate::diag::{Code, Diagnostic};
use crate::program::NameKind;
use crate::source::Span;
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

    /// Whether one is MOBILE.CHAN and the other an end of a CHAN TYPE: what moves from one to the other fits, or it is
    /// found at run time that it does not.
    pub(super) fn is_end_and_any(&self, one: TypeId, two: TypeId) -> bool {
        let types = &self.program.types;
        let end = |ty| matches!(types.get(ty), Type::End { .. });
        let any = |ty| types.is_any_end(ty) && matches!(types.get(ty), Type::Mobile(_));
        any(one) && end(two) || end(one) && any(two)
    }

    /// A MOBILE or an end is not copied with what it is in: that must be MOBILE, and moves. `got` is the value's type,
    /// `want` that of what gets it.
    pub(super) fn no_copy_of_mobiles(&mut self, value: ExprId, want: TypeId, got: TypeId) {
        let types = &self.program.types;
        if let Some(ty) = [got, want].into_iter().find(|&ty| got != Types::ERROR && types.is_owner(ty)) {
            self.would_copy_mobiles(self.span(value), ty);
        }
    }

    pub(super) fn would_copy_mobiles(&mut self, span: Span, ty: TypeId) {
        let message = format!(
            "this would copy the MOBILEs or ends in it, and there is one of each only: {}",
            self.show(ty)
        );
        let complaint = Diagnostic::new(Code::TypeMismatch, span, message);
        self.diagnostics
            .push(complaint.help("move its elements or fields one by one, or make the whole MOBILE"));
    }

    /// What moves out of a variable changes it; a function changes nothing outside of it.
    pub(super) fn moves_from(&mut self, value: ExprId) {
        let types = &self.program.types;
        let moves = match types.get(self.type_of(value)) {
            Type::Mobile(of) => !types.is_barrier(of),
            Type::End { shared, .. } => !shared,
            _ => false,
        };
        let Some(root) = self.root(value).filter(|_| moves) else { return };
        // Of what is VAL, `usage` says that nothing moves out of it.
        let kind = &self.program.name(root).kind;
        if !matches!(kind, NameKind::Formal(Mode::Val) | NameKind::Abbreviation { mode: Mode::Val, .. }) {
            self.note_change(root, value);
        }
    }

    /// How a value of one basic type becomes one of another, if at all; each with whether it is REAL.
    fn how_to_convert(
        &self,
        expr: ExprId,
        want: TypeId,
        (to, real_to): (Basic, bool),
        (from, real_from): (Basic, bool),
    ) -> Option<String> {
        let name = self.show(want);
        let literal = match self.ast.expr(expr).kind {
            ExprKind::Integer { hex: false, value, .. } if real_to => Some(value),
            _ => None,
        };
        if let Some(value) = literal {
            return Some(format!("write `{value}.0`"));
        }
        if (to == Basic::Bool || from == Basic::Bool) && (real_to || real_from) {
            return None;
        }
        let rounds = real_to != real_from || to == Basic::Real32 && from == Basic::Real64;
        Some(if rounds {
            format!(
                "convert it: `{name} ROUND (...)` gives the nearest value, `{name} TRUNC (...)` cuts it off"
            )
        } else {
            format!("convert it: `{name} (...)`")
        })
    }

    /// What to write instead of a string where one BYTE is wanted.
    fn one_character(&self, expr: ExprId, want: TypeId) -> Option<String> {
        let ExprKind::Text { .. } = self.ast.expr(expr).kind else { return None };
        let types = &self.program.types;
        let (length, _) = types.as_array(self.type_of(expr))?;
        (types.basic(want) == Some(Basic::Byte)).then(|| match length {
            Some(1) => "a single byte stands in single quotes: `'a'`".to_owned(),
            _ => "a string is many bytes: send one at a time, or use `out.string` of \"course.module\""
                .to_owned(),
        })
    }

    /// A SHARED end does not become one that is not by an assignment or a message: others may hold it.
    pub(super) fn must_stay_shared(&mut self, at: ExprId, to: TypeId, from: TypeId) {
        if self.is_shared_end(from) == Some(true) && self.is_shared_end(to) == Some(false) {
            let message = format!("a SHARED end stays SHARED; this is of type {}", self.show(from));
            self.complain(Code::TypeMismatch, self.span(at), message);
        }
    }

    /// An end is lent as a SHARED one only if it is: its owner uses it without CLAIM otherwise.
    pub(super) fn must_be_shared(&mut self, at: ExprId, want: TypeId, got: TypeId) {
        if self.is_shared_end(got) == Some(false) && self.is_shared_end(want) == Some(true) {
            let message = format!("this is of type {} where {} is wanted", self.show(got), self.show(want));
            self.complain(Code::TypeMismatch, self.span(at), message);
        }
    }

    fn is_shared_end(&self, ty: TypeId) -> Option<bool> {
        let types = &self.program.types;
        match types.get(types.innermost(ty)) {
            Type::End { shared, .. } => Some(shared),
            _ => None,
        }
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
        if let (Some(to), Some(from)) = (types.basic(want), types.basic(got)) {
            complaint.help =
                self.how_to_convert(expr, want, (to, types.is_real(want)), (from, types.is_real(got)));
        } else {
            complaint.help = self.one_character(expr, want);
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

/// Whether both or neither are SHARED: elements of an array are as large as their locks make them, and what a channel
/// carries keeps its nature.
fn equally_shared(types: &Types, one: TypeId, two: TypeId) -> bool {
    match (types.get(types.innermost(one)), types.get(types.innermost(two))) {
        (Type::Chan { shared: one, .. }, Type::Chan { shared: two, .. }) => {
            (one == SharedEnds::No) == (two == SharedEnds::No)
        }
        (Type::End { shared: one, .. }, Type::End { shared: two, .. }) => one == two,
        _ => true,
    }
}

pub(super) fn agree(types: &Types, want: TypeId, got: TypeId) -> bool {
    if want == got || want == Types::ERROR || got == Types::ERROR {
        return true;
    }
    match (types.get(want), types.get(got)) {
        // A MOBILE one may be lent as one that is not; one that is not is nobody's to keep.
        (Type::Mobile(want), Type::Barrier) if types.get(want) == Type::Barrier => false,
        (Type::Mobile(want), Type::Mobile(got)) | (Type::Port(want), Type::Port(got)) => {
            agree(types, want, got)
        }
        (Type::Mobile(want), _) => agree(types, want, got),
        (_, Type::Mobile(got)) => agree(types, want, got),
        (Type::Array { size: want_size, element: want }, Type::Array { size: got_size, element: got }) => {
            let sizes = want_size == got_size || want_size.is_none() || got_size.is_none();
            sizes && equally_shared(types, want, got) && agree(types, want, got)
        }
        (
            Type::Chan { protocol: want, direction: want_end, shared: want_shared },
            Type::Chan { protocol: got, direction: got_end, shared: got_shared },
        ) => {
            let ends = want_end.is_none() || got_end.is_none() || want_end == got_end;
            // A claimed end may be lent as one that is not SHARED; one that is not has no lock to claim.
            let locks = want_shared == SharedEnds::No || got_shared != SharedEnds::No;
            let same = agree(types, want, got) && equally_shared(types, want, got);
            // Who only writes may know fewer tags than who reads, and who only reads may know more.
            let extended = match want_end {
                Some(Direction::Output) => types.extends(got, want),
                Some(Direction::Input) => types.extends(want, got),
                None => false,
            };
            // Bytes of any kind are no MOBILEs and no ends.
            let bytes = |any, of| any == Types::ANY && !types.carries_addresses(of);
            ends && locks && (same || extended || bytes(want, got) || bytes(got, want))
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
