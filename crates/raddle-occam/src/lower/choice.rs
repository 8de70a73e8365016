//! Owns: IF and CASE.
//! May use: `raddle-bytecode`, `raddle-occam-syntax`.
//! Never: falls through; without a way there is a trap.

use super::Lowerer;
use crate::ast::{CaseOption, ChoiceKind, ExprId, If};
use crate::source::Span;
use raddle_bytecode::Trap;
use raddle_bytecode::build::Label;

impl Lowerer<'_> {
    pub(super) fn if_process(&mut self, span: Span, node: &If) {
        let done = self.f.code.label();
        self.choices(node, done);
        if !self.always(node) {
            // Of the IF, not of the choice that was tried last.
            self.at(span);
            self.trap(Trap::If);
        }
        self.f.code.bind(done);
    }

    /// Whether the last choice is always taken.
    fn always(&self, node: &If) -> bool {
        match node.choices.last() {
            Some(choice) if node.replicator.is_none() => match &choice.kind {
                ChoiceKind::Guarded(condition, _) => self.fold(*condition) == Some(1),
                ChoiceKind::Nested(node) => self.always(node),
            },
            _ => false,
        }
    }

    /// Takes the first choice whose condition is TRUE and goes to `done`, or goes on behind the choices.
    fn choices(&mut self, node: &If, done: Label) {
        match &node.replicator {
            None => self.choices_once(node, done),
            Some(replicator) => {
                let mark = self.mark();
                self.replicated(replicator, |lowerer| lowerer.choices_once(node, done));
                self.release(mark);
            }
        }
    }

    fn choices_once(&mut self, node: &If, done: Label) {
        for choice in &node.choices {
            let mark = self.mark();
            self.specs(&choice.specs);
            match &choice.kind {
                &ChoiceKind::Guarded(condition, body) => {
                    let next = self.f.code.label();
                    self.at(self.ast.expr(condition).span);
                    self.jump_unless(condition, next);
                    self.process(body);
                    self.leave(mark, done);
                    self.f.code.bind(next);
                }
                ChoiceKind::Nested(node) => {
                    let inner = self.f.code.label();
                    let next = self.f.code.label();
                    self.choices(node, inner);
                    self.f.code.jump(next);
                    self.f.code.bind(inner);
                    self.leave(mark, done);
                    self.f.code.bind(next);
                }
            }
            self.release(mark);
        }
    }

    pub(super) fn case(&mut self, selector: ExprId, options: &[CaseOption]) {
        let done = self.f.code.label();
        let value = self.slots(2);
        let class = self.class(selector);
        self.scalar_into(selector, value);
        let labels: Vec<Label> = options.iter().map(|_| self.f.code.label()).collect();
        let mut otherwise = None;
        for (option, &label) in options.iter().zip(&labels) {
            if option.values.is_empty() {
                otherwise = Some(label);
            }
            for &constant in &option.values {
                let mark = self.mark();
                match self.fold(constant).and_then(|value| i16::try_from(value).ok()) {
                    Some(small) if class.slots() == 1 => self.f.code.jeq_i(value, i32::from(small), label),
                    _ => {
                        let (other, equal) = (self.scalar(constant), self.slot());
                        self.apply(crate::ast::Dyadic::Equal, class, equal, value, other);
                        self.f.code.jnz(equal, label);
                    }
                }
                self.release(mark);
            }
        }
        match otherwise {
            Some(label) => self.f.code.jump(label),
            None => self.trap(Trap::Case),
        }
        for (option, label) in options.iter().zip(labels) {
            self.f.code.bind(label);
            let mark = self.mark();
            self.specs(&option.specs);
            self.process(option.body);
            self.release(mark);
            self.f.code.jump(done);
        }
        self.f.code.bind(done);
    }
}
