//! Owns: a call: the callee's summary in the caller's terms, and rule A3.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: walks the callee again.

use super::Walker;
use super::access::{Access, AccessPath, PathId, Step, Use};
use super::claim::Held;
use super::poly::{Poly, Sym};
use super::routine::Summary;
use crate::ast::{Direction, ExprId, Mode};
use crate::diag::{Code, Diagnostic};
use crate::program::{Body, NameId, NameKind, RoutineId};
use crate::source::Span;
use crate::symbol::FastMap;
use crate::types::{Type, TypeId};
use std::rc::Rc;

/// One parameter of a call.
pub(crate) struct Actual {
    pub(crate) formal: NameId,
    pub(crate) argument: ExprId,
    /// Passed by reference.
    pub(crate) reference: bool,
    /// A mobile or an end that the callee gets for itself: its place is left without.
    pub(crate) given: bool,
    /// What is passed by reference, what moves, or what the value reads.
    pub(crate) places: Vec<AccessPath>,
    value: Option<Poly>,
}

/// How the callee's symbols look to the caller.
struct Substitution {
    start: u32,
    values: FastMap<Sym, Poly>,
    paths: FastMap<PathId, PathId>,
}

impl Walker<'_> {
    pub(crate) fn call(&mut self, callee: NameId, arguments: &[ExprId], span: Span) {
        let Some(routine) = self.program.routine_of(callee) else {
            arguments.iter().for_each(|&argument| self.read(argument));
            return;
        };
        let actuals = self.actuals(routine, arguments);
        let summary = self.routine_summary(routine).unwrap_or_else(|| self.unknown_summary(routine));
        self.argument_aliases(&actuals, &summary);
        self.check_ends(&actuals, &summary);
        if self.program.routines[routine.0 as usize].suspends {
            self.lends_nothing_given(&actuals);
        }
        self.perform(&actuals, &summary, span);
        self.pass_escapes(&actuals, &summary, span);
    }

    /// The program's own operator behind an expression, if there is one.
    pub(crate) fn operator_call(&mut self, expr: ExprId) {
        let name = self.program.name_of(expr);
        if name == NameId::NONE {
            return;
        }
        if let Some(summary) = self.program.routine_of(name).and_then(|routine| self.routine_summary(routine))
        {
            let span = self.ast.expr(expr).span;
            self.perform(&[], &summary, span);
        }
    }

    pub(crate) fn actuals(&mut self, routine: RoutineId, arguments: &[ExprId]) -> Vec<Actual> {
        let program = self.program;
        let formals = &program.routines[routine.0 as usize].formals;
        let mut list = Vec::new();
        for (at, &argument) in arguments.iter().enumerate() {
            let Some(&formal) = formals.get(at) else {
                self.read(argument);
                continue;
            };
            let reference =
                matches!(program.name(formal).kind, NameKind::Formal(Mode::Reference | Mode::Result));
            let outer = self.collecting.replace(Vec::new());
            let mut value = None;
            let mut places = Vec::new();
            if reference {
                places = self.places(argument);
            } else {
                self.read(argument);
                value = program.types.is_integer(program.name(formal).ty).then(|| self.value(argument));
            }
            let read = std::mem::replace(&mut self.collecting, outer).unwrap_or_default();
            if let Some(collected) = &mut self.collecting {
                collected.extend(read.iter().cloned());
            }
            let given =
                program.name(formal).kind == NameKind::Formal(Mode::Initial) && self.is_moved(argument);
            if given {
                self.move_from(argument);
                places = self.places(argument);
            } else if !reference {
                places = read;
            }
            list.push(Actual { formal, argument, reference, given, places, value });
        }
        list
    }

    /// What a routine that is not summarised may do: everything to what it gets by reference.
    pub(crate) fn unknown_summary(&mut self, routine: RoutineId) -> Rc<Summary> {
        let program = self.program;
        let routine = &program.routines[routine.0 as usize];
        let mut accesses = Vec::new();
        if routine.body != Body::Predefined {
            for &formal in &routine.formals {
                let name = program.name(formal);
                if routine.body == Body::Interface && self.given(formal, &mut accesses) {
                    continue;
                }
                if matches!(name.kind, NameKind::Formal(Mode::Reference | Mode::Result)) {
                    for &what in self.uses_of(name.ty) {
                        let held = self.held_by_callee(formal, what);
                        let access = AccessPath::whole(formal).access(what, name.span, 0);
                        accesses.push(Access { held, ..access });
                    }
                }
            }
        }
        Rc::new(Summary {
            accesses,
            result: None,
            inputs: Vec::new(),
            sizes: Vec::new(),
            start: u32::MAX,
            claims: 0,
            escapes: Vec::new(),
        })
    }

    /// What may be done with a parameter of a type.
    fn uses_of(&self, ty: TypeId) -> &'static [Use] {
        let types = &self.program.types;
        match types.get(types.plain(types.innermost(ty))) {
            Type::Timer => &[],
            Type::Chan { direction: Some(Direction::Input), .. } => &[Use::In],
            Type::Chan { direction: Some(Direction::Output), .. } => &[Use::Out],
            Type::Chan { .. } | Type::Port(_) => &[Use::In, Use::Out],
            _ => &[Use::Write],
        }
    }

    /// What the callee does with a parameter; if nothing, then what it could do.
    fn uses(&self, actual: &Actual, summary: &Summary) -> Vec<Use> {
        let mut uses: Vec<Use> = Vec::new();
        for access in summary.accesses.iter().filter(|access| access.root == actual.formal) {
            if !uses.contains(&access.what) {
                uses.push(access.what);
            }
        }
        if uses.is_empty() { self.uses_of(self.program.name(actual.formal).ty).to_vec() } else { uses }
    }

    /// Rule A3.
    pub(crate) fn argument_aliases(&mut self, actuals: &[Actual], summary: &Summary) {
        if self.options.source.no_alias_check {
            return;
        }
        for (at, one) in actuals.iter().enumerate() {
            for two in &actuals[at + 1..] {
                let uses = |walker: &Self, actual: &Actual| match (actual.reference, actual.given) {
                    (true, _) => walker.uses(actual, summary),
                    (_, true) => vec![Use::Write],
                    _ => vec![Use::Read],
                };
                let (first, second) = (uses(self, one), uses(self, two));
                let data = |uses: &[Use]| uses.iter().any(|what| matches!(what, Use::Read | Use::Write));
                let clash = if data(&first) || data(&second) {
                    one.reference || two.reference || one.given || two.given
                } else {
                    first.iter().any(|first| second.iter().any(|second| first.conflicts(*second)))
                };
                if clash && let Some(root) = self.first_meeting(&one.places, &two.places) {
                    self.report_argument(
                        two.argument,
                        self.ast.expr(one.argument).span,
                        root,
                        "another parameter",
                    );
                    return;
                }
            }
            self.free_aliases(one, actuals, summary);
        }
    }

    fn first_meeting(&mut self, one: &[AccessPath], two: &[AccessPath]) -> Option<NameId> {
        let pairs = one.iter().flat_map(|one| two.iter().map(move |two| (one, two)));
        pairs.into_iter().find(|(one, two)| self.places_meet(one, two)).map(|(one, _)| one.root)
    }

    /// A parameter against the variables that the routine uses by itself.
    fn free_aliases(&mut self, actual: &Actual, all: &[Actual], summary: &Summary) {
        for access in &summary.accesses {
            let channel = matches!(access.what, Use::In | Use::Out);
            let own = all.iter().any(|actual| actual.formal == access.root);
            if own || channel || !(actual.reference || actual.given || access.what == Use::Write) {
                continue;
            }
            let free = AccessPath { path: access.path.to_vec(), ..AccessPath::whole(access.root) };
            // The callee's symbols mean nothing here: only constant steps can tell the places apart.
            let known = access.path.iter().all(constant);
            let free = if known { free } else { AccessPath::whole(access.root) };
            if self.first_meeting(&actual.places, std::slice::from_ref(&free)).is_some() {
                self.report_argument(
                    actual.argument,
                    access.span,
                    access.root,
                    "a variable that the routine uses",
                );
                return;
            }
        }
    }

    fn report_argument(&mut self, argument: ExprId, other: Span, root: NameId, what: &str) {
        let text = self.program.spelling(root).to_owned();
        let span = self.ast.expr(argument).span;
        let complaint = Diagnostic::new(
            Code::AliasArgument,
            span,
            format!("`{text}`, passed here, can be the same as {what}"),
        );
        self.complain(
            complaint
                .also(other, "the other use")
                .help("pass a copy, or use the variable through the parameter only"),
        );
    }

    /// A single end can only be passed where that end alone is used.
    pub(crate) fn check_ends(&mut self, actuals: &[Actual], summary: &Summary) {
        for actual in actuals {
            let types = &self.program.types;
            let want = types.get(types.innermost(self.program.name(actual.formal).ty));
            let got = types.get(types.innermost(self.program.type_of(actual.argument)));
            let (Type::Chan { direction: None, .. }, Type::Chan { direction: Some(direction), .. }) =
                (want, got)
            else {
                continue;
            };
            let fits = match direction {
                Direction::Input => Use::In,
                Direction::Output => Use::Out,
            };
            let uses = self.uses(actual, summary);
            if uses.iter().any(|&what| what != fits) {
                let formal = self.program.name(actual.formal);
                let message = format!(
                    "this is the `{}` end only, but `{}` is a whole channel to the routine",
                    direction.sign(),
                    self.program.symbols.text(formal.symbol)
                );
                let complaint =
                    Diagnostic::new(Code::Direction, self.ast.expr(actual.argument).span, message);
                self.complain(complaint.also(formal.span, "declared here, without an end"));
            }
        }
    }

    /// Lets the callee's accesses happen here.
    pub(crate) fn perform(&mut self, actuals: &[Actual], summary: &Summary, span: Span) {
        let mut substitution =
            Substitution { start: summary.start, values: FastMap::default(), paths: FastMap::default() };
        for &(name, symbol) in &summary.inputs {
            let value = self.input_value(name, actuals);
            substitution.values.insert(symbol, value);
        }
        for &(formal, depth, symbol) in &summary.sizes {
            let argument =
                actuals.iter().find(|actual| actual.formal == formal).map(|actual| actual.argument);
            if let Some(size) = argument.and_then(|argument| self.size_of(argument, depth)) {
                substitution.values.insert(symbol, size);
            }
        }
        // What is written is written first, as far as undefined values go.
        let writes = |access: &&Access| access.what == Use::Write;
        let number = self.next_claim();
        let ordered =
            summary.accesses.iter().filter(writes).chain(summary.accesses.iter().filter(|it| !writes(it)));
        let around = self.forks.current;
        for access in ordered {
            if access.fork != 0 {
                self.forks.current = self.forks.number_in(number);
            }
            let facts = self.outer_path(access.facts, &mut substitution);
            let steps: Vec<Step> = access
                .path
                .iter()
                .map(|step| step.map(&mut |poly| self.outer(poly, &mut substitution)))
                .collect();
            let actual = actuals.iter().find(|actual| actual.formal == access.root);
            let bases = match actual {
                Some(actual) if actual.reference => actual.places.clone(),
                Some(_) => continue,
                None => vec![AccessPath { via: access.via.to_vec(), ..AccessPath::whole(access.root) }],
            };
            for base in bases {
                let place = steps.iter().fold(base, |place, step| place.step(step.clone(), &mut self.table));
                let held = match access.held {
                    // Of what is SHARED to the callee, too, the callee was told.
                    None if actual.is_none_or(|it| self.is_shared(self.formal_type(it), access.what)) => None,
                    None => self.held_here(&place, access.what, span),
                    Some(held) if held.number <= summary.claims => Some(held),
                    Some(held) => {
                        self.not_twice(&place, access.what, span);
                        Some(Held { number, ..held })
                    }
                };
                self.touch_under(&place, access.what, span, (facts, held));
            }
            self.forks.current = around;
        }
        for actual in actuals.iter().filter(|actual| actual.reference) {
            self.lent_end_stays(actual, summary, span);
            if summary.accesses.iter().all(|access| access.root != actual.formal) {
                for &what in self.uses_of(self.program.name(actual.formal).ty) {
                    let span = self.ast.expr(actual.argument).span;
                    for place in &actual.places {
                        match self.held_by_callee(actual.formal, what) {
                            None => self.touch(place, what, span),
                            held => self.touch_under(place, what, span, (self.path, held)),
                        }
                    }
                }
            }
        }
    }

    /// The value of a call of a function, from its summary.
    pub(crate) fn called_value(&mut self, callee: NameId, arguments: &[ExprId]) -> Option<Poly> {
        if callee == NameId::NONE {
            return None;
        }
        let program = self.program;
        let routine = program.routine_of(callee)?;
        let summary = self.routine_summary(routine)?;
        let result = summary.result.as_ref()?;
        let formals = &program.routines[routine.0 as usize].formals;
        let argument = |name: NameId| {
            formals.iter().position(|&formal| formal == name).and_then(|at| arguments.get(at)).copied()
        };
        let mut substitution =
            Substitution { start: summary.start, values: FastMap::default(), paths: FastMap::default() };
        for &(name, symbol) in &summary.inputs {
            let value = match argument(name) {
                Some(argument) => self.value(argument),
                None if formals.contains(&name) => return None,
                None => self.value_of(name),
            };
            substitution.values.insert(symbol, value);
        }
        for &(formal, depth, symbol) in &summary.sizes {
            if let Some(size) = argument(formal).and_then(|argument| self.size_of(argument, depth)) {
                substitution.values.insert(symbol, size);
            }
        }
        Some(self.outer(result, &mut substitution))
    }

    fn formal_type(&self, actual: &Actual) -> TypeId {
        self.program.name(actual.formal).ty
    }

    fn input_value(&mut self, name: NameId, actuals: &[Actual]) -> Poly {
        match actuals.iter().find(|actual| actual.formal == name) {
            Some(Actual { value: Some(value), .. }) => value.clone(),
            Some(Actual { places, reference: true, .. }) => match places.as_slice() {
                [place] if place.path.is_empty() && !place.opaque => self.value_of(place.root),
                _ => Poly::symbol(self.table.fresh()),
            },
            Some(_) => Poly::symbol(self.table.fresh()),
            None => self.value_of(name),
        }
    }

    /// A callee's value in the caller's terms; what is the callee's own becomes a fresh unknown.
    fn outer(&mut self, poly: &Poly, substitution: &mut Substitution) -> Poly {
        if poly.terms.is_empty() {
            return poly.clone();
        }
        for &(symbol, _) in &poly.terms {
            self.outer_symbol(symbol, substitution);
        }
        let Substitution { start, values, .. } = &*substitution;
        let result = self.table.substitute(poly, &mut |_, symbol| {
            Some(if symbol.0 < *start { Poly::symbol(symbol) } else { values.get(&symbol)?.clone() })
        });
        result.unwrap_or_else(|| Poly::symbol(self.table.fresh()))
    }

    fn outer_symbol(&mut self, symbol: Sym, substitution: &mut Substitution) {
        if let Some(factors) = self.table.info(symbol).product.clone() {
            factors.iter().for_each(|&factor| self.outer_symbol(factor, substitution));
            return;
        }
        if symbol.0 < substitution.start || substitution.values.contains_key(&symbol) {
            return;
        }
        let fresh = self.table.fresh();
        substitution.values.insert(symbol, Poly::symbol(fresh));
        let facts = self.table.info(symbol).facts.clone();
        for fact in facts {
            let fact = fact.map(&mut |poly| Some(self.outer(poly, substitution)));
            self.table.define(fresh, fact);
        }
        self.table.list[fresh.0 as usize].range = self.table.info(symbol).range.clone();
        self.table.list[fresh.0 as usize].vague = self.table.info(symbol).vague;
        if let Some(how) = self.table.info(symbol).computed.clone() {
            let how = how.map(&mut |poly| self.outer(poly, substitution));
            self.table.list[fresh.0 as usize].computed = Some(how.into());
        }
        if let Some((name, value)) = self.table.shown(symbol) {
            let value = self.outer(&value, substitution);
            self.table.show(fresh, name, value);
        }
    }

    fn outer_path(&mut self, path: PathId, substitution: &mut Substitution) -> PathId {
        if path == 0 {
            return self.path;
        }
        if let Some(&known) = substitution.paths.get(&path) {
            return known;
        }
        let mut facts: Vec<_> = self.paths.facts(path, 0).into_iter().cloned().collect();
        facts.reverse();
        let mut outer = self.path;
        for fact in facts {
            if let Some(fact) = fact.map(&mut |poly| Some(self.outer(poly, substitution))) {
                outer = self.paths.with(outer, fact);
            }
        }
        substitution.paths.insert(path, outer);
        outer
    }
}

fn constant(step: &Step) -> bool {
    match step {
        Step::Index(at, _) => at.as_constant().is_some(),
        Step::Field(_) | Step::Size => true,
        Step::Range(..) => false,
    }
}
