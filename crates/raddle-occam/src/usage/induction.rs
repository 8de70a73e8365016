//! Owns: variables that a loop moves on by the same amount in each round.
//! May use: `program`, `raddle-occam-syntax`.
//! Never: takes one for such of which a round could do anything else with it.
//!
//! A body that is a SEQ, one of whose processes is `k := k + c`, while none of the others changes `k`, and nothing
//! changes `c`, leaves `k` in round `r` with what it had before the loop plus `r * c`: each round that begins comes by
//! that line once if it ends, and a sum that overflows ends the program.

use super::Walker;
use super::poly::{Poly, Sym};
use crate::ast::{ExprId, ExprKind, Mode, ProcessId, ProcessKind};
use crate::operator::Algebra;
use crate::program::{NameId, NameKind};

/// A variable, what it has before the loop, and what each round adds.
pub(crate) struct Induction {
    name: NameId,
    first: Poly,
    step: Poly,
}

impl Walker<'_> {
    /// The variables that the loop with this body moves on. To be asked before the loop is entered.
    pub(super) fn inductions(&mut self, body: ProcessId) -> Vec<Induction> {
        let ast = self.ast;
        let mut body = body;
        while let ProcessKind::Block { body: inner, .. } = ast.process(body).kind {
            body = inner;
        }
        let ProcessKind::Construct { order: crate::ast::ConstructKind::Seq, replicator: None, body: list } =
            &ast.process(body).kind
        else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for &process in list {
            let Some((name, step, sign)) = self.moved_on(process) else { continue };
            let alone = |walker: &mut Self, name: NameId, but: ProcessId| {
                list.iter().all(|&other| other == but || !walker.changed_in(other).contains(&name))
            };
            if !self.is_plain_variable(name) || !alone(self, name, process) {
                continue;
            }
            let Some(step) = self.fixed(step, body).and_then(|step| step.scale(sign)) else { continue };
            found.push(Induction { name, first: self.value_of(name), step });
        }
        found
    }

    /// In the round of that number.
    pub(super) fn in_round(&mut self, inductions: &[Induction], number: Sym) {
        for Induction { name, first, step } in inductions {
            let moved = self.table.times(step, &Poly::symbol(number));
            let Some(value) = moved.and_then(|moved| first.plus(&moved, 1)) else { continue };
            let defined = self.defined(*name);
            if self.table.shown(number).is_none() {
                self.table.show(number, *name, value.clone());
            }
            self.set(*name, defined, Some(value));
        }
    }

    /// `name := name + step`, with the sign of the step.
    fn moved_on(&self, process: ProcessId) -> Option<(NameId, ExprId, i64)> {
        let ProcessKind::Assign { targets, values } = &self.ast.process(process).kind else { return None };
        let (&[target], &[value]) = (targets.as_slice(), values.as_slice()) else { return None };
        let name = self.named(target)?;
        let ExprKind::Dyadic(operator, left, right) = self.ast.expr(value).kind else { return None };
        // An operator of the program's own may be anything.
        if self.program.name_of(value) != NameId::NONE {
            return None;
        }
        match operator.row().algebra {
            Algebra::Sum if self.named(left) == Some(name) => Some((name, right, 1)),
            Algebra::Sum if self.named(right) == Some(name) => Some((name, left, 1)),
            Algebra::Difference if self.named(left) == Some(name) => Some((name, right, -1)),
            _ => None,
        }
    }

    fn named(&self, expr: ExprId) -> Option<NameId> {
        let is_name = matches!(self.ast.expr(expr).kind, ExprKind::Name(_));
        Some(self.program.name_of(expr)).filter(|&name| is_name && name != NameId::NONE)
    }

    /// Whether it is a whole number of this routine's own, which no other name and no other process changes.
    fn is_plain_variable(&self, name: NameId) -> bool {
        let declared = self.program.name(name);
        let variable =
            matches!(declared.kind, NameKind::Variable | NameKind::Abbreviation { mode: Mode::Initial, .. });
        variable
            && !declared.shared
            && !declared.permits_aliases
            && declared.level == self.frame.level
            && self.states.get(name).level == self.frame.level
            && self.program.types.is_integer(declared.ty)
    }

    /// The value of what no round changes.
    fn fixed(&mut self, expr: ExprId, body: ProcessId) -> Option<Poly> {
        let Some(name) = self.named(expr) else {
            return Some(self.value(expr)).filter(|value| value.as_constant().is_some());
        };
        let declared = self.program.name(name);
        let constant = matches!(
            declared.kind,
            NameKind::Index | NameKind::Formal(Mode::Val) | NameKind::Abbreviation { mode: Mode::Val, .. }
        );
        let variable = self.is_plain_variable(name) && !self.changed_in(body).contains(&name);
        let within = self.states.get(name).level != self.frame.level;
        if declared.shared || within || !(constant || variable) {
            return None;
        }
        Some(self.value_of(name))
    }
}
