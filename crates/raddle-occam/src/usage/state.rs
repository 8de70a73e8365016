//! Owns: what is known of each variable at the point of the walk, and how that is undone and joined.
//! May use: `program`, `raddle-occam-syntax`.
//! Never: forgets how to go back; every change is logged until its branch ends.

use super::Walker;
use super::access::PathId;
use super::poly::{Fact, Poly};
use crate::ast::Mode;
use crate::program::{NameId, NameKind};

/// Whether a variable has a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Defined {
    Yes,
    No,
    /// A mobile that was moved away.
    Moved,
    Maybe,
}

/// What is known of a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct VariableState {
    pub(crate) defined: Defined,
    /// Its value, if it is a whole number of which something may become known.
    pub(crate) value: Option<Poly>,
    /// The level of the routine in which this was noted; elsewhere it says nothing.
    pub(crate) level: u32,
}

/// The states of all names, and the log of changes.
pub(crate) struct States {
    list: Vec<VariableState>,
    log: Vec<(NameId, VariableState)>,
}

/// How a branch ended.
pub(crate) struct BranchEnd {
    pub(crate) changed: Vec<(NameId, VariableState)>,
    pub(crate) dead: bool,
    /// The conditions known at its end.
    path: PathId,
}

/// Conditions of a branch that are remembered with the values it leaves.
const CONDITIONS_MAX: usize = 4;

impl States {
    pub(crate) fn new(names: usize) -> Self {
        Self {
            list: vec![VariableState { defined: Defined::Yes, value: None, level: u32::MAX }; names],
            log: Vec::new(),
        }
    }

    pub(crate) fn get(&self, name: NameId) -> &VariableState {
        &self.list[name.0 as usize]
    }

    pub(crate) fn set(&mut self, name: NameId, state: VariableState) {
        let before = std::mem::replace(&mut self.list[name.0 as usize], state);
        self.log.push((name, before));
    }

    /// Takes back every change since `mark`; the names with the states they had come to.
    fn roll_back(&mut self, mark: usize) -> Vec<(NameId, VariableState)> {
        let mut changed: Vec<(NameId, VariableState)> = Vec::new();
        while self.log.len() > mark {
            if let Some((name, before)) = self.log.pop() {
                let after = std::mem::replace(&mut self.list[name.0 as usize], before);
                changed.push((name, after));
            }
        }
        // The change met first is the last one made; a stable sort keeps it in front.
        changed.sort_by_key(|change| change.0);
        changed.dedup_by_key(|change| change.0);
        changed
    }
}

