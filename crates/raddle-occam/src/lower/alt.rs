//! Owns: ALT and PRI ALT.
//! May use: `types`, `raddle-bytecode`, `raddle-occam-syntax`.
//! Never: performs an input before its guard is chosen.
//!
//! Guards are enabled one after the other, then the process waits, then they are disabled with the same numbers in the
//! same order, and the one chosen goes on with its own input. Without replicators the guards are evaluated once and
//! kept in slots. With them, the walk over all guards is repeated for disabling and, except where the replicator's
//! index follows from the number, for finding the one chosen.

use super::function::Home;
use super::{Lowerer, Slot};
use crate::ast::{Alt, Alternative, AlternativeKind, ExprId, InputKind, ProcessId, ProcessKind};
use crate::source::Span;
use crate::types::Types;
use raddle_bytecode::Trap;
use raddle_bytecode::build::Label;

/// A guard whose parts stand in slots.
#[derive(Clone, Copy)]
struct Guard {
    condition: Option<Slot>,
    kind: GuardKind,
    input: Option<ProcessId>,
    body: ProcessId,
}

#[derive(Clone, Copy)]
enum GuardKind {
    Channel(Slot),
    Time(Slot),
    Skip,
}

/// What a walk over the guards does at each.
#[derive(Clone, Copy)]
enum Walk {
    Enable,
    Disable(Slot),
    /// Runs the one whose number is chosen and goes to the label.
    Run(Slot, Label),
}

