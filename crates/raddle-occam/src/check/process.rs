//! Owns: processes.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: judges parallel use.

use super::Checker;
use crate::ast::{
    Alt, AlternativeKind, CaseOption, ChoiceKind, ConstructKind, ExprId, Ident, If, InputKind, ProcessId,
    ProcessKind, Replicator,
};
use crate::diag::{COMPLAINTS_MAX, Code, Diagnostic};
use crate::program::NameId;
use crate::source::Span;
use crate::types::{Type, TypeId, Types};

impl Checker<'_> {
    pub(super) fn process(&mut self, id: ProcessId) {
        let ast = self.ast;
        let process = ast.process(id);
        if self.gives_up(process.span) {
            return;
        }
        match &process.kind {
            ProcessKind::Skip | ProcessKind::Stop | ProcessKind::Error => {}
            ProcessKind::Construct { order, replicator, body } => {
                if *order != ConstructKind::Seq {
                    self.communicates(process.span);
                }
                self.note_order(id, *order, process.span);
                self.replicated(replicator.as_deref(), |checker| {
                    for &process in body {
                        if let Some(&number) = ast.processors.get(&process.0) {
                            checker.expr_of(number, Types::INT);
                        }
                        checker.process_in_scope(process);
                    }
                });
            }
            ProcessKind::If(node) => self.if_process(node),
            ProcessKind::Alt(node) => {
                self.communicates(process.span);
                self.alt(node);
            }
            ProcessKind::Case { selector, options } => self.case(*selector, options),
            &ProcessKind::While(condition, body) => {
                self.condition(condition);
                self.process_in_scope(body);
            }
            ProcessKind::Assign { targets, values } => self.assign(targets, values, process.span),
            ProcessKind::Input { channel, kind } => self.input(*channel, kind, process.span),
            ProcessKind::Extended { channel, kind, during, after } => {
                self.extended((*channel, kind), (*during, *after), process.span);
            }
            ProcessKind::Output { channel, items } => self.output(*channel, items, process.span),
            ProcessKind::Call { name, arguments } => self.proc_call(id, *name, arguments),
            ProcessKind::Block { specs, body } => {
                self.scope(|checker| {
                    checker.specs(specs);
                    checker.process(*body);
                });
            }
            &ProcessKind::Claim { end, body } => self.claim(end, body),
            ProcessKind::Enroll { barriers, par } => self.enroll(barriers, *par),
            &ProcessKind::Sync(barrier) => self.sync(barrier, process.span),
            &ProcessKind::Resign { barrier, body } => self.resign(barrier, body, process.span),
            &ProcessKind::Forking(body) => {
                self.communicates(process.span);
                let first = NameId(self.program.names.len() as u32);
                self.program.forkings.insert(id.0, first);
                self.steadily("a FORKING", process.span, body);
            }
            ProcessKind::Suspend => {
                self.communicates(process.span);
                self.suspends_here(process.span);
            }
            ProcessKind::Fork { name, arguments } => self.fork(id, *name, arguments, process.span),
        }
    }

    /// An extended input: nothing suspends while its sender waits.
    fn extended(
        &mut self,
        (channel, kind): (ExprId, &InputKind),
        (during, after): (ProcessId, Option<ProcessId>),
        span: Span,
    ) {
        let around = self.steady.len();
        self.steady.push(("the process of `??`", span));
        self.input(channel, kind, span);
        self.must_wait(channel);
        self.process_in_scope(during);
        self.steady.truncate(around);
        after.iter().for_each(|&after| self.process_in_scope(after));
    }

    fn fork(&mut self, id: ProcessId, name: Ident, arguments: &[ExprId], span: Span) {
        self.communicates(span);
        self.steady.push(("a forked process", span));
        self.proc_call(id, name, arguments);
        self.steady.pop();
        self.not_forked(id, name);
        arguments.iter().for_each(|&argument| self.not_claimed(argument));
    }

    /// Whether so much is wrong that processes are no longer looked at, which is an error of its own.
    fn gives_up(&mut self, span: Span) -> bool {
        let many = self.diagnostics.len() >= COMPLAINTS_MAX * 2;
        if many && !std::mem::replace(&mut self.given_up, true) {
            self.complain(Code::Unexpected, span, "so much is wrong that the rest is not checked");
        }
        many
    }

    fn note_order(&mut self, id: ProcessId, order: ConstructKind, span: Span) {
        match order {
            ConstructKind::PriPar => {
                let complaint = Diagnostic::new(Code::PriPar, span, "this runs as PAR: all branches alike");
                let pri = Span::new(span.lo, span.lo + 4);
                let complaint = complaint.help("write PAR, or PRI ALT where one input must win");
                self.diagnostics.push(complaint.fix("write PAR", pri, ""));
            }
            ConstructKind::PlacedPar => {
                // What is declared in it has a number from here on.
                let first = NameId(self.program.names.len() as u32);
                self.program.placed.insert(id.0, first);
            }
            ConstructKind::Seq | ConstructKind::Par => {}
        }
    }

    fn replicated(&mut self, replicator: Option<&Replicator>, within: impl FnOnce(&mut Self)) {
        match replicator {
            None => within(self),
            Some(replicator) => self.scope(|checker| {
                checker.replicator(replicator);
                within(checker);
            }),
        }
    }

    fn if_process(&mut self, node: &If) {
        self.replicated(node.replicator.as_ref(), |checker| {
            for choice in &node.choices {
                checker.scope(|checker| {
                    checker.specs(&choice.specs);
                    match &choice.kind {
                        &ChoiceKind::Guarded(condition, body) => {
                            checker.condition(condition);
                            checker.process_in_scope(body);
                        }
                        ChoiceKind::Nested(node) => checker.if_process(node),
                    }
                });
            }
        });
    }

    fn alt(&mut self, node: &Alt) {
        self.replicated(node.replicator.as_ref(), |checker| {
            for alternative in &node.alternatives {
                checker.scope(|checker| {
                    checker.specs(&alternative.specs);
                    match &alternative.kind {
                        &AlternativeKind::Guarded { condition, input, body } => {
                            condition.into_iter().for_each(|condition| checker.condition(condition));
                            if let Some(input) = input {
                                checker.guard(input);
                            }
                            checker.process_in_scope(body);
                        }
                        AlternativeKind::Nested(node) => checker.alt(node),
                    }
                });
            }
        });
    }

    fn guard(&mut self, input: ProcessId) {
        let ast = self.ast;
        self.process(input);
        let (ProcessKind::Input { channel, kind } | ProcessKind::Extended { channel, kind, .. }) =
            &ast.process(input).kind
        else {
            return;
        };
        let timer = self.type_of(*channel) == Types::TIMER;
        if timer && !matches!(kind, InputKind::After(_))
            || matches!(self.program.types.get(self.type_of(*channel)), Type::Port(_))
        {
            let complaint =
                Diagnostic::new(Code::Guard, self.span(*channel), "this is always ready, and no guard");
            self.diagnostics.push(complaint.help("a timer guards with `? AFTER time`; otherwise use SKIP"));
        }
    }

    /// An extended input is one from a channel: nobody waits at a timer or a port.
    fn must_wait(&mut self, channel: ExprId) {
        let ty = self.type_of(channel);
        if matches!(self.program.types.get(ty), Type::Timer | Type::Port(_)) {
            let message =
                format!("nobody outputs to something of type {} and could be kept waiting", self.show(ty));
            self.complain(Code::Extended, self.span(channel), message);
        }
    }

    fn case(&mut self, selector: ExprId, options: &[CaseOption]) {
        let ty = self.expr(selector, None);
        let ty = self.program.types.immobile(ty);
        if ty != Types::ERROR && (self.program.types.basic(ty).is_none() || self.program.types.is_real(ty)) {
            let message = format!("CASE selects by a whole number, BYTE or BOOL, not {}", self.show(ty));
            self.complain(Code::TypeMismatch, self.span(selector), message);
        }
        let mut seen: crate::symbol::FastMap<i64, Span> = Default::default();
        let mut otherwise = None;
        for option in options {
            self.scope(|checker| {
                checker.specs(&option.specs);
                if option.values.is_empty() {
                    checker.repeated_option(otherwise.replace(option.span), option.span, "ELSE");
                }
                for &value in &option.values {
                    let span = checker.span(value);
                    checker.expr_of(value, ty);
                    if let Some(constant) = checker.needed_constant(value) {
                        let before = seen.insert(constant, span);
                        checker.repeated_option(before, span, &constant.to_string());
                    }
                }
                checker.process_in_scope(option.body);
            });
        }
    }

    fn repeated_option(&mut self, before: Option<Span>, span: Span, what: &str) {
        if let Some(before) = before {
            let complaint = Diagnostic::new(Code::CaseOption, span, format!("{what} has its option already"));
            self.diagnostics.push(complaint.also(before, "here"));
        }
    }

    fn assign(&mut self, targets: &[ExprId], values: &[ExprId], span: Span) {
        let wants: Vec<TypeId> = targets.iter().map(|&target| self.expr(target, None)).collect();
        let got = self.values(values, &wants);
        for &target in targets {
            self.must_be_variable(target);
            self.no_channel(target);
            self.not_claimed(target);
        }
        values.iter().for_each(|&value| self.not_claimed(value));
        if self.new_bundle(targets, values, &wants, &got) {
            return;
        }
        if wants.len() != got.len() {
            if !got.contains(&Types::ERROR) {
                let message = format!("{} targets but {} values", wants.len(), got.len());
                self.complain(Code::ArgumentCount, span, message);
            }
            return;
        }
        for (at, (&want, &got)) in wants.iter().zip(&got).enumerate() {
            let value = values.get(at).copied().unwrap_or(values[0]);
            self.no_copy_of_mobiles(value, want, got);
            self.moves_from(value);
            if !self.is_end_and_any(want, got) {
                self.must_agree(value, want, got);
                self.must_stay_shared(value, want, got);
            }
        }
    }

    fn no_channel(&mut self, target: ExprId) {
        let ty = self.type_of(target);
        if self.program.types.is_channel_like(ty) {
            let message = format!("something of type {} cannot be assigned", self.show(ty));
            self.complain(Code::NotAssignable, self.span(target), message);
        }
    }

    /// Rule U6: a claimed end stays where it is.
    pub(super) fn not_claimed(&mut self, expr: ExprId) {
        let whole = matches!(self.ast.expr(expr).kind, crate::ast::ExprKind::Name(_));
        if let Some(root) = self.root(expr).filter(|root| whole && self.claims.contains(root)) {
            let text = self.program.spelling(root).to_owned();
            self.complain(Code::Claim, self.span(expr), format!("`{text}` is claimed and stays where it is"));
        }
    }

    /// `client, server := MOBILE BUNDLE` makes both ends.
    fn new_bundle(
        &mut self,
        targets: &[ExprId],
        values: &[ExprId],
        wants: &[TypeId],
        got: &[TypeId],
    ) -> bool {
        let &[only] = got else { return false };
        let Type::End { bundle, .. } = self.program.types.get(only) else { return false };
        if !matches!(self.ast.expr(values[0]).kind, crate::ast::ExprKind::NewMobile(_)) {
            return false;
        }
        let ends: Vec<_> = wants.iter().map(|&want| self.program.types.get(want)).collect();
        let fits = match ends.as_slice() {
            &[
                Type::End { bundle: one, direction: first, .. },
                Type::End { bundle: two, direction: second, .. },
            ] => one == bundle && two == bundle && first != second,
            _ => ends.contains(&Type::Error),
        };
        if !fits {
            let message = "a new bundle is assigned to its two ends, one `!` and one `?`";
            self.complain(Code::TypeMismatch, self.span(targets[0]), message);
        }
        true
    }

    fn claim(&mut self, end: ExprId, body: ProcessId) {
        let ty = self.expr(end, None);
        match self.program.types.get(ty) {
            Type::Error | Type::End { shared: true, .. } => {}
            Type::Chan { shared, .. } if shared != crate::ast::SharedEnds::No => {}
            _ => {
                let message = format!("only SHARED ends are claimed; this is of type {}", self.show(ty));
                self.complain(Code::Claim, self.span(end), message);
            }
        }
        let inside = self.claims.iter().copied().find(|&id| {
            let ty = self.program.name(id).ty;
            matches!(self.program.types.get(ty), Type::End { direction: crate::ast::Direction::Output, .. })
        });
        if let Some(outer) = inside {
            let text = self.program.spelling(outer).to_owned();
            let message = format!("no further CLAIM may be made while the client end `{text}` is claimed");
            self.complain(Code::Claim, self.span(end), message);
        }
        let root = self.root(end);
        if let Some(root) = root {
            self.claims.push(root);
        }
        self.steadily("a CLAIM", self.span(end), body);
        if root.is_some() {
            self.claims.pop();
        }
    }
}
