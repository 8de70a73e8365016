//! Owns: specifications in the walk: what is undefined, what is abbreviated.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: checks types.

use super::Walker;
use super::access::{AccessPath, Use};
use super::alias::{Alias, Ban};
use super::poly::Poly;
use super::state::Defined;
use crate::ast::{Direction, ExprId, ExprKind, Mode, Renaming, Replicator, SpecId, SpecKind};
use crate::program::{NameId, RoutineId};
use crate::types::{Type, TypeId};

impl Walker<'_> {
    pub(crate) fn spec(&mut self, id: SpecId) {
        let ast = self.ast;
        match &ast.spec(id).kind {
            SpecKind::Declare { names, .. } => {
                for name in self.program.declared(id, names.len()) {
                    if (name.0 as usize) < self.program.names.len() {
                        self.declare(name);
                    }
                }
            }
            &SpecKind::Abbreviate { mode, renaming, value, direction, .. } => {
                if let Some(name) = self.program.declared(id, 1).next().filter(|&name| name != NameId::NONE) {
                    self.abbreviate(name, mode, renaming, value, direction);
                }
            }
            SpecKind::Proc { .. } | SpecKind::Function { .. } => {
                let name = NameId(self.program.spec_names[id.0 as usize].0);
                if name != NameId::NONE
                    && let Some(routine) = self.program.routine_of(name)
                {
                    self.routine(routine);
                }
            }
            SpecKind::Pragma { what, names } => self.pragma(*what, names),
            _ => {}
        }
    }

    /// A declared variable has no value; a channel needs none.
    fn declare(&mut self, name: NameId) {
        let ty = self.program.name(name).ty;
        self.newest = name;
        let defined = if self.needs_value(ty) { Defined::No } else { Defined::Yes };
        let value = self.program.types.is_integer(ty).then(|| Poly::symbol(self.table.fresh_shown(name)));
        self.set(name, defined, value);
    }

    fn needs_value(&self, ty: TypeId) -> bool {
        let types = &self.program.types;
        !types.is_channel_like(ty) && !matches!(types.get(types.plain(ty)), Type::Error)
    }

    fn pragma(&mut self, what: crate::ast::Pragma, names: &[crate::ast::Ident]) {
        // The names that a pragma mentions are found again by their spelling among what the walk has seen last.
        if what != crate::ast::Pragma::Defined {
            return;
        }
        for name in names {
            let found = self
                .program
                .names
                .iter()
                .rposition(|it| it.symbol == name.symbol && it.span.lo < name.span.lo);
            if let Some(at) = found {
                let state =
                    super::state::VariableState { defined: Defined::Yes, ..self.current(NameId(at as u32)) };
                self.states.set(NameId(at as u32), state);
            }
        }
    }

    fn abbreviate(
        &mut self,
        name: NameId,
        mode: Mode,
        renaming: Renaming,
        value: ExprId,
        direction: Option<Direction>,
    ) {
        let span = self.ast.expr(value).span;
        self.newest = name;
        self.size_abbreviation(name, (renaming == Renaming::Is).then_some(value));
        let outer = self.collecting.replace(Vec::new());
        match mode {
            Mode::Val | Mode::Initial => {
                let read = |walker: &mut Self| match renaming {
                    Renaming::Is => walker.read(value),
                    _ => walker.read_retyped(value),
                };
                match mode {
                    // It may be looked at whenever its name is.
                    Mode::Val => self.in_all_phases(read),
                    _ => read(self),
                }
                let integer =
                    renaming == Renaming::Is && self.program.types.is_integer(self.program.name(name).ty);
                let known = integer.then(|| self.value(value));
                self.moved(value, mode);
                self.set(name, Defined::Yes, known);
            }
            Mode::Reference | Mode::Result => {
                let table = matches!(self.ast.expr(value).kind, ExprKind::Table { .. });
                let mut places = self.places(value);
                self.names_nothing_given(value);
                let direction = direction.or(self.end_of(value));
                let channel = self.program.types.is_channel_like(self.program.type_of(value));
                for place in &mut places {
                    // A channel abbreviated as a whole may still be used by its own name: there is nothing to hide.
                    let whole_channel = channel && direction.is_none();
                    if !whole_channel {
                        self.name_again(place, span, direction);
                    }
                    place.opaque |= renaming != Renaming::Is;
                    place.via.push(name);
                    if !whole_channel {
                        self.freeze(place, Ban::Use(direction), name, span);
                    }
                    if mode == Mode::Result && place.path.is_empty() {
                        let value = Poly::symbol(self.table.fresh());
                        self.set(place.root, Defined::No, Some(value));
                    }
                }
                self.aliases.insert(name, Alias { places, table });
                self.set(name, Defined::Yes, None);
            }
        }
        let read = std::mem::replace(&mut self.collecting, outer).unwrap_or_default();
        if mode != Mode::Initial {
            for place in read {
                self.freeze(&place, Ban::Change, name, span);
            }
        }
    }

    /// The end that an expression picks from a channel.
    fn end_of(&self, value: ExprId) -> Option<Direction> {
        let types = &self.program.types;
        match types.get(types.innermost(self.program.type_of(value))) {
            Type::Chan { direction, .. } => direction,
            _ => None,
        }
    }

    /// Abbreviating a place is a use of it that an abbreviation made before may forbid.
    fn name_again(&mut self, place: &AccessPath, span: crate::source::Span, direction: Option<Direction>) {
        let what = match direction {
            Some(Direction::Input) => Use::In,
            Some(Direction::Output) => Use::Out,
            None => Use::Read,
        };
        let access = place.access(what, span, self.path);
        self.check_freezes(&access);
    }

    /// What RETYPES looks at is frozen, but looking at its layout needs no value.
    fn read_retyped(&mut self, value: ExprId) {
        let places = self.places(value);
        if places.is_empty() {
            return;
        }
        let span = self.ast.expr(value).span;
        let incomplete = std::mem::replace(&mut self.options.incomplete, true);
        for place in places {
            self.touch(&place, Use::Read, span);
        }
        self.options.incomplete = incomplete;
    }

    /// INITIAL takes a mobile away from where it was.
    fn moved(&mut self, value: ExprId, mode: Mode) {
        if mode == Mode::Initial {
            self.move_from(value);
        }
    }

    /// Gives a replicator's index its range, and returns the symbol that numbers the rounds from 0.
    pub(crate) fn bind_replicator(&mut self, replicator: &Replicator) -> super::poly::Sym {
        let base = self.read_value(replicator.base);
        let count = self.read_value(replicator.count);
        let step = replicator.step.map_or_else(|| Poly::constant(1), |step| self.read_value(step));
        self.bind_index(replicator, &base, &count, &step)
    }

    pub(crate) fn bind_index(
        &mut self,
        replicator: &Replicator,
        base: &Poly,
        count: &Poly,
        step: &Poly,
    ) -> super::poly::Sym {
        let number = self.table.fresh();
        let round = Poly::symbol(number);
        let rounds = count.as_constant().filter(|&count| count > 0);
        self.table.list[number.0 as usize].range = rounds.map(|rounds| Box::new((0, rounds - 1)));
        self.table.define(number, Some(super::poly::Fact::NotNegative(round.clone())));
        self.table.define(number, super::poly::Fact::less(&round, count));
        let offset = self.table.times(&round, step);
        let value = if count.as_constant() == Some(1) {
            Some(base.clone())
        } else {
            offset.and_then(|offset| base.plus(&offset, 1))
        };
        let value = value.unwrap_or_else(|| Poly::symbol(self.table.fresh()));
        let name = self.program.replicator_names[replicator.number as usize];
        if name != NameId::NONE {
            self.table.show(number, name, value.clone());
            self.set(name, Defined::Yes, Some(value));
        }
        number
    }

    pub(crate) fn routine_summary(&self, routine: RoutineId) -> Option<std::rc::Rc<super::Summary>> {
        self.summaries.get(&routine).cloned()
    }
}
