//! Owns: mobile processes: what an activation uses, what a process takes along, and what it must not keep.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: judges where SUSPEND stands; `check` does.
//!
//! What a process is given, it has until it suspends; at the next activation the same parameters are other channels. So
//! parameters are looked up anew at each use, through PROCs that suspend, too. What cannot be looked up anew is
//! refused: a channel of a given bundle under another name, or in a table, and a given barrier that a PAR enrolls its
//! branches in.

use super::Walker;
use super::access::{Access, AccessPath, Step, Use};
use super::call::Actual;
use super::routine::Summary;
use crate::ast::{ExprId, Mode, ProcessId};
use crate::diag::{Code, Diagnostic};
use crate::program::{NameId, NameKind, RoutineId};
use crate::source::Span;
use crate::types::{Type, Types};

impl Walker<'_> {
    /// The variables with the process that a call activates.
    pub(super) fn activated_roots(&self, call: ProcessId) -> Vec<NameId> {
        let process = self.program.activations.get(&call.0);
        process.map_or_else(Vec::new, |&name| self.name_places(name).iter().map(|place| place.root).collect())
    }

    /// An activation changes the process, which must be there.
    pub(super) fn activate(&mut self, call: ProcessId, span: Span) {
        let Some(&name) = self.program.activations.get(&call.0) else { return };
        for place in self.name_places(name) {
            self.touch(&place, Use::Read, span);
            self.touch(&place, Use::Write, span);
        }
    }

    /// What may be done with a parameter of a PROC TYPE, as far as that differs from any other parameter.
    pub(super) fn given(&mut self, formal: NameId, accesses: &mut Vec<Access>) -> bool {
        let name = self.program.name(formal);
        let whole = AccessPath::whole(formal);
        let access = match self.program.types.get(name.ty) {
            // Claimed by the process, which leaves it where it is.
            Type::End { shared: true, .. } => whole.access(Use::Read, name.span, 0),
            // As a member of it.
            Type::Barrier => whole.step(Step::Size, &mut self.table).access(Use::Write, name.span, 0),
            _ => return false,
        };
        accesses.push(access);
        true
    }

    /// A MOBILE PROC uses nothing of its surroundings, and leaves SHARED ends where they are.
    pub(super) fn takes_along(&mut self, id: RoutineId, summary: &Summary) {
        let program = self.program;
        let routine = &program.routines[id.0 as usize];
        if routine.implements.is_none() {
            return;
        }
        let span = program.name(routine.name).span;
        let mut outer = self.forks.outer_names(id);
        outer.retain(|&name| !self.is_constant(name));
        for name in outer {
            let text = program.spelling(name);
            let message = format!("the process would use `{text}`, which does not move with it");
            let complaint = Diagnostic::new(Code::Suspend, span, message);
            self.complain(
                complaint
                    .also(program.name(name).span, "declared here")
                    .help("make it a parameter, or send it to the process"),
            );
        }
        for access in summary.accesses.iter().filter(|access| access.what == Use::Write) {
            let name = program.name(access.root);
            let shared = matches!(program.types.get(name.ty), Type::End { shared: true, .. });
            if shared && routine.formals.contains(&access.root) && access.path.is_empty() {
                let text = program.spelling(access.root);
                let message = format!("`{text}` is lent to the process as one of many, and stays what it is");
                self.complain(Diagnostic::new(Code::Suspend, access.span, message));
            }
        }
    }

    /// Whether a name is the same wherever a process may be.
    fn is_constant(&self, name: NameId) -> bool {
        let declared = self.program.name(name);
        let timer = self.program.types.innermost(declared.ty) == Types::TIMER;
        let outermost =
            declared.level == 0 && matches!(declared.kind, NameKind::Abbreviation { mode: Mode::Val, .. });
        timer || outermost || self.program.values.contains_key(&name.0)
    }

    /// Whether the walk stands in a routine that suspends.
    fn suspends(&self) -> bool {
        self.frame.routine.is_some_and(|id| self.program.routines[id.0 as usize].suspends)
    }

    /// Whether it is a place that another activation finds elsewhere.
    fn is_given(&self, root: NameId, of: fn(Type) -> bool) -> bool {
        let name = self.program.name(root);
        let types = &self.program.types;
        matches!(name.kind, NameKind::Formal(Mode::Reference | Mode::Result))
            && of(types.get(types.innermost(name.ty)))
    }

    fn keeps(&mut self, root: NameId, span: Span, what: &str, help: &str) {
        let text = self.program.spelling(root);
        let message = format!("`{text}` may be another one when the process is activated again, {what}");
        let declared = self.program.name(root).span;
        let complaint = Diagnostic::new(Code::Suspend, span, message).also(declared, "given here");
        self.complain(complaint.help(help));
    }

    /// A table of channels has their places.
    pub(super) fn keeps_nothing_given(&mut self, places: &[AccessPath], span: Span) {
        if !self.suspends() {
            return;
        }
        let given = |ty| matches!(ty, Type::Chan { .. } | Type::End { .. });
        if let Some(root) = places.iter().map(|place| place.root).find(|&root| self.is_given(root, given)) {
            self.keeps(
                root,
                span,
                "and the table would have the old one",
                "name the channel itself where it is used",
            );
        }
    }

    /// An abbreviation of a bundle's channel has its place.
    pub(super) fn names_nothing_given(&mut self, value: ExprId) {
        let is_channel = matches!(self.program.types.get(self.program.type_of(value)), Type::Chan { .. });
        if is_channel && self.suspends() {
            let span = self.ast.expr(value).span;
            for place in self.places(value) {
                self.part_stays(&place, span);
            }
        }
    }

    fn part_stays(&mut self, place: &AccessPath, span: Span) {
        let given = |ty| matches!(ty, Type::End { .. });
        if !place.path.is_empty() && self.is_given(place.root, given) {
            let help = "name the bundle, and its channel where it is used";
            self.keeps(place.root, span, "and its channel has a name of its own here", help);
        }
    }

    /// A PROC that suspends is given whole bundles.
    pub(super) fn lends_nothing_given(&mut self, actuals: &[Actual]) {
        for actual in actuals.iter().filter(|actual| actual.reference) {
            let ty = self.program.type_of(actual.argument);
            if matches!(self.program.types.get(ty), Type::Chan { .. }) {
                let span = self.ast.expr(actual.argument).span;
                actual.places.iter().for_each(|place| self.part_stays(place, span));
            }
        }
    }

    /// The branches of a PAR leave the barriers that they were enrolled in.
    pub(super) fn enrolls_nothing_given(&mut self, roots: &[NameId], span: Span) {
        if !self.suspends() {
            return;
        }
        let given = |ty| matches!(ty, Type::Barrier);
        if let Some(&root) = roots.iter().find(|&&root| self.is_given(root, given)) {
            let help = "declare a BARRIER of the process's own";
            self.keeps(root, span, "and the branches would leave the old one", help);
        }
    }
}
