//! Owns: the walk over IF, ALT and CASE.
//! May use: `raddle-occam-syntax`.
//! Never: forgets that an IF without a true condition stops.

use super::Walker;
use super::poly::{Fact, Poly};
use super::state::BranchEnd;
use crate::ast::{Alt, AlternativeKind, CaseOption, ChoiceKind, ExprId, If, InputKind, ProcessKind};

impl Walker<'_> {
    pub(crate) fn if_process(&mut self, node: &If) {
        let mut outcomes = Vec::new();
        let path = self.path;
        self.choices(node, &mut outcomes);
        self.path = path;
        self.join(outcomes);
    }

    /// Each choice as a branch; behind it the path says that it was not taken.
    fn choices(&mut self, node: &If, outcomes: &mut Vec<BranchEnd>) {
        if let Some(replicator) = &node.replicator {
            let outcome = self.branch(|walker| {
                walker.bind_replicator(replicator);
                let mut outcomes = Vec::new();
                walker.each_choice(node, &mut outcomes);
                walker.join(outcomes);
            });
            outcomes.push(outcome);
        } else {
            self.each_choice(node, outcomes);
        }
    }

    fn each_choice(&mut self, node: &If, outcomes: &mut Vec<BranchEnd>) {
        for choice in &node.choices {
            let freezes = self.freezes.len();
            match &choice.kind {
                &ChoiceKind::Guarded(condition, body) => {
                    let mut against = None;
                    let outcome = self.branch(|walker| {
                        walker.perhaps_a_later_round();
                        walker.specs(&choice.specs);
                        walker.read(condition);
                        against = walker.condition_facts(condition, false);
                        let facts = walker.condition_facts(condition, true).unwrap_or_default();
                        walker.assume(facts);
                        walker.process(body);
                    });
                    outcomes.push(outcome);
                    self.assume(against.unwrap_or_default());
                }
                ChoiceKind::Nested(node) => {
                    self.specs(&choice.specs);
                    self.choices(node, outcomes);
                }
            }
            self.freezes.truncate(freezes);
        }
    }

    pub(crate) fn alt(&mut self, node: &Alt) {
        let mut outcomes = Vec::new();
        self.alternatives(node, &mut outcomes);
        self.join(outcomes);
    }

    fn alternatives(&mut self, node: &Alt, outcomes: &mut Vec<BranchEnd>) {
        if let Some(replicator) = &node.replicator {
            let outcome = self.branch(|walker| {
                walker.bind_replicator(replicator);
                let mut outcomes = Vec::new();
                walker.each_alternative(node, &mut outcomes);
                walker.join(outcomes);
            });
            outcomes.push(outcome);
        } else {
            self.each_alternative(node, outcomes);
        }
    }

    fn each_alternative(&mut self, node: &Alt, outcomes: &mut Vec<BranchEnd>) {
        let ast = self.ast;
        for alternative in &node.alternatives {
            let freezes = self.freezes.len();
            match &alternative.kind {
                &AlternativeKind::Guarded { condition, input, body } => {
                    let outcome = self.branch(|walker| {
                        walker.perhaps_a_later_round();
                        walker.specs(&alternative.specs);
                        if let Some(condition) = condition {
                            walker.read(condition);
                            let facts = walker.condition_facts(condition, true).unwrap_or_default();
                            walker.assume(facts);
                        }
                        match input.map(|input| &ast.process(input).kind) {
                            Some(ProcessKind::Input { channel, kind }) => {
                                walker.input(*channel, kind);
                                if matches!(kind, InputKind::Case(_)) {
                                    return;
                                }
                            }
                            Some(ProcessKind::Extended { channel, kind, during, after }) => {
                                return walker.extended(*channel, kind, *during, *after);
                            }
                            _ => {}
                        }
                        walker.process(body);
                    });
                    outcomes.push(outcome);
                }
                AlternativeKind::Nested(node) => {
                    self.specs(&alternative.specs);
                    self.alternatives(node, outcomes);
                }
            }
            self.freezes.truncate(freezes);
        }
    }

    pub(crate) fn case(&mut self, selector: ExprId, options: &[CaseOption]) {
        let value = self.read_value(selector);
        let mut outcomes = Vec::new();
        let mut others = Vec::new();
        for option in options {
            let freezes = self.freezes.len();
            let mut chosen = Vec::new();
            for constant in &option.values {
                let constant =
                    self.program.constants.get(&constant.0).map(|&constant| Poly::constant(constant));
                if let Some(difference) = constant.and_then(|constant| value.minus(&constant)) {
                    chosen.push(vec![Fact::Zero(difference.clone())]);
                    others.push(Fact::NotZero(difference));
                }
            }
            let facts = if option.values.is_empty() { others.clone() } else { vec![Fact::OneOf(chosen)] };
            let outcome = self.branch(|walker| {
                walker.perhaps_a_later_round();
                walker.assume(facts);
                walker.specs(&option.specs);
                walker.process(option.body);
            });
            outcomes.push(outcome);
            self.freezes.truncate(freezes);
        }
        self.join(outcomes);
    }
}
