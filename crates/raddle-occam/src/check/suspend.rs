//! Owns: PROC TYPEs, MOBILE PROCs, activations, and where SUSPEND may stand.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: judges what a mobile process takes along; `usage` does.
//!
//! A PROC TYPE has a routine without a body, which stands for any process of the type: a call of a variable with such a
//! process is one of that routine, as far as parameters go.

use super::Checker;
use super::routine::Heading;
use crate::ast::{ExprId, Formal, Ident, Mode, ProcessId, SpecId, TypeKind, TypeNodeId};
use crate::diag::{Code, Diagnostic};
use crate::program::{Body, NameId, NameKind, Program, RoutineId};
use crate::source::Span;
use crate::types::{ProcessType, Type, TypeId, Types};

/// Complains of programs and tests that suspend: nobody could activate them again.
pub(super) fn of_programs(
    program: &Program,
    suspended: &[(RoutineId, Span)],
    diagnostics: &mut Vec<Diagnostic>,
) {
    for &(routine, span) in suspended {
        if program.is_run(routine) && program.routines[routine.0 as usize].implements.is_none() {
            let text = program.spelling(program.routines[routine.0 as usize].name);
            let message = format!("`{text}` is no mobile process, and would never be activated again");
            let complaint = Diagnostic::new(Code::Suspend, span, message);
            diagnostics.push(complaint.help("SUSPEND stands in a MOBILE PROC, or in a PROC that it calls"));
        }
    }
}

