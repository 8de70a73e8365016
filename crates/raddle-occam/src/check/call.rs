//! Owns: calls, and lists of values of which a call or VALOF may give several.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: looks into the called body; its heading says enough here.

use super::Checker;
use crate::ast::{Basic, ExprId, ExprKind, Ident, Mode, ProcessId};
use crate::diag::{Code, Diagnostic};
use crate::program::{NameId, NameKind, RoutineId};
use crate::source::Span;
use crate::types::{TypeId, Types};

impl Checker<'_> {
    /// The types of a list of values; a single call or VALOF may stand for several.
    pub(super) fn values(&mut self, list: &[ExprId], wants: &[TypeId]) -> Vec<TypeId> {
        let ast = self.ast;
        if let &[only] = list {
            let several = match &ast.expr(only).kind {
                ExprKind::Call { name, arguments } => {
                    self.function_call_results(only, *name, arguments, wants)
                }
                ExprKind::Valof(valof) => Some(self.valof(valof, wants)),
                _ => None,
            };
            if let Some(types) = several {
                self.program.expr_types[only.0 as usize] = types.first().copied().unwrap_or(Types::ERROR);
                return types;
            }
        }
        list.iter().enumerate().map(|(at, &value)| self.expr(value, wants.get(at).copied())).collect()
    }

    /// A call in an expression has one result.
    pub(super) fn single(&mut self, results: &[TypeId], span: Span) -> TypeId {
        match results {
            &[single] => single,
            [] => Types::ERROR,
            _ => {
                self.complain(
                    Code::ArgumentCount,
                    span,
                    format!("{} results where one is wanted", results.len()),
                );
                Types::ERROR
            }
        }
    }

    pub(super) fn function_call(
        &mut self,
        id: ExprId,
        name: Ident,
        arguments: &[ExprId],
        want: Option<TypeId>,
    ) -> TypeId {
        let wants: Vec<TypeId> = want.into_iter().collect();
        match self.function_call_results(id, name, arguments, &wants) {
            Some(results) => self.single(&results, self.span(id)),
            None => Types::ERROR,
        }
    }

    /// The result types of a call, or `None` after a complaint.
    fn function_call_results(
        &mut self,
        id: ExprId,
        name: Ident,
        arguments: &[ExprId],
        wants: &[TypeId],
    ) -> Option<Vec<TypeId>> {
        let found = self.lookup(name);
        self.program.expr_names[id.0 as usize] = found;
        let routine = self.callee(found, name, arguments)?;
        let results = self.program.routines[routine.0 as usize].results.clone();
        if results.is_empty() {
            let text = self.text(name.symbol);
            self.complain(Code::WrongKind, name.span, format!("`{text}` is a PROC and has no value"));
        }
        let _ = (self.arguments(routine, arguments, name), wants);
        (!results.is_empty()).then_some(results)
    }

    fn callee(&mut self, found: NameId, name: Ident, arguments: &[ExprId]) -> Option<RoutineId> {
        let declared = self.program.name(found);
        let (kind, span) = (declared.kind, declared.span);
        if let NameKind::Routine(routine) = kind {
            self.not_mobile(routine, name);
            return Some(routine);
        }
        if kind != NameKind::Error {
            let text = self.text(name.symbol);
            let complaint = Diagnostic::new(Code::WrongKind, name.span, format!("`{text}` cannot be called"));
            let mut complaint = complaint.also(span, "declared here");
            if self.program.types.as_array(self.program.name(found).ty).is_some() {
                complaint = complaint.help(format!("an element is written `{text}[...]`"));
            }
            self.diagnostics.push(complaint);
        }
        // Of a name that was complained of nothing is known: its arguments may be anything.
        for &argument in arguments {
            self.expr(argument, Some(Types::ERROR));
        }
        None
    }

    pub(super) fn proc_call(&mut self, id: ProcessId, name: Ident, arguments: &[ExprId]) {
        let found = self.lookup(name);
        let found = self.activated(id, found);
        self.program.process_names[id.0 as usize] = found;
        let Some(routine) = self.callee(found, name, arguments) else { return };
        let callee = &self.program.routines[routine.0 as usize];
        let (level, communicates) = (callee.assigns_level, callee.communicates);
        if callee.suspends {
            self.suspends_here(name.span);
        }
        let callee = &self.program.routines[routine.0 as usize];
        if !callee.results.is_empty() {
            let text = self.text(name.symbol);
            self.complain(
                Code::WrongKind,
                name.span,
                format!("`{text}` is a FUNCTION; its value must be used"),
            );
        }
        if !self.arguments(routine, arguments, name) {
            // What it does with what is not known.
            self.program.process_names[id.0 as usize] = self.new_name(name, NameKind::Error, Types::ERROR);
        }
        let function = self.function_level();
        if communicates {
            self.communicates(name.span);
        }
        let own = self.level();
        if let Some(frame) = self.frames.last_mut()
            && level < own
        {
            frame.assigns_level = frame.assigns_level.min(level);
        }
        if level < function {
            let text = self.text(name.symbol);
            let message =
                format!("a function calls `{text}`, which changes variables outside of the function");
            self.complain(Code::SideEffect, name.span, message);
        }
    }

    /// Notes a communication, PAR or ALT, which no function may contain.
    pub(super) fn communicates(&mut self, span: Span) {
        if self.function_level() > 0 {
            self.complain(Code::SideEffect, span, "a function may not communicate, nor use PAR or ALT");
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.communicates = true;
        }
    }

    /// False if there are too many or too few: then nothing else is said of them.
    fn arguments(&mut self, routine: RoutineId, arguments: &[ExprId], name: Ident) -> bool {
        let callee = &self.program.routines[routine.0 as usize];
        let (formals, declared) = (callee.formals.clone(), self.program.name(callee.name).span);
        if formals.len() != arguments.len() {
            let text = self.text(name.symbol);
            let message = format!("`{text}` takes {} parameters, not {}", formals.len(), arguments.len());
            let complaint = Diagnostic::new(Code::ArgumentCount, name.span, message);
            self.diagnostics.push(complaint.also(declared, "declared here"));
            for &argument in arguments {
                self.expr(argument, Some(Types::ERROR));
            }
            return false;
        }
        for (at, &argument) in arguments.iter().enumerate() {
            let Some(&formal) = formals.get(at) else {
                self.expr(argument, None);
                continue;
            };
            let formal = self.program.name(formal);
            let (want, kind) = (formal.ty, formal.kind);
            let got = self.expr_of(argument, want);
            match kind {
                NameKind::Formal(mode @ (Mode::Reference | Mode::Result)) => {
                    self.must_be_place(argument, mode);
                    self.must_be_shared(argument, want, got);
                }
                _ => self.must_stay_shared(argument, want, got),
            }
        }
        true
    }

    /// Checks a condition.
    pub(super) fn condition(&mut self, condition: ExprId) {
        let ty = self.expr(condition, Some(Types::BOOL));
        let types = &self.program.types;
        if ty != Types::ERROR && types.basic(ty) != Some(Basic::Bool) {
            let message = format!("a condition is BOOL; this is of type {}", self.show(ty));
            self.complain(Code::TypeMismatch, self.span(condition), message);
        }
    }
}
