//! Owns: what may be assigned, input to, or named by reference.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: judges aliases.

use super::Checker;
use crate::ast::{ExprId, ExprKind, Mode};
use crate::diag::{Code, Diagnostic};
use crate::program::{NameId, NameKind};
use crate::types::Types;

impl Checker<'_> {
    /// The name at the root of an element or slice, if the expression is one.
    pub(super) fn root(&self, expr: ExprId) -> Option<NameId> {
        let ast = self.ast;
        match &ast.expr(expr).kind {
            ExprKind::Name(_) => {
                Some(self.program.expr_names[expr.0 as usize]).filter(|&id| id != NameId::NONE)
            }
            &ExprKind::Index { base, .. } | &ExprKind::Slice { base, .. } | &ExprKind::End(base, _) => {
                self.root(base)
            }
            _ => None,
        }
    }

    /// Complains of what cannot be changed, and notes the change for the routine around.
    pub(super) fn must_be_variable(&mut self, expr: ExprId) {
        let Some(id) = self.root(expr) else {
            if !matches!(self.ast.expr(expr).kind, ExprKind::Error) && self.type_of(expr) != Types::ERROR {
                self.complain(Code::NotAssignable, self.span(expr), "this is a value, not a variable");
            }
            return;
        };
        let name = self.program.name(id);
        let (declared, text) = (name.span, self.program.spelling(id).to_owned());
        let reason = match name.kind {
            NameKind::Formal(Mode::Val) => "a VAL parameter",
            NameKind::Abbreviation { mode: Mode::Val, .. } => "a VAL abbreviation",
            NameKind::Index => "a replicator's index",
            NameKind::Routine(_) => "a PROC or FUNCTION",
            NameKind::Type => "a type",
            _ => return self.note_change(id, expr),
        };
        let message = format!("`{text}` is {reason} and cannot be changed");
        self.diagnostics.push(
            Diagnostic::new(Code::NotAssignable, self.span(expr), message).also(declared, "declared here"),
        );
    }

    /// A function may not change what lies outside of it.
    pub(super) fn note_change(&mut self, id: NameId, expr: ExprId) {
        let level = self.program.name(id).level;
        self.note_change_of_level(level, expr, id);
    }

    pub(super) fn note_change_of_level(&mut self, level: u32, expr: ExprId, id: NameId) {
        if level < self.level()
            && let Some(frame) = self.frames.last_mut()
        {
            frame.assigns_level = frame.assigns_level.min(level);
        }
        let function = self.function_level();
        if level < function {
            let text = self.program.spelling(id).to_owned();
            let message = format!("a function changes `{text}`, which lies outside of it");
            self.complain(Code::SideEffect, self.span(expr), message);
        }
    }

    /// The level of variables that the innermost function around may change; 0 outside functions.
    pub(super) fn function_level(&self) -> u32 {
        self.frames.iter().rposition(|frame| frame.function).map_or(0, |at| at as u32 + 1)
    }

    /// Checks what a reference abbreviation or parameter names.
    pub(super) fn must_be_place(&mut self, expr: ExprId, mode: Mode) {
        let ty = self.type_of(expr);
        let types = &self.program.types;
        if types.is_channel_like(ty)
            || matches!(types.get(types.innermost(ty)), crate::types::Type::End { .. })
        {
            return;
        }
        if mode != Mode::Val && mode != Mode::Initial {
            self.must_be_variable(expr);
        }
    }
}
