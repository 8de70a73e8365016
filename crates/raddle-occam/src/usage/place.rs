//! Owns: which places an expression names and reads.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: compares accesses.

use super::Walker;
use super::access::{Access, AccessPath, Extent, PathId, Step, Use};
use super::claim::Held;
use super::state::Defined;
use crate::ast::{ExprId, ExprKind, Mode, Valof};
use crate::diag::{Code, Diagnostic, Severity};
use crate::program::{NameId, NameKind};
use crate::source::Span;
use crate::types::{Type, TypeId};

impl Walker<'_> {
    /// The places that an expression names, subscripts read; none for a value.
    pub(crate) fn places(&mut self, expr: ExprId) -> Vec<AccessPath> {
        let ast = self.ast;
        match &ast.expr(expr).kind {
            ExprKind::Name(_) => self.name_places(self.program.name_of(expr)),
            &ExprKind::Index { base, index } => self.element(base, index),
            &ExprKind::Slice { base, from, count } => {
                let size = self.array_size(base);
                let first = from.map_or_else(Default::default, |from| self.read_value(from));
                let count = match count {
                    Some(count) => self.read_value(count),
                    None => {
                        let end = size.map(|size| super::poly::Poly::constant(i64::from(size)));
                        let count = end.and_then(|end| end.minus(&first));
                        count.unwrap_or_else(|| super::poly::Poly::symbol(self.table.fresh()))
                    }
                };
                let table = self.is_table(base);
                let places = self.places(base);
                if table {
                    return places;
                }
                let step = |walker: &mut Self, place: AccessPath| {
                    place.step(Step::Range(first.clone(), count.clone(), Extent::of(size)), &mut walker.table)
                };
                places.into_iter().map(|place| step(self, place)).collect()
            }
            &ExprKind::End(of, _) => self.places(of),
            ExprKind::Table { elements, .. }
                if self.program.types.is_channel_like(self.program.type_of(expr)) =>
            {
                let places: Vec<AccessPath> =
                    elements.iter().flat_map(|&element| self.places(element)).collect();
                self.keeps_nothing_given(&places, ast.expr(expr).span);
                places
            }
            _ => {
                self.read(expr);
                Vec::new()
            }
        }
    }

    /// Reads an expression and returns its value.
    pub(crate) fn read_value(&mut self, expr: ExprId) -> super::poly::Poly {
        self.read(expr);
        self.value(expr)
    }

    fn array_size(&self, expr: ExprId) -> Option<u32> {
        self.program.types.as_array(self.program.type_of(expr)).and_then(|(size, _)| size)
    }

    fn is_table(&self, base: ExprId) -> bool {
        matches!(self.ast.expr(base).kind, ExprKind::Name(_))
            && self.aliases.get(&self.program.name_of(base)).is_some_and(|alias| alias.table)
    }

    pub(super) fn name_places(&self, name: NameId) -> Vec<AccessPath> {
        if name == NameId::NONE {
            return Vec::new();
        }
        if let Some(alias) = self.aliases.get(&name) {
            return alias.places.clone();
        }
        match self.program.name(name).kind {
            NameKind::Variable | NameKind::Formal(Mode::Reference | Mode::Result | Mode::Initial) => {
                vec![AccessPath::whole(name)]
            }
            NameKind::Abbreviation { mode: Mode::Initial, .. } => vec![AccessPath::whole(name)],
            _ => Vec::new(),
        }
    }

    fn element(&mut self, base: ExprId, index: ExprId) -> Vec<AccessPath> {
        let types = &self.program.types;
        let record =
            matches!(types.get(types.plain(self.program.type_of(base))), Type::Record(_) | Type::End { .. });
        let step = if record {
            match self.ast.expr(index).kind {
                ExprKind::Name(field) => Step::Field(field),
                _ => return Vec::new(),
            }
        } else {
            let at = self.read_value(index);
            if self.is_table(base) {
                let places = self.places(base);
                let chosen = at.as_constant().and_then(|at| usize::try_from(at).ok());
                return match chosen.and_then(|at| places.get(at)) {
                    Some(place) => vec![place.clone()],
                    None => places,
                };
            }
            Step::Index(at, Extent::of(self.array_size(base)))
        };
        let places = self.places(base);
        places.into_iter().map(|place| place.step(step.clone(), &mut self.table)).collect()
    }

    /// Records everything that the evaluation of an expression reads.
    pub(crate) fn read(&mut self, expr: ExprId) {
        let ast = self.ast;
        let span = ast.expr(expr).span;
        match &ast.expr(expr).kind {
            ExprKind::Name(_) | ExprKind::Index { .. } | ExprKind::Slice { .. } => {
                let places = self.places(expr);
                if !self.program.types.is_channel_like(self.program.type_of(expr)) {
                    for place in places {
                        self.touch(&place, Use::Read, span);
                    }
                }
                self.read_base(expr);
            }
            &ExprKind::Monadic(crate::ast::Monadic::Size, of) => self.read_size(of, span),
            &ExprKind::Monadic(_, value) | &ExprKind::Clone(value) | &ExprKind::Convert { value, .. } => {
                self.read(value);
                self.operator_call(expr);
            }
            &ExprKind::UserMonadic(_, value) => {
                self.read(value);
                self.operator_call(expr);
            }
            &ExprKind::Dyadic(_, left, right) | &ExprKind::UserDyadic(_, left, right) => {
                self.read(left);
                self.read(right);
                self.operator_call(expr);
            }
            ExprKind::Table { elements, .. } => elements.iter().for_each(|&element| self.read(element)),
            ExprKind::Constructor { replicator, element } => {
                let outcome = self.branch(|walker| {
                    walker.bind_replicator(replicator);
                    walker.read(*element);
                });
                drop(outcome);
            }
            ExprKind::Call { name, arguments } => {
                self.call(self.program.name_of(expr), arguments, name.span);
            }
            ExprKind::Valof(valof) => self.valof(valof),
            &ExprKind::Defined(value) => self.asks(value),
            _ => {}
        }
    }

    /// The size of an array is known where it is declared; that of a MOBILE is read.
    fn read_size(&mut self, of: ExprId, span: Span) {
        if !self.has_open_size(self.program.type_of(of)) {
            return;
        }
        for place in self.places(of) {
            let place = place.step(Step::Size, &mut self.table);
            self.touch(&place, Use::Read, span);
        }
    }

    /// Whether it is a MOBILE array that has as many elements as it was given last, none at first.
    fn has_open_size(&self, ty: TypeId) -> bool {
        let types = &self.program.types;
        matches!(types.get(ty), Type::Mobile(_)) && matches!(types.as_array(ty), Some((None, _)))
    }

    /// Reads what is below subscripts when it is no variable, as in `f (x)[3]`.
    fn read_base(&mut self, expr: ExprId) {
        let mut at = expr;
        while let ExprKind::Index { base, .. } | ExprKind::Slice { base, .. } = self.ast.expr(at).kind {
            at = base;
        }
        if at != expr && !matches!(self.ast.expr(at).kind, ExprKind::Name(_)) {
            self.read(at);
        }
    }

    pub(crate) fn valof(&mut self, valof: &Valof) {
        let freezes = self.freezes.len();
        valof.specs.iter().for_each(|&spec| self.spec(spec));
        self.process(valof.body);
        for &result in &valof.results {
            self.read(result);
            self.move_from(result);
        }
        self.valof_result = match *valof.results.as_slice() {
            [only] if self.program.types.is_integer(self.program.type_of(only)) => Some(self.value(only)),
            _ => None,
        };
        self.freezes.truncate(freezes);
    }

    /// Records one use of one place, and checks it against abbreviations and undefined values.
    pub(crate) fn touch(&mut self, place: &AccessPath, what: Use, span: Span) {
        let held = self.held_here(place, what, span);
        self.touch_under(place, what, span, (self.path, held));
    }

    /// The same, under conditions and a claim.
    pub(crate) fn touch_under(
        &mut self,
        place: &AccessPath,
        what: Use,
        span: Span,
        (facts, held): (PathId, Option<Held>),
    ) {
        let (fork, phases) = (self.forks.current, self.phases_now());
        let access = Access { held, fork, phases, ..place.access(what, span, facts) };
        self.check_freezes(&access);
        if !self.held_channels.is_empty() {
            self.not_held(place, what, span);
        }
        if !self.resigned.is_empty() {
            self.not_resigned(place.root, span);
        }
        match what {
            Use::Read => {
                self.check_defined(place, span);
                if let Some(collected) = &mut self.collecting {
                    collected.push(place.clone());
                }
            }
            Use::Write if place.path.is_empty() || place.opaque => {
                self.lap_gives(place.root);
                self.forget(place.root);
            }
            Use::Write => {
                if self.has_open_size(self.program.name(place.root).ty) {
                    self.check_defined(place, span);
                }
                let value = self.states.get(place.root).value.clone();
                self.set(place.root, Defined::Yes, value);
            }
            _ => {}
        }
        self.record(access);
    }

    /// Keeps an access that a PAR around it or a caller will ask for.
    fn record(&mut self, access: Access) {
        let name = self.program.name(access.root);
        let own = name.level >= self.frame.level && !matches!(name.kind, NameKind::Formal(_));
        if (own && self.parallel_depth == 0) || self.dead {
            return;
        }
        if let Some(last) =
            self.accesses[self.segment..].iter().rev().take(8).find(|last| last.root == access.root)
            && last.what == access.what
            && last.held == access.held
            && last.fork == access.fork
            && last.phases == access.phases
            && last.path == access.path
            && self.paths.below(access.facts, last.facts)
            && last.facts == access.facts
        {
            return;
        }
        self.accesses.push(access);
    }

    pub(crate) fn check_defined(&mut self, place: &AccessPath, span: Span) {
        let root = place.root;
        let mut defined = self.defined(root);
        let first_round = defined == Defined::No && self.given_by_rounds(root);
        if first_round {
            defined = Defined::Maybe;
        }
        // Of an array that some path fills, nobody can say which elements; silence is kinder than a guess.
        let (types, ty) = (&self.program.types, self.program.name(root).ty);
        let immobile =
            types.basic(ty).is_none() && !matches!(types.get(ty), Type::Mobile(_) | Type::End { .. });
        let partly = defined == Defined::Maybe && immobile;
        match defined {
            Defined::Yes if !immobile => self.lap_uses(root, span),
            Defined::Yes => {}
            // Told below, and from there on it counts as given.
            _ => self.lap_gives(root),
        }
        if defined == Defined::Yes || partly || self.dead || self.options.incomplete {
            return;
        }
        if defined == Defined::Maybe && self.told.insert(root, ()).is_some() {
            return;
        }
        let text = self.program.spelling(root).to_owned();
        let declared = self.program.name(root).span;
        let mut complaint = match defined {
            Defined::Moved => {
                Diagnostic::new(Code::Moved, span, format!("`{text}` has moved away from here"))
                    .help(format!("keep a copy with `CLONE {text}` where it is assigned or sent"))
            }
            Defined::No => Diagnostic::new(Code::Undefined, span, format!("`{text}` has no value yet"))
                .help("assign or input it first"),
            _ if first_round => {
                let message = format!("`{text}` has no value in the first round of the loop");
                Diagnostic::new(Code::MaybeUndefined, span, message)
                    .help("give it one before the loop, or declare it with INITIAL")
            }
            _ => Diagnostic::new(Code::MaybeUndefined, span, format!("`{text}` may have no value yet"))
                .help("give it one on every path, or declare it with INITIAL"),
        };
        if self.options.undefined_warns {
            complaint.severity = Severity::Warning;
        }
        self.complain(complaint.also(declared, "declared here"));
        let value = self.states.get(root).value.clone();
        self.set(root, Defined::Yes, value);
    }
}