impl Checker<'_> {
    /// `PROC TYPE name IS (...):`
    pub(super) fn proc_type(&mut self, spec: SpecId, name: Ident, formals: &[Formal]) -> NameId {
        let heading = Heading {
            spec,
            name,
            formals,
            results: Vec::new(),
            recursive: false,
            function: false,
            implements: None,
        };
        let stands_for = self.routine(&heading, Body::Interface);
        let routine = self.program.routine_of(stands_for).map_or(0, |id| id.0);
        self.program.routines[routine as usize].communicates = true;
        for formal in self.program.routines[routine as usize].formals.clone() {
            self.environment(formal);
        }
        let at = self.program.types.processes.len() as u32;
        self.program.types.processes.push(ProcessType { name: name.symbol, routine });
        let ty = self.program.types.intern(Type::Process(at));
        self.declare(name, NameKind::Type, ty)
    }

    /// A process is given what it synchronises with, and says how.
    fn environment(&mut self, formal: NameId) {
        let name = self.program.name(formal);
        let (ty, span, kind) = (name.ty, name.span, name.kind);
        let message = match self.program.types.get(ty) {
            Type::Chan { direction: Some(_), .. } | Type::End { .. } | Type::Barrier | Type::Error => {
                match kind {
                    NameKind::Formal(Mode::Reference) => return,
                    _ => {
                        "what a process is given at an activation is lent: leave out the word before its type"
                    }
                }
            }
            Type::Chan { .. } => "a channel that a process is given says which end it is: `?` or `!`",
            _ => "a process is given channels, ends of CHAN TYPEs and BARRIERs; send it everything else",
        };
        self.complain(Code::TypeMismatch, span, message);
    }

    /// The PROC TYPE behind IMPLEMENTS.
    pub(super) fn implemented(&mut self, name: Ident) -> Option<u32> {
        let id = self.lookup(name);
        let declared = self.program.name(id);
        match (declared.kind, self.program.types.get(declared.ty)) {
            (NameKind::Type, Type::Process(at)) => Some(at),
            (NameKind::Error, _) => None,
            _ => {
                let message = format!("`{}` is no PROC TYPE", self.text(name.symbol));
                self.complain(Code::WrongKind, name.span, message);
                None
            }
        }
    }

    /// A MOBILE PROC has the very parameters of its PROC TYPE.
    pub(super) fn must_implement(&mut self, heading: &Heading<'_>, name: NameId) {
        let (Some(at), Some(routine)) = (heading.implements, self.program.routine_of(name)) else { return };
        let wanted = self.program.types.processes[at as usize].clone();
        let formals = |checker: &Self, routine: u32| -> Vec<(NameKind, TypeId, Span)> {
            let formals = checker.program.routines[routine as usize].formals.iter();
            let one = |&formal: &NameId| {
                let name = checker.program.name(formal);
                (name.kind, name.ty, name.span)
            };
            formals.map(one).collect()
        };
        let (own, wants) = (formals(self, routine.0), formals(self, wanted.routine));
        let text = self.text(wanted.name);
        if own.len() != wants.len() {
            let message = format!("`{text}` has {} parameters, this process {}", wants.len(), own.len());
            return self.complain(Code::ArgumentCount, heading.name.span, message);
        }
        for ((kind, ty, span), (want_kind, want, declared)) in own.into_iter().zip(wants) {
            let known = ty != Types::ERROR && want != Types::ERROR;
            if known && (ty != want || kind != want_kind) {
                let (is, wants) = (self.show(ty), self.show(want));
                let message = format!("this parameter is of type {is}, that of `{text}` of type {wants}");
                let complaint = Diagnostic::new(Code::TypeMismatch, span, message);
                self.diagnostics.push(complaint.also(declared, "there"));
            }
        }
    }

    /// `MOBILE name` where that is a MOBILE PROC: a new process.
    pub(super) fn new_process(&mut self, expr: ExprId, node: TypeNodeId) -> Option<TypeId> {
        let TypeKind::Named(name) = self.ast.ty(node).kind else { return None };
        let id = self.find(name.symbol)?;
        let declared = self.program.name(id);
        let text = self.text(name.symbol);
        match (declared.kind, self.program.types.get(declared.ty)) {
            (NameKind::Routine(routine), _) => {
                self.lookup(name);
                let Some(at) = self.program.routines[routine.0 as usize].implements else {
                    let message = format!("`{text}` is no MOBILE PROC");
                    self.complain(Code::WrongKind, name.span, message);
                    return Some(Types::ERROR);
                };
                self.communicates(name.span);
                self.program.expr_names[expr.0 as usize] = id;
                let process = self.program.types.intern(Type::Process(at));
                Some(self.program.types.intern(Type::Mobile(process)))
            }
            (NameKind::Type, Type::Process(_)) => {
                let message =
                    format!("`{text}` says what is common to many; name the MOBILE PROC that is to run");
                self.complain(Code::WrongKind, name.span, message);
                Some(Types::ERROR)
            }
            _ => None,
        }
    }

    /// A MOBILE PROC does not run by being called.
    pub(super) fn not_mobile(&mut self, routine: RoutineId, name: Ident) {
        if self.program.routines[routine.0 as usize].implements.is_some() {
            let text = self.text(name.symbol);
            let message = format!(
                "`{text}` is a MOBILE PROC: `x := MOBILE {text}` makes a process, `x (...)` activates it"
            );
            self.complain(Code::WrongKind, name.span, message);
        }
    }

    /// What a process call calls: of a mobile process, what stands for its PROC TYPE.
    pub(super) fn activated(&mut self, call: ProcessId, found: NameId) -> NameId {
        let declared = self.program.name(found);
        let is_variable = !matches!(declared.kind, NameKind::Routine(_) | NameKind::Type | NameKind::Error);
        match self.program.types.process_type(declared.ty).map(|process| process.routine) {
            Some(routine) if is_variable => {
                self.changes_outside(found);
                self.program.activations.insert(call.0, found);
                self.program.routines[routine as usize].name
            }
            _ => found,
        }
    }

    /// An activation changes the process.
    fn changes_outside(&mut self, process: NameId) {
        let level = self.program.name(process).level;
        let own = self.level();
        if let Some(frame) = self.frames.last_mut()
            && level < own
        {
            frame.assigns_level = frame.assigns_level.min(level);
        }
    }

    /// A process that is forked is a PROC.
    pub(super) fn not_forked(&mut self, call: ProcessId, name: Ident) {
        if self.program.activations.contains_key(&call.0) {
            let text = self.text(name.symbol);
            let message =
                format!("`{text}` is activated by whoever has it: fork a PROC that is given the process");
            self.complain(Code::WrongKind, name.span, message);
        }
    }

    /// A process is no value that could be read by several.
    pub(super) fn no_process_value(&mut self, mode: Mode, ty: TypeId, span: Span) {
        if mode == Mode::Val && self.program.types.holds_process(ty) {
            self.complain(
                Code::TypeMismatch,
                span,
                "a process moves, and is no VAL: leave out the word, or write INITIAL",
            );
        }
    }

    /// SUSPEND, or a call of a PROC that suspends.
    pub(super) fn suspends_here(&mut self, span: Span) {
        if let Some(&(what, around)) = self.steady.last() {
            let message = format!("a mobile process does not suspend in {what}");
            let complaint = Diagnostic::new(Code::Suspend, span, message);
            self.diagnostics.push(if around == span {
                complaint
            } else {
                complaint.also(around, "this one")
            });
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.suspends.get_or_insert(span);
        }
    }

    /// A process in which nothing suspends.
    pub(super) fn steadily(&mut self, what: &'static str, span: Span, body: ProcessId) {
        self.steady.push((what, span));
        self.process_in_scope(body);
        self.steady.pop();
    }
}
