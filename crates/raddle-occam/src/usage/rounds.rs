//! Owns: loops: what is known in a round, and behind the last one.
//! May use: `program`, `raddle-occam-syntax`.
//! Never: walks a body twice.
//!
//! A body is walked once, as its first round, with values that an earlier round may have changed unknown. What had no
//! value before the loop has none in what the first round does in any case, though later rounds may have given it one;
//! in what not every round comes by, it has one perhaps.

use super::Walker;
use super::again::Rounds;
use super::poly::{Fact, Poly};
use super::state::{BranchEnd, Defined};
use crate::ast::{ExprId, ExprKind, ProcessId, Replicator};
use crate::program::NameId;
use std::rc::Rc;

impl Walker<'_> {
    pub(super) fn replicated_seq(&mut self, replicator: &Replicator, body: &[ProcessId]) {
        let base = self.read_value(replicator.base);
        let count = self.read_value(replicator.count);
        let step = replicator.step.map_or_else(|| Poly::constant(1), |step| self.read_value(step));
        let certain = count.as_constant().is_some_and(|count| count > 0);
        let inductions = if let &[only] = body { self.inductions(only) } else { Vec::new() };
        let rounds = self.rounds_of(replicator, &base, &count, &step);
        let within = |walker: &mut Self| {
            if !certain {
                walker.perhaps_a_later_round();
            }
            for &process in body {
                walker.unknown_after_rounds(process);
            }
            walker.some_rounds(&count);
            let number = walker.bind_index(replicator, &base, &count, &step);
            walker.in_round(&inductions, number);
            walker.begin_lap();
            body.iter().for_each(|&process| walker.process(process));
            walker.end_lap(&rounds);
            walker.rounds.truncate(walker.rounds.len() - body.len());
        };
        let outcome = if certain { self.sure_branch(within) } else { self.branch(within) };
        self.join_rounds(outcome, certain);
    }

    /// Within a loop there is at least one round.
    pub(crate) fn some_rounds(&mut self, count: &Poly) {
        if count.as_constant().is_none_or(|count| count < 1) {
            let fact = count.add(-1).map(Fact::NotNegative);
            self.assume(fact.into_iter().collect());
        }
    }

    /// Goes on after a loop, whose body may not have run at all unless `certain`.
    pub(crate) fn join_rounds(&mut self, outcome: BranchEnd, certain: bool) {
        let mut outcomes = vec![outcome];
        if !certain {
            let nothing = self.branch(|_| {});
            outcomes.push(nothing);
        }
        self.join(outcomes);
    }

    /// Something that is not done in every round: a round before may have given values to what had none at first.
    pub(crate) fn perhaps_a_later_round(&mut self) {
        for at in 0..self.rounds.len() {
            let names = Rc::clone(&self.rounds[at]);
            for &name in names.iter() {
                let state = self.states.get(name);
                let away = self.defined(name) == Defined::Moved && !self.moved_in_round(at, name);
                if away || self.defined(name) == Defined::No {
                    let value = state.value.clone();
                    self.set(name, Defined::Maybe, value);
                }
            }
        }
    }

    /// Whether a round before this one may have given the variable its value.
    pub(crate) fn given_by_rounds(&self, name: NameId) -> bool {
        self.rounds.iter().any(|names| names.contains(&name))
    }

    /// What the body changes may have changed in an earlier round.
    fn unknown_after_rounds(&mut self, body: ProcessId) {
        let names = self.changed_in(body);
        for &name in names.iter() {
            let defined = self.defined(name);
            if self.program.types.is_integer(self.program.name(name).ty) {
                let symbol = self.table.fresh_shown(name);
                self.table.list[symbol.0 as usize].vague = true;
                self.set(name, defined, Some(Poly::symbol(symbol)));
            }
        }
        // What is declared inside begins each round without a value.
        let newest = self.newest;
        self.rounds.push(names.iter().copied().filter(|&name| name <= newest).collect());
    }

    pub(super) fn while_loop(&mut self, condition: ExprId, body: ProcessId) {
        let forever = matches!(self.ast.expr(condition).kind, ExprKind::Bool(true));
        let inductions = self.inductions(body);
        let outcome = self.branch(|walker| {
            walker.perhaps_a_later_round();
            walker.unknown_after_rounds(body);
            if !inductions.is_empty() {
                let number = walker.table.fresh();
                walker.table.define(number, Some(Fact::NotNegative(Poly::symbol(number))));
                walker.in_round(&inductions, number);
            }
            walker.begin_lap();
            walker.read(condition);
            let facts = walker.condition_facts(condition, true).unwrap_or_default();
            walker.assume(facts);
            walker.process(body);
            walker.end_lap(if forever { &Rounds::Twice(None) } else { &Rounds::Unknown });
            walker.rounds.pop();
        });
        self.join_rounds(outcome, false);
        if forever {
            self.lap_never_ends();
            self.dead = true;
        }
    }
}