impl Walker<'_> {
    /// Runs `within` and takes back what it changed, which it returns.
    pub(crate) fn branch(&mut self, within: impl FnOnce(&mut Self)) -> BranchEnd {
        let (mark, path, dead) = (self.states.log.len(), self.path, self.dead);
        let phases = self.phases_before();
        self.conditions = self.conditions.wrapping_add(1);
        within(self);
        self.conditions = self.conditions.wrapping_sub(1);
        self.put_phases_back(&phases);
        let changed = self.states.roll_back(mark);
        let end = std::mem::replace(&mut self.path, path);
        let outcome = BranchEnd { changed, dead: self.dead, path: end };
        self.dead = dead;
        outcome
    }

    /// The same for what is done in any case.
    pub(crate) fn sure_branch(&mut self, within: impl FnOnce(&mut Self)) -> BranchEnd {
        self.conditions = self.conditions.wrapping_sub(1);
        let outcome = self.branch(within);
        self.conditions = self.conditions.wrapping_add(1);
        outcome
    }

    /// Goes on after exactly one of the branches has run.
    pub(crate) fn join(&mut self, outcomes: Vec<BranchEnd>) {
        let live: Vec<&BranchEnd> = outcomes.iter().filter(|outcome| !outcome.dead).collect();
        if live.is_empty() {
            self.dead |= !outcomes.is_empty();
            return;
        }
        let mut names: Vec<NameId> =
            live.iter().flat_map(|outcome| outcome.changed.iter().map(|it| it.0)).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let unchanged = self.current(name);
            let states: Vec<VariableState> = live
                .iter()
                .map(|outcome| match outcome.changed.binary_search_by_key(&name, |change| change.0) {
                    Ok(at) => outcome.changed[at].1.clone(),
                    Err(_) => unchanged.clone(),
                })
                .collect();
            let paths: Vec<PathId> = live.iter().map(|outcome| outcome.path).collect();
            let merged = self.merge(name, &states, &paths);
            self.states.set(name, merged);
        }
    }

    fn merge(&mut self, name: NameId, states: &[VariableState], paths: &[PathId]) -> VariableState {
        let first = &states[0];
        let defined = if states.iter().all(|state| state.defined == first.defined) {
            first.defined
        } else {
            Defined::Maybe
        };
        let level = first.level;
        if states.iter().all(|state| state.value == first.value && state.level == level) {
            return VariableState { defined, value: first.value.clone(), level };
        }
        let symbol = self.table.fresh_shown(name);
        let value = Poly::symbol(symbol);
        let cases: Option<Vec<Vec<Fact>>> = states
            .iter()
            .zip(paths)
            .map(|(state, &path)| {
                let mut case = vec![Fact::Zero(value.minus(state.value.as_ref()?)?)];
                case.extend(self.paths.facts(path, self.path).into_iter().take(CONDITIONS_MAX).cloned());
                Some(case)
            })
            .collect();
        if let Some(mut cases) = cases.filter(|cases| cases.len() <= 6) {
            cases.dedup();
            self.table.define(symbol, Some(Fact::OneOf(cases)));
        }
        VariableState { defined, value: Some(value), level: self.frame.level }
    }

    /// What the routine being walked knows of a name; of an outer one, that it has the value of the call.
    pub(crate) fn current(&mut self, name: NameId) -> VariableState {
        let state = self.states.get(name);
        if state.level == self.frame.level {
            return state.clone();
        }
        let integer = self.program.types.is_integer(self.program.name(name).ty);
        let value = integer.then(|| self.value_of(name));
        VariableState { defined: Defined::Yes, value, level: self.frame.level }
    }

    /// Goes on after all of the branches have run.
    pub(crate) fn join_all(&mut self, outcomes: Vec<BranchEnd>) {
        let mut seen = crate::symbol::FastMap::default();
        for outcome in outcomes {
            self.dead |= outcome.dead;
            for (name, state) in outcome.changed {
                let twice = seen.insert(name, ()).is_some();
                self.states.set(name, state);
                if twice {
                    self.forget(name);
                }
            }
        }
    }

    /// The variable has a value now, of which nothing is known.
    pub(crate) fn forget(&mut self, name: NameId) {
        let value = Poly::symbol(self.table.fresh_shown(name));
        self.set(name, Defined::Yes, Some(value));
    }

    pub(crate) fn set(&mut self, name: NameId, defined: Defined, value: Option<Poly>) {
        let level = self.frame.level;
        self.states.set(name, VariableState { defined, value, level });
    }

    /// The value of a whole-number name.
    pub(crate) fn value_of(&mut self, name: NameId) -> Poly {
        let fixed = match self.program.name(name).kind {
            NameKind::Abbreviation { mode: Mode::Val, .. }
            | NameKind::Index
            | NameKind::Formal(Mode::Val) => true,
            _ => self.states.get(name).level == self.frame.level,
        };
        if fixed && let Some(value) = &self.states.get(name).value {
            return value.clone();
        }
        if let Some(&symbol) = self.frame.entry.get(&name) {
            return Poly::symbol(symbol);
        }
        let symbol = self.table.fresh_born(self.frame.start);
        self.table.show(symbol, name, Poly::symbol(symbol));
        self.frame.entry.insert(name, symbol);
        Poly::symbol(symbol)
    }

    /// Whether the variable has a value, as far as the routine being walked knows.
    pub(crate) fn defined(&self, name: NameId) -> Defined {
        let state = self.states.get(name);
        if state.level == self.frame.level { state.defined } else { Defined::Yes }
    }
}
