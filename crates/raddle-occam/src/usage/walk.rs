//! Owns: the walk over processes in the order of execution.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: compares branches; `parallel` does.

use super::Walker;
use super::access::{AccessPath, Use};
use super::overlap::Instances;
use super::state::Defined;
use crate::ast::{
    ConstructKind, ExprId, ExprKind, InputItem, InputKind, Mode, OutputItem, ProcessId, ProcessKind, Variant,
};
use crate::diag::{Code, Diagnostic};
use crate::program::{NameId, NameKind};
use crate::source::Span;
use crate::types::Type;

impl Walker<'_> {
    pub(crate) fn process(&mut self, id: ProcessId) {
        if self.gives_up() {
            return;
        }
        let ast = self.ast;
        let freezes = self.freezes.len();
        let behind = self.enter_phases(id);
        match &ast.process(id).kind {
            ProcessKind::Skip | ProcessKind::Suspend | ProcessKind::Error => {}
            ProcessKind::Stop => self.dead = true,
            ProcessKind::Construct { order: ConstructKind::Seq, replicator, body } => match replicator {
                None => body.iter().for_each(|&process| {
                    if let Some(&number) = ast.processors.get(&process.0) {
                        self.read(number);
                    }
                    self.process(process);
                }),
                Some(replicator) => self.replicated_seq(replicator, body),
            },
            ProcessKind::Construct { replicator: None, body, .. } => self.par(body),
            ProcessKind::Construct { replicator: Some(replicator), body, .. } => {
                self.replicated_par(replicator, body)
            }
            ProcessKind::If(node) => self.if_process(node),
            ProcessKind::Alt(node) => self.alt(node),
            ProcessKind::Case { selector, options } => self.case(*selector, options),
            &ProcessKind::While(condition, body) => self.while_loop(condition, body),
            ProcessKind::Assign { targets, values } => self.assign(targets, values),
            ProcessKind::Input { channel, kind } => self.input(*channel, kind),
            ProcessKind::Extended { channel, kind, during, after } => {
                self.extended(*channel, kind, *during, *after)
            }
            ProcessKind::Output { channel, items } => self.output(*channel, items),
            ProcessKind::Call { name, arguments } => {
                self.activate(id, name.span);
                self.call(self.program.process_names[id.0 as usize], arguments, name.span);
            }
            ProcessKind::Block { specs, body } => {
                self.specs(specs);
                self.process(*body);
            }
            &ProcessKind::Claim { end, body } => self.claim(end, body),
            ProcessKind::Enroll { barriers, par } => self.enroll(barriers, *par),
            &ProcessKind::Sync(barrier) => self.sync(barrier),
            &ProcessKind::Resign { barrier, body } => self.resign(barrier, body),
            &ProcessKind::Forking(body) => self.forking(id, body),
            ProcessKind::Fork { name, arguments } => {
                self.fork(self.program.process_names[id.0 as usize], arguments, name.span);
            }
        }
        self.freezes.truncate(freezes);
        self.leave_phases(id, &behind);
    }

    fn assign(&mut self, targets: &[ExprId], values: &[ExprId]) {
        for &value in values {
            self.read(value);
            // What a value before has moved away is no longer there for those behind it.
            if values.len() > 1 {
                self.move_from(value);
            }
        }
        let mut known: Vec<Option<super::poly::Poly>> = Vec::new();
        if targets.len() == values.len() {
            for (&target, &value) in targets.iter().zip(values) {
                let integer = self.program.types.is_integer(self.program.type_of(target));
                known.push(integer.then(|| self.value(value)));
            }
        }
        if let &[value] = values {
            self.move_from(value);
        }
        let mut all: Vec<(Vec<AccessPath>, Vec<AccessPath>)> = Vec::new();
        for &target in targets {
            let outer = self.collecting.replace(Vec::new());
            let places = self.places(target);
            let read = std::mem::replace(&mut self.collecting, outer).unwrap_or_default();
            all.push((places, read));
        }
        if targets.len() > 1 {
            self.targets_apart(targets, &all);
        }
        for (at, &target) in targets.iter().enumerate() {
            for place in &all[at].0 {
                self.touch(place, Use::Write, self.ast.expr(target).span);
                if let Some(Some(value)) = known.get(at)
                    && place.path.is_empty()
                    && !place.opaque
                {
                    self.set(place.root, Defined::Yes, Some(value.clone()));
                }
            }
        }
    }

    /// Rule U4.
    fn targets_apart(&mut self, targets: &[ExprId], all: &[(Vec<AccessPath>, Vec<AccessPath>)]) {
        for (at, (places, _)) in all.iter().enumerate() {
            for (other, (others, read)) in all.iter().enumerate() {
                let later = if other > at { others.as_slice() } else { &[] };
                let reads = if other == at { &[] } else { read.as_slice() };
                let clash =
                    places.iter().any(|one| later.iter().chain(reads).any(|two| self.places_meet(one, two)));
                if clash {
                    let span = self.ast.expr(targets[at]).span;
                    let message =
                        "two targets of this assignment can be the same variable, or one selects the other";
                    self.complain(
                        Diagnostic::new(Code::MultipleTargets, self.ast.expr(targets[other]).span, message)
                            .also(span, "the other target")
                            .help("make them separate assignments, in the order that you mean"),
                    );
                    return;
                }
            }
        }
    }

    /// Whether two places can be the same here.
    pub(crate) fn places_meet(&mut self, one: &AccessPath, two: &AccessPath) -> bool {
        if one.root != two.root
            || self.program.name(one.root).permits_aliases
            || self.options.source.no_alias_check
        {
            return false;
        }
        let (one, two) = (
            one.access(Use::Write, Span::default(), self.path),
            two.access(Use::Write, Span::default(), self.path),
        );
        self.meet(&one, &two, &Instances::Same).is_some()
    }

    /// A mobile that is assigned or sent is gone; whoever looks at the same element meanwhile may find it or not.
    pub(crate) fn move_from(&mut self, value: ExprId) {
        if !self.is_moved(value) {
            return;
        }
        self.no_move_from_val(value);
        for place in self.places(value) {
            let span = self.ast.expr(value).span;
            let laps = std::mem::take(&mut self.laps);
            self.touch(&place, Use::Write, span);
            self.laps = laps;
            if place.path.is_empty() {
                self.lap_moves(place.root, span);
                self.set(place.root, Defined::Moved, None);
            }
        }
    }

    /// What is passed or named as VAL stays with whoever has it.
    fn no_move_from_val(&mut self, value: ExprId) {
        let mut at = value;
        while let ExprKind::Index { base, .. } | ExprKind::Slice { base, .. } | ExprKind::End(base, _) =
            self.ast.expr(at).kind
        {
            at = base;
        }
        let name = self.program.name_of(at);
        let val = |kind: &NameKind| {
            matches!(kind, NameKind::Formal(Mode::Val) | NameKind::Abbreviation { mode: Mode::Val, .. })
        };
        if name == NameId::NONE || !val(&self.program.name(name).kind) {
            return;
        }
        let message =
            format!("`{}` is VAL, and what is in it cannot be moved away", self.program.spelling(name));
        let complaint = Diagnostic::new(Code::NotAssignable, self.ast.expr(value).span, message);
        self.complain(complaint.help("leave out VAL, or CLONE it"));
    }

    pub(crate) fn input(&mut self, channel: ExprId, kind: &InputKind) {
        self.use_channel(channel, Use::In);
        match kind {
            InputKind::Items(items) | InputKind::Tagged(_, items) => self.receive(items),
            InputKind::After(time) => self.read(*time),
            InputKind::Case(variants) => self.variants(variants, Vec::new()),
        }
    }

    /// The variants of an input, each while those channels are held.
    pub(super) fn variants(&mut self, variants: &[Variant], held: Vec<(AccessPath, Span)>) {
        let mut outcomes = Vec::new();
        for variant in variants {
            let freezes = self.freezes.len();
            outcomes.push(self.branch(|walker| {
                walker.perhaps_a_later_round();
                walker.specs(&variant.specs);
                walker.receive(&variant.items);
                walker.during(&held, variant.body);
                variant.after.iter().for_each(|&after| walker.process(after));
            }));
            self.freezes.truncate(freezes);
        }
        self.join(outcomes);
    }

    pub(super) fn receive(&mut self, items: &[InputItem]) {
        for item in items {
            let counts = item.count.map_or_else(Vec::new, |count| self.places(count));
            let outer = self.collecting.replace(Vec::new());
            let targets = self.places(item.target);
            let read = std::mem::replace(&mut self.collecting, outer).unwrap_or_default();
            let clash = counts.iter().any(|count| read.iter().any(|read| self.places_meet(count, read)));
            if clash {
                let span = self.ast.expr(item.target).span;
                let message = "the count that is received here selects the variable that receives";
                self.complain(Diagnostic::new(Code::MultipleTargets, span, message));
            }
            for place in &counts {
                self.touch(place, Use::Write, self.ast.expr(item.count.unwrap_or(item.target)).span);
            }
            for place in &targets {
                self.touch(place, Use::Write, self.ast.expr(item.target).span);
            }
        }
    }

    fn output(&mut self, channel: ExprId, items: &[OutputItem]) {
        for item in items {
            item.count.into_iter().for_each(|count| self.read(count));
            let tag = matches!(self.ast.expr(item.value).kind, ExprKind::Name(_))
                && self.program.name_of(item.value) == NameId::NONE;
            if !tag {
                self.read(item.value);
                self.move_from(item.value);
            }
        }
        self.use_channel(channel, Use::Out);
    }

    /// One end of a channel is used; timers are everybody's.
    pub(super) fn use_channel(&mut self, channel: ExprId, what: Use) {
        let ty = self.program.type_of(channel);
        let places = self.places(channel);
        if !matches!(self.program.types.get(ty), Type::Timer) {
            let span = self.ast.expr(channel).span;
            for place in places {
                self.both_ends(&place, what, span);
                self.touch(&place, what, span);
            }
        }
    }

    /// Rule U2 within one process: who uses both ends of a channel, and not in parallel, waits for itself.
    fn both_ends(&mut self, place: &AccessPath, what: Use, span: Span) {
        let alone = self.parallel_depth == 0 && !self.options.incomplete;
        if !alone || !place.path.is_empty() || self.program.name(place.root).shared {
            return;
        }
        let (first, other, reported) = *self.frame.ends.entry(place.root).or_insert((what, span, false));
        if first != what && !reported {
            self.frame.ends.insert(place.root, (first, other, true));
            let text = self.program.spelling(place.root);
            let message = format!("one process uses both ends of `{text}`, which then waits for itself");
            self.complain(
                Diagnostic::new(Code::BothEnds, span, message)
                    .also(other, "the other end is used here")
                    .help("put the two into branches of a PAR"),
            );
        }
    }
}
