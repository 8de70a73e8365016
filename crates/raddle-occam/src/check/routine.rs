//! Owns: PROCs and FUNCTIONs: headings, bodies, results.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: walks a body twice.

use super::{Checker, RoutineFrame};
use crate::ast::{ExprId, ExprKind, Formal, Ident, Mode, ProcessId, SharedEnds, SpecId, TypeNodeId};
use crate::diag::{Code, Diagnostic};
use crate::program::{Body, NameId, NameKind, Routine, RoutineId};
use crate::source::Span;
use crate::types::{Type, TypeId, Types};

/// What is declared by a PROC or FUNCTION, besides its body.
pub(super) struct Heading<'a> {
    pub(super) spec: SpecId,
    pub(super) name: Ident,
    pub(super) formals: &'a [Formal],
    pub(super) results: Vec<TypeId>,
    pub(super) recursive: bool,
    pub(super) function: bool,
    /// The PROC TYPE that it implements.
    pub(super) implements: Option<u32>,
}

impl Checker<'_> {
    pub(super) fn routine(&mut self, heading: &Heading<'_>, body: Body) -> NameId {
        let id = RoutineId(self.program.routines.len() as u32);
        let name = self.new_name(heading.name, NameKind::Routine(id), Types::ERROR);
        self.program.routines.push(Routine {
            name,
            formals: Vec::new(),
            results: heading.results.clone(),
            body: body.clone(),
            recursive: heading.recursive,
            assigns_level: u32::MAX,
            communicates: false,
            implements: heading.implements,
            suspends: false,
        });
        let types = self.formal_types(heading);
        let steady = std::mem::take(&mut self.steady);
        self.scope(|checker| {
            if heading.recursive {
                checker.bind(name);
            }
            checker.frames.push(RoutineFrame {
                function: heading.function,
                assigns_level: u32::MAX,
                communicates: false,
                first_name: checker.program.names.len(),
                suspends: None,
            });
            let formals = heading.formals.iter().zip(types);
            let list =
                formals.map(|(formal, ty)| checker.declare(formal.name, NameKind::Formal(formal.mode), ty));
            checker.program.routines[id.0 as usize].formals = list.collect();
            checker.body(&body, &heading.results);
            if let Some(frame) = checker.frames.pop() {
                let routine = &mut checker.program.routines[id.0 as usize];
                routine.assigns_level = frame.assigns_level;
                routine.communicates = frame.communicates;
                routine.suspends = frame.suspends.is_some();
                checker.suspended.extend(frame.suspends.map(|span| (id, span)));
            }
        });
        self.steady = steady;
        self.program.spec_names[heading.spec.0 as usize] = name;
        self.bind(name);
        if self.program.symbols.text(heading.name.symbol).starts_with('"') {
            self.operators.push(name);
        }
        name
    }

    /// A routine of which only the heading is known.
    pub(super) fn foreign(&mut self, heading: &Heading<'_>) -> NameId {
        let name = self.routine(heading, Body::Foreign);
        let Some(id) = self.program.routine_of(name) else { return name };
        // What it does is known to nobody here.
        self.program.routines[id.0 as usize].communicates = true;
        let by_address = self.text(heading.name.symbol).starts_with("F.");
        for formal in self.program.routines[id.0 as usize].formals.clone() {
            let (ty, span) = (self.program.name(formal).ty, self.program.name(formal).span);
            let types = &self.program.types;
            let innermost = types.get(types.plain(types.innermost(ty)));
            // It names a call, and is never used as a channel.
            let channel = matches!(types.get(ty), Type::Chan { shared: SharedEnds::No, .. }) && !by_address;
            if !matches!(innermost, Type::Basic(_) | Type::Record(_) | Type::Error) && !channel {
                let message = "a foreign routine takes numbers, records, arrays of them, and single channels";
                self.complain(Code::TypeMismatch, span, message);
            }
        }
        name
    }

    fn formal_types(&mut self, heading: &Heading<'_>) -> Vec<TypeId> {
        let mut last: Option<(TypeNodeId, TypeId)> = None;
        let mut list = Vec::with_capacity(heading.formals.len());
        for formal in heading.formals {
            let ty = match last {
                Some((node, ty)) if node == formal.ty => ty,
                _ => self.data(formal.ty, true),
            };
            last = Some((formal.ty, ty));
            if heading.function && formal.mode != Mode::Val {
                let complaint = Diagnostic::new(
                    Code::SideEffect,
                    formal.name.span,
                    "a FUNCTION takes VAL parameters only",
                );
                let at = self.ast.ty(formal.ty).span.lo;
                let complaint = complaint.help("write VAL before its type");
                self.diagnostics.push(complaint.fix("write VAL", Span::new(at, at), "VAL "));
            }
            self.no_barrier_value(formal.mode, ty, formal.name.span);
            self.no_process_value(formal.mode, ty, formal.name.span);
            if formal.mode == Mode::Initial && self.program.types.is_owner(ty) {
                self.would_copy_mobiles(formal.name.span, ty);
            }
            list.push(match formal.direction {
                Some(direction) => self.directed(ty, direction, formal.name),
                None => ty,
            });
        }
        list
    }

    fn body(&mut self, body: &Body, results: &[TypeId]) {
        match body {
            &Body::Process(process) => self.process_in_scope(process),
            Body::Results(list) => self.results(list, results),
            Body::Predefined | Body::Foreign | Body::Interface => {}
        }
    }

    /// A function's results: a list, or one VALOF or call with several.
    fn results(&mut self, list: &[ExprId], results: &[TypeId]) {
        let got = self.values(list, results);
        let Some(&first) = list.first() else { return };
        if let ExprKind::Error = self.ast.expr(first).kind {
            return;
        }
        if got.len() != results.len() && !got.contains(&Types::ERROR) {
            let message = format!("{} results where the heading says {}", got.len(), results.len());
            self.complain(Code::ArgumentCount, self.span(first), message);
            return;
        }
        for (at, (&want, &got)) in results.iter().zip(&got).enumerate() {
            let result = list.get(at).copied().unwrap_or(first);
            self.must_agree(result, want, got);
            self.no_copy_of_mobiles(result, want, got);
            self.moves_from(result);
        }
    }

    /// A process with declarations of its own.
    pub(super) fn process_in_scope(&mut self, process: ProcessId) {
        self.scope(|checker| checker.process(process));
    }
}
