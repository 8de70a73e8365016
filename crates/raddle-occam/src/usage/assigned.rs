//! Owns: which variables a loop's body may change.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: walks a body twice; the answer for each loop is kept.

use super::Walker;
use super::access::Use;
use crate::ast::{
    Alt, AlternativeKind, ChoiceKind, ExprId, ExprKind, If, InputItem, InputKind, Mode, ProcessId,
    ProcessKind, SpecId,
};
use crate::program::{NameId, NameKind};
use std::rc::Rc;

impl Walker<'_> {
    /// The variables that a loop's body may change, sorted; abbreviations are followed to what they name.
    pub(crate) fn changed_in(&mut self, body: ProcessId) -> Rc<[NameId]> {
        if let Some(found) = self.assigned.get(&body) {
            return Rc::clone(found);
        }
        let mut names = Vec::new();
        self.collect(body, &mut names);
        names.sort_unstable();
        names.dedup();
        let names: Rc<[NameId]> = names.into();
        self.assigned.insert(body, Rc::clone(&names));
        names
    }

    fn collect(&mut self, id: ProcessId, names: &mut Vec<NameId>) {
        let ast = self.ast;
        match &ast.process(id).kind {
            ProcessKind::Skip
            | ProcessKind::Stop
            | ProcessKind::Suspend
            | ProcessKind::Error
            | ProcessKind::Sync(_) => {}
            ProcessKind::Construct { replicator, body, .. } => {
                if replicator.is_some() {
                    for &process in body {
                        names.extend(self.changed_in(process).iter());
                    }
                } else {
                    body.iter().for_each(|&process| self.collect(process, names));
                }
            }
            ProcessKind::If(node) => self.collect_if(node, names),
            ProcessKind::Alt(node) => self.collect_alt(node, names),
            ProcessKind::Case { options, .. } => {
                options.iter().for_each(|option| self.collect(option.body, names))
            }
            &ProcessKind::While(_, body) => names.extend(self.changed_in(body).iter()),
            ProcessKind::Assign { targets, values } => {
                targets.iter().for_each(|&target| self.collect_target(target, names));
                values.iter().for_each(|&value| self.collect_moved(value, names));
            }
            ProcessKind::Input { kind, .. } => self.collect_input(kind, names),
            ProcessKind::Extended { kind, during, after, .. } => {
                self.collect_input(kind, names);
                self.collect(*during, names);
                after.iter().for_each(|&after| self.collect(after, names));
            }
            ProcessKind::Output { items, .. } => {
                items.iter().for_each(|item| self.collect_moved(item.value, names))
            }
            ProcessKind::Call { arguments, .. } => {
                names.extend(self.activated_roots(id));
                self.collect_call(self.program.process_names[id.0 as usize], arguments, names);
            }
            ProcessKind::Block { body, .. }
            | ProcessKind::Claim { body, .. }
            | ProcessKind::Resign { body, .. }
            | ProcessKind::Enroll { par: body, .. }
            | ProcessKind::Forking(body) => self.collect(*body, names),
            ProcessKind::Fork { arguments, .. } => {
                self.collect_call(self.program.process_names[id.0 as usize], arguments, names);
            }
        }
    }

    fn collect_if(&mut self, node: &If, names: &mut Vec<NameId>) {
        for choice in &node.choices {
            match &choice.kind {
                &ChoiceKind::Guarded(_, body) => self.collect(body, names),
                ChoiceKind::Nested(node) => self.collect_if(node, names),
            }
        }
    }

    fn collect_alt(&mut self, node: &Alt, names: &mut Vec<NameId>) {
        for alternative in &node.alternatives {
            match &alternative.kind {
                &AlternativeKind::Guarded { input, body, .. } => {
                    input.into_iter().for_each(|input| self.collect(input, names));
                    self.collect(body, names);
                }
                AlternativeKind::Nested(node) => self.collect_alt(node, names),
            }
        }
    }

    fn collect_input(&mut self, kind: &InputKind, names: &mut Vec<NameId>) {
        let items = |walker: &mut Self, items: &[InputItem], names: &mut Vec<NameId>| {
            for item in items {
                item.count.into_iter().for_each(|count| walker.collect_target(count, names));
                walker.collect_target(item.target, names);
            }
        };
        match kind {
            InputKind::Items(list) | InputKind::Tagged(_, list) => items(self, list, names),
            InputKind::Case(variants) => {
                for variant in variants {
                    items(self, &variant.items, names);
                    self.collect(variant.body, names);
                    variant.after.iter().for_each(|&after| self.collect(after, names));
                }
            }
            InputKind::After(_) => {}
        }
    }

    fn collect_target(&mut self, target: ExprId, names: &mut Vec<NameId>) {
        let mut at = target;
        // An abbreviation's own expression is followed; declarations are before uses, so this ends.
        for _ in 0..1000 {
            match self.ast.expr(at).kind {
                ExprKind::Index { base, .. } | ExprKind::Slice { base, .. } | ExprKind::End(base, _) => {
                    at = base
                }
                ExprKind::Name(_) => {
                    let name = self.program.name_of(at);
                    if name == NameId::NONE {
                        return;
                    }
                    names.push(name);
                    match self.program.name(name).kind {
                        NameKind::Abbreviation { mode: Mode::Reference | Mode::Result, value, .. } => {
                            at = value
                        }
                        _ => return,
                    }
                }
                _ => return,
            }
        }
    }

    /// A mobile that is sent or assigned leaves its variable.
    fn collect_moved(&mut self, value: ExprId, names: &mut Vec<NameId>) {
        if self.is_moved(value) {
            self.collect_target(value, names);
        }
    }

    /// Whether it is a place, or an element of one, that is left without what is in it by an assignment to another.
    pub(crate) fn is_moved(&self, value: ExprId) -> bool {
        let place = matches!(
            self.ast.expr(value).kind,
            ExprKind::Name(_) | ExprKind::Index { .. } | ExprKind::End(..)
        );
        place && self.is_mobile(value)
    }

    fn collect_call(&mut self, callee: NameId, arguments: &[ExprId], names: &mut Vec<NameId>) {
        let Some(routine) = self.program.routine_of(callee) else { return };
        let formals = &self.program.routines[routine.0 as usize].formals;
        for (&formal, &argument) in formals.iter().zip(arguments) {
            if matches!(self.program.name(formal).kind, NameKind::Formal(Mode::Reference | Mode::Result)) {
                self.collect_target(argument, names);
            }
            if self.program.name(formal).kind == NameKind::Formal(Mode::Initial) {
                self.collect_moved(argument, names);
            }
        }
        match self.routine_summary(routine) {
            Some(summary) => {
                let changed = summary.accesses.iter().filter(|access| access.what == Use::Write);
                names.extend(changed.map(|access| access.root));
            }
            // A routine that is declared inside the loop: what it changes stands in its body.
            None => {
                if let crate::program::Body::Process(body) = self.program.routines[routine.0 as usize].body
                    && Some(routine) != self.frame.routine
                    && !self.assigned.contains_key(&body)
                {
                    self.assigned.insert(body, Rc::from([]));
                    let mut inner = Vec::new();
                    self.collect(body, &mut inner);
                    names.extend(&inner);
                    // Loops inside were gathered while this body counted as empty.
                    self.assigned.clear();
                }
            }
        }
    }

    /// Whether a value moves when it is sent or assigned.
    pub(crate) fn is_mobile(&self, value: ExprId) -> bool {
        let types = &self.program.types;
        match types.get(self.program.type_of(value)) {
            // Who gets a barrier is one member more.
            crate::types::Type::Mobile(of) if types.is_barrier(of) => false,
            crate::types::Type::Mobile(_) => true,
            crate::types::Type::End { shared, .. } => !shared,
            _ => false,
        }
    }

    /// Whether a list of specifications declares anything at all.
    pub(crate) fn specs(&mut self, specs: &[SpecId]) {
        specs.iter().for_each(|&spec| self.spec(spec));
    }
}
