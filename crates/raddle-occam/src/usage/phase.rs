//! Owns: the phases of a barrier: which accesses of its members a SYNC keeps apart.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: counts a SYNC of which it is not certain that the branch makes it once.
//!
//! The branches of a PAR that enrolls them are members from its beginning. While one is a member, the barrier passes as
//! many times as it has come. So an access behind its second SYNC and one behind the third SYNC of another branch are
//! never made at the same time: one of the two branches has to come, or to end, before the other is let past.
//!
//! The walk knows how many SYNCs of the barrier the branch has made: exactly, or as one of every so many in a loop. In
//! and behind what could make any number of them it is unknown, from there on: calls that get the barrier, a PAR whose
//! branches use it, RESIGN, choices that do not agree. Processes that are forked are at no phase at all.
//!
//! Between two SYNCs another branch may change what this one knows the value of. So all that other branches change is
//! unknown behind each of them. And what a VAL abbreviation has read, it may be asked for later: it counts as read in
//! all phases to come. MOBILEs and channels are not told apart: a variable that has lost its MOBILE to another branch
//! would be taken to have one.

use super::Walker;
use super::access::Access;
use super::poly::Poly;
use super::state::Defined;
use crate::ast::{
    Alt, AlternativeKind, ChoiceKind, ConstructKind, If, InputKind, ProcessId, ProcessKind, SpecKind,
};
use crate::program::NameId;
use crate::types::{Type, TypeId};
use std::rc::Rc;

/// How many SYNCs a branch has made: `start`, or that and a multiple of `every` more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Phase {
    start: u32,
    every: u32,
}

/// The phases at which an access may be made, by the number of the PAR and the barrier.
pub(crate) type Phases = Option<Rc<[(u32, Phase)]>>;

/// A barrier that the branch in which the walk stands is a member of.
pub(crate) struct Membership {
    number: u32,
    barrier: NameId,
    phase: Phase,
    /// What other branches change.
    others: Rc<[NameId]>,
}

impl Phase {
    const FIRST: Phase = Phase { start: 0, every: 0 };

    /// Whether two branches may be at these at the same time.
    fn meets(self, other: Phase) -> bool {
        let (one, two) = if self.every == 0 { (self, other) } else { (other, self) };
        match (one.every, two.every) {
            (0, 0) => one.start == two.start,
            (0, every) => one.start >= two.start && (one.start - two.start).is_multiple_of(every),
            (first, second) => one.start.abs_diff(two.start).is_multiple_of(common(first, second)),
        }
    }

    /// After so many SYNCs; of an unknown number, after any.
    fn after(self, count: Option<u32>) -> Phase {
        match count.and_then(|count| self.start.checked_add(count)) {
            Some(start) => Phase { start, ..self },
            None => self.in_rounds(1),
        }
    }

    /// In the rounds of a loop that makes so many each.
    fn in_rounds(self, count: u32) -> Phase {
        Phase { every: common(self.every, count), ..self }
    }
}

/// The greatest common divisor; of 0 and another, the other.
fn common(one: u32, two: u32) -> u32 {
    if two == 0 { one } else { common(two, one % two) }
}

/// What a process does with a barrier, as far as it is seen from outside.
enum Syncs {
    /// So many SYNCs, exactly.
    Exactly(u32),
    /// In each round so many, for any number of rounds.
    Rounds(u32),
    Unknown,
}