impl Lowerer<'_> {
    pub(super) fn alt(&mut self, span: Span, node: &Alt) {
        let state = match self.f.alts.pop() {
            Some(state) => state,
            None => {
                let state = self.slots(6);
                self.f.code.zero(state, 24);
                state
            }
        };
        if node.prioritised {
            self.f.code.ldi(state + 1, -1);
        }
        if is_replicated(node) {
            self.alt_walked(span, node, state)
        } else {
            self.alt_fixed(span, node, state)
        }
    }

    fn alt_fixed(&mut self, span: Span, node: &Alt, state: Slot) {
        let mark = self.mark();
        let mut guards = Vec::new();
        self.gather(node, &mut guards);
        let retry = self.f.code.label();
        self.f.code.bind(retry);
        self.f.code.alt(state);
        for guard in &guards {
            self.unless_off(guard.condition, |lowerer| lowerer.enable(guard.kind, state));
        }
        self.at(span);
        self.f.code.altw(state);
        for (number, guard) in guards.iter().enumerate() {
            let number = number as i32;
            self.unless_off(guard.condition, |lowerer| match guard.kind {
                GuardKind::Channel(channel) => lowerer.f.code.disc(channel, state, number),
                GuardKind::Time(time) => lowerer.f.code.dist(time, state, number),
                GuardKind::Skip => lowerer.f.code.diss(0, state, number),
            });
        }
        self.f.code.alte(state, retry);
        let done = self.f.code.label();
        let wrong = self.f.code.label();
        let labels: Vec<Label> = guards.iter().map(|_| self.f.code.label()).collect();
        self.f.code.switch(state, guards.len() as i32);
        labels.iter().chain([&wrong]).for_each(|&label| self.f.code.jump(label));
        for (guard, label) in guards.iter().zip(labels) {
            self.f.code.bind(label);
            guard.input.into_iter().for_each(|input| self.process(input));
            self.process(guard.body);
            self.leave(mark, done);
        }
        self.f.code.bind(wrong);
        self.trap(Trap::Alt);
        self.f.code.bind(done);
        self.forget(mark);
    }

    /// Evaluates all guards, in order.
    fn gather(&mut self, node: &Alt, guards: &mut Vec<Guard>) {
        for alternative in &node.alternatives {
            self.specs(&alternative.specs);
            match &alternative.kind {
                &AlternativeKind::Guarded { condition, input, body } => {
                    let guard = self.guard(condition, input, body);
                    guards.push(guard);
                }
                AlternativeKind::Nested(node) => self.gather(node, guards),
            }
        }
    }

    fn guard(&mut self, condition: Option<ExprId>, input: Option<ProcessId>, body: ProcessId) -> Guard {
        let ast = self.ast;
        let condition = condition.filter(|&condition| self.fold(condition) != Some(1)).map(|condition| {
            let slot = self.slot();
            self.scalar_into(condition, slot);
            slot
        });
        // The channel or time of a guard that is off is not looked at.
        let off = self.f.code.label();
        if let Some(condition) = condition {
            self.f.code.jz(condition, off);
        }
        let kind = match input.map(|input| &ast.process(input).kind) {
            Some(ProcessKind::Input { channel, kind: InputKind::After(time) })
                if self.program.type_of(*channel) == Types::TIMER =>
            {
                let slot = self.slot();
                self.scalar_into(*time, slot);
                GuardKind::Time(slot)
            }
            Some(ProcessKind::Input { channel, .. } | ProcessKind::Extended { channel, .. }) => {
                self.at(ast.process(input.unwrap_or(body)).span);
                self.note_end(*channel, false);
                GuardKind::Channel(self.channel(*channel))
            }
            _ => GuardKind::Skip,
        };
        self.f.code.bind(off);
        Guard { condition, kind, input, body }
    }

    fn unless_off(&mut self, condition: Option<Slot>, work: impl FnOnce(&mut Self)) {
        let off = self.f.code.label();
        if let Some(condition) = condition {
            self.f.code.jz(condition, off);
        }
        work(self);
        self.f.code.bind(off);
    }

    fn enable(&mut self, kind: GuardKind, state: Slot) {
        match kind {
            GuardKind::Channel(channel) => self.f.code.enc(channel, state),
            GuardKind::Time(time) => self.f.code.ent(time, state),
            GuardKind::Skip => self.f.code.ens(state),
        }
    }

    fn alt_walked(&mut self, span: Span, node: &Alt, state: Slot) {
        let number = self.slot();
        let retry = self.f.code.label();
        self.f.code.bind(retry);
        self.f.code.alt(state);
        self.walk(node, state, Walk::Enable);
        self.at(span);
        self.f.code.altw(state);
        self.f.code.ldi(number, 0);
        self.walk(node, state, Walk::Disable(number));
        self.f.code.alte(state, retry);
        let done = self.f.code.label();
        if let (Some(replicator), [alternative]) = (&node.replicator, node.alternatives.as_slice())
            && let AlternativeKind::Guarded { .. } = alternative.kind
        {
            let index = self.slot();
            self.scalar_into(replicator.base, index);
            let far = self.slot();
            match replicator.step {
                Some(step) => {
                    self.scalar_into(step, far);
                    self.f.code.times(far, far, state);
                    self.f.code.plus(index, index, far);
                }
                None => self.f.code.plus(index, index, state),
            }
            let name = self.program.replicator_names[replicator.number as usize];
            self.f.homes.insert(name, Home::Slot(index));
            self.run(alternative, done);
        } else {
            self.f.code.ldi(number, 0);
            self.walk(node, state, Walk::Run(number, done));
            self.trap(Trap::Alt);
        }
        self.f.code.bind(done);
    }

    /// The alternative that was chosen.
    fn run(&mut self, alternative: &Alternative, done: Label) {
        let mark = self.mark();
        self.specs(&alternative.specs);
        if let AlternativeKind::Guarded { input, body, .. } = alternative.kind {
            input.into_iter().for_each(|input| self.process(input));
            self.process(body);
        }
        self.leave(mark, done);
        self.forget(mark);
    }

    fn walk(&mut self, node: &Alt, state: Slot, walk: Walk) {
        let mark = self.mark();
        match &node.replicator {
            None => self.walk_once(node, state, walk),
            Some(replicator) => {
                self.replicated(replicator, |lowerer| lowerer.walk_once(node, state, walk));
            }
        }
        self.release(mark);
    }

    fn walk_once(&mut self, node: &Alt, state: Slot, walk: Walk) {
        for alternative in &node.alternatives {
            let mark = self.mark();
            match &alternative.kind {
                &AlternativeKind::Guarded { condition, input, body } => match walk {
                    Walk::Run(number, done) => {
                        let next = self.f.code.label();
                        self.f.code.jne(number, state, next);
                        self.run(alternative, done);
                        self.f.code.bind(next);
                        self.f.code.plus_i(number, number, 1);
                    }
                    Walk::Enable => {
                        self.specs(&alternative.specs);
                        let guard = self.guard(condition, input, body);
                        self.unless_off(guard.condition, |lowerer| lowerer.enable(guard.kind, state));
                    }
                    Walk::Disable(number) => {
                        self.specs(&alternative.specs);
                        let guard = self.guard(condition, input, body);
                        self.unless_off(guard.condition, |lowerer| match guard.kind {
                            GuardKind::Channel(channel) => lowerer.f.code.disc_r(channel, state, number),
                            GuardKind::Time(time) => lowerer.f.code.dist_r(time, state, number),
                            GuardKind::Skip => lowerer.f.code.diss_r(0, state, number),
                        });
                        self.f.code.plus_i(number, number, 1);
                    }
                },
                AlternativeKind::Nested(node) => {
                    self.specs(&alternative.specs);
                    self.walk(node, state, walk);
                }
            }
            self.release(mark);
        }
    }
}

fn is_replicated(node: &Alt) -> bool {
    node.replicator.is_some()
        || node.alternatives.iter().any(|alternative| match &alternative.kind {
            AlternativeKind::Nested(node) => is_replicated(node),
            AlternativeKind::Guarded { .. } => false,
        })
}