impl Walker<'_> {
    /// Begins a branch of a PAR that enrolls its branches in these barriers, numbered from `first` on.
    pub(super) fn become_member(
        &mut self,
        first: u32,
        barriers: &[NameId],
        others: impl Iterator<Item = ProcessId>,
    ) {
        if barriers.is_empty() {
            return;
        }
        let changed: Vec<NameId> =
            others.flat_map(|other| self.changed_in(other).iter().copied().collect::<Vec<_>>()).collect();
        let others: Rc<[NameId]> = changed.into();
        for (number, &barrier) in (first..).zip(barriers) {
            self.phases.push(Membership { number, barrier, phase: Phase::FIRST, others: Rc::clone(&others) });
        }
        self.forget_what_others_change();
    }

    /// Numbers for the barriers of a PAR.
    pub(super) fn number_memberships(&mut self, barriers: &[NameId]) -> u32 {
        let first = self.memberships;
        self.memberships += barriers.len() as u32;
        first
    }

    /// The phases at which what is done now may be done.
    pub(super) fn phases_now(&self) -> Phases {
        if self.phases.is_empty() || self.forks.current != 0 {
            return None;
        }
        Some(self.phases.iter().map(|it| (it.number, it.phase)).collect())
    }

    /// What is kept by a name: as if it was done in all phases to come.
    pub(super) fn in_all_phases(&mut self, within: impl FnOnce(&mut Self)) {
        let before: Vec<Phase> = self.phases.iter().map(|it| it.phase).collect();
        self.phases.iter_mut().for_each(|it| it.phase = it.phase.in_rounds(1));
        within(self);
        self.put_phases_back(&before);
    }

    pub(super) fn phases_before(&self) -> Vec<Phase> {
        self.phases.iter().map(|it| it.phase).collect()
    }

    pub(super) fn put_phases_back(&mut self, before: &[Phase]) {
        self.phases.iter_mut().zip(before).for_each(|(it, &phase)| it.phase = phase);
    }

    /// A process begins: what it does with the barriers; the phases at its end.
    pub(super) fn enter_phases(&mut self, id: ProcessId) -> Vec<Phase> {
        if self.phases.is_empty() {
            return Vec::new();
        }
        let (mut behind, mut uses) = (Vec::new(), false);
        for at in 0..self.phases.len() {
            let (barrier, before) = (self.phases[at].barrier, self.phases[at].phase);
            if !self.mentions(id, barrier) {
                behind.push(before);
                continue;
            }
            uses = true;
            let (within, after) = match self.syncs(id, barrier) {
                Syncs::Exactly(count) if self.goes_through(id) => (before, before.after(Some(count))),
                Syncs::Exactly(count) => (before.in_rounds(1), before.after(Some(count))),
                Syncs::Rounds(count) => (before.in_rounds(count), before.in_rounds(count)),
                Syncs::Unknown if self.goes_through(id) => (before, before.in_rounds(1)),
                Syncs::Unknown => (before.in_rounds(1), before.in_rounds(1)),
            };
            self.phases[at].phase = within;
            behind.push(after);
        }
        if uses {
            self.forget_what_others_change();
        }
        behind
    }

    /// It has ended.
    pub(super) fn leave_phases(&mut self, id: ProcessId, behind: &[Phase]) {
        if behind.is_empty() {
            return;
        }
        self.put_phases_back(behind);
        if (0..self.phases.len()).any(|at| self.mentions(id, self.phases[at].barrier)) {
            self.forget_what_others_change();
        }
    }

    /// Whether a SYNC of the PAR with these barriers comes between two accesses of different branches.
    pub(super) fn kept_apart(&self, one: &Access, two: &Access, (first, count): (u32, usize)) -> bool {
        let (Some(of_one), Some(of_two)) = (&one.phases, &two.phases) else { return false };
        let phase = |list: &[(u32, Phase)], number: u32| list.iter().find(|it| it.0 == number).map(|it| it.1);
        let apart = |number: u32| match (phase(of_one, number), phase(of_two, number)) {
            (Some(one), Some(two)) => !one.meets(two),
            _ => false,
        };
        (first..).take(count).any(apart) && self.is_plain(self.program.name(one.root).ty)
    }

    /// Whether it is numbers, or arrays and records of such.
    fn is_plain(&self, ty: TypeId) -> bool {
        let types = &self.program.types;
        match types.get(ty) {
            Type::Basic(_) => true,
            Type::Named(at) => self.is_plain(types.named[at as usize].of),
            Type::Array { element, .. } => self.is_plain(element),
            Type::Record(at) => types.records[at as usize].fields.iter().all(|it| self.is_plain(it.ty)),
            _ => false,
        }
    }

    fn forget_what_others_change(&mut self) {
        let others: Vec<NameId> = self.phases.iter().flat_map(|it| it.others.iter().copied()).collect();
        for name in others {
            let ty = self.program.name(name).ty;
            if self.is_plain(ty) {
                let integer = self.program.types.is_integer(ty);
                let value = integer.then(|| Poly::symbol(self.table.fresh_shown(name)));
                // It may have been another branch that gave it one.
                self.set(name, Defined::Yes, value);
            }
        }
    }

    /// Whether a process uses a barrier, by whatever name.
    fn mentions(&mut self, id: ProcessId, barrier: NameId) -> bool {
        if let Some(&known) = self.mentioned.get(&(id, barrier)) {
            return known;
        }
        let names = self.forks.names_in(self.program, id);
        let found = names.into_iter().any(|name| self.is_barrier(name, barrier));
        self.mentioned.insert((id, barrier), found);
        found
    }

    fn is_barrier(&self, name: NameId, barrier: NameId) -> bool {
        name == barrier || self.name_places(name).iter().any(|place| place.root == barrier)
    }

    /// Whether the phase goes on through the parts of a process one by one.
    fn goes_through(&self, id: ProcessId) -> bool {
        match &self.ast.process(id).kind {
            ProcessKind::Construct { order, replicator, .. } => {
                *order == ConstructKind::Seq && replicator.is_none()
            }
            ProcessKind::If(_)
            | ProcessKind::Alt(_)
            | ProcessKind::Case { .. }
            | ProcessKind::Block { .. }
            | ProcessKind::Claim { .. }
            | ProcessKind::Forking(_)
            | ProcessKind::Sync(_) => true,
            _ => false,
        }
    }

    /// How many SYNCs of a barrier a process makes that uses it.
    fn syncs(&mut self, id: ProcessId, barrier: NameId) -> Syncs {
        let ast = self.ast;
        let rounds = |count: Option<u32>| match count {
            Some(0) | None => Syncs::Unknown,
            Some(count) => Syncs::Rounds(count),
        };
        match &ast.process(id).kind {
            &ProcessKind::While(_, body) => rounds(self.count(body, barrier)),
            ProcessKind::Construct { order: ConstructKind::Seq, replicator: Some(_), body } => {
                rounds(self.count_all(body, barrier))
            }
            _ => self.count(id, barrier).map_or(Syncs::Unknown, Syncs::Exactly),
        }
    }

    fn count_all(&mut self, list: &[ProcessId], barrier: NameId) -> Option<u32> {
        list.iter().try_fold(0_u32, |sum, &it| sum.checked_add(self.count(it, barrier)?))
    }

    /// The number of SYNCs, if it is the same in any case.
    fn count(&mut self, id: ProcessId, barrier: NameId) -> Option<u32> {
        if !self.mentions(id, barrier) {
            return Some(0);
        }
        let ast = self.ast;
        match &ast.process(id).kind {
            &ProcessKind::Sync(of) => {
                let name = self.program.name_of(of);
                (name != NameId::NONE && self.is_barrier(name, barrier)).then_some(1)
            }
            ProcessKind::Construct { order: ConstructKind::Seq, replicator: None, body } => {
                self.count_all(body, barrier)
            }
            ProcessKind::Block { specs, body } => {
                let renames = specs.iter().any(|&spec| match ast.spec(spec).kind {
                    SpecKind::Abbreviate { value, .. } => {
                        let name = self.program.name_of(value);
                        name != NameId::NONE && self.is_barrier(name, barrier)
                    }
                    _ => false,
                });
                if renames { None } else { self.count(*body, barrier) }
            }
            &ProcessKind::Claim { body, .. } | &ProcessKind::Forking(body) => self.count(body, barrier),
            ProcessKind::If(node) => {
                let mut bodies = Vec::new();
                choices(node, &mut bodies);
                self.same(&bodies, barrier)
            }
            ProcessKind::Case { options, .. } => {
                let bodies: Vec<ProcessId> = options.iter().map(|option| option.body).collect();
                self.same(&bodies, barrier)
            }
            ProcessKind::Alt(node) => {
                let mut bodies = Vec::new();
                self.alternatives_of(node, &mut bodies)?;
                self.same(&bodies, barrier)
            }
            _ => None,
        }
    }

    fn same(&mut self, bodies: &[ProcessId], barrier: NameId) -> Option<u32> {
        let (&first, others) = bodies.split_first()?;
        let count = self.count(first, barrier)?;
        others.iter().all(|&other| self.count(other, barrier) == Some(count)).then_some(count)
    }

    /// The processes of an ALT; none if some stand behind tags or in extended inputs.
    fn alternatives_of(&self, node: &Alt, bodies: &mut Vec<ProcessId>) -> Option<()> {
        for alternative in &node.alternatives {
            match &alternative.kind {
                &AlternativeKind::Guarded { input, body, .. } => {
                    match input.map(|input| &self.ast.process(input).kind) {
                        None
                        | Some(ProcessKind::Input {
                            kind: InputKind::Items(_) | InputKind::After(_), ..
                        }) => {}
                        _ => return None,
                    }
                    bodies.push(body);
                }
                AlternativeKind::Nested(node) => self.alternatives_of(node, bodies)?,
            }
        }
        Some(())
    }
}

fn choices(node: &If, bodies: &mut Vec<ProcessId>) {
    for choice in &node.choices {
        match &choice.kind {
            &ChoiceKind::Guarded(_, body) => bodies.push(body),
            ChoiceKind::Nested(node) => choices(node, bodies),
        }
    }
}
