//! Owns: PAR: the branches' accesses against each other (U1, U2, U3).
//! May use: `program`, `raddle-occam-syntax`.
//! Never: compares accesses that only read.

use super::Walker;
use super::access::{Access, Use};
use super::barrier::Enrolled;
use super::claim::Held;
use super::nearby::Nearby;
use super::overlap::Instances;
use super::poly::{Poly, Sym};
use crate::ast::{ProcessId, Replicator};
use crate::program::{NameId, NameKind};
use crate::symbol::FastMap;

/// So many accesses are compared each with each.
const FEW: usize = 16;

impl Walker<'_> {
    pub(crate) fn par(&mut self, body: &[ProcessId]) {
        let (start, claims) = (self.accesses.len(), self.claims_made);
        let all = std::mem::take(&mut self.enrolling);
        let enrolled = Walker::whole(&all);
        let (first, members) = (self.number_memberships(&enrolled), self.phases.len());
        let mut ends = Vec::new();
        let mut outcomes = Vec::new();
        self.parallel_depth += 1;
        let segment = self.segment;
        for &process in body {
            self.segment = self.accesses.len();
            // Not a list: it would be made for each branch, of all the others.
            let others = body.iter().copied().filter(|&it| it != process);
            outcomes.push(self.sure_branch(|walker| {
                walker.become_member(first, &enrolled, others);
                walker.process(process);
                walker.phases.truncate(members);
            }));
            ends.push(self.accesses.len());
        }
        self.parallel_depth -= 1;
        self.segment = segment;
        self.compare((start, claims), &ends, &all, (first, enrolled.len()));
        self.forget_own(start);
        self.join_all(outcomes);
    }

    pub(crate) fn replicated_par(&mut self, replicator: &Replicator, body: &[ProcessId]) {
        let base = self.read_value(replicator.base);
        let count = self.read_value(replicator.count);
        let step = replicator.step.map_or_else(|| Poly::constant(1), |step| self.read_value(step));
        let (start, claims) = (self.accesses.len(), self.claims_made);
        let mark = self.table.next();
        let all = std::mem::take(&mut self.enrolling);
        let enrolled = Walker::whole(&all);
        let (first, members) = (self.number_memberships(&enrolled), self.phases.len());
        let mut number = None;
        self.parallel_depth += 1;
        let segment = std::mem::replace(&mut self.segment, start);
        self.forks.replicated += 1;
        let outcome = self.branch(|walker| {
            walker.some_rounds(&count);
            number = Some(walker.bind_index(replicator, &base, &count, &step));
            walker.become_member(first, &enrolled, body.iter().copied());
            body.iter().for_each(|&process| walker.process(process));
            walker.phases.truncate(members);
        });
        self.forks.replicated -= 1;
        self.parallel_depth -= 1;
        self.segment = segment;
        let index = self.program.replicator_names[replicator.number as usize];
        let alone = count.as_constant().is_some_and(|count| count <= 1);
        match number {
            Some(number) if !alone && index != NameId::NONE => self.compare_instances(
                (start, claims),
                index,
                (mark, number),
                (&all, (first, enrolled.len())),
            ),
            _ => {}
        }
        let never = count.as_constant().is_some_and(|count| count <= 0);
        if never {
            self.accesses.truncate(start);
        }
        self.forget_own(start);
        let changed: Vec<NameId> = outcome.changed.iter().map(|change| change.0).collect();
        self.join_rounds(outcome, count.as_constant().is_some_and(|count| count > 0));
        for name in changed {
            // Which instance was last is not known.
            let (defined, value) = (self.defined(name), self.states.get(name).value.is_some());
            let value = value.then(|| Poly::symbol(self.table.fresh_shown(name)));
            self.set(name, defined, value);
        }
    }

    /// Drops what no caller and no PAR around needs.
    pub(crate) fn forget_own(&mut self, start: usize) {
        if self.parallel_depth > 0 {
            return;
        }
        let (program, level) = (self.program, self.frame.level);
        let mut at = 0;
        self.accesses.retain(|access| {
            at += 1;
            let name = program.name(access.root);
            at <= start || name.level < level || matches!(name.kind, NameKind::Formal(_))
        });
    }

    /// The accesses since `start` as groups of one variable each, in order.
    fn groups(&self, start: usize) -> Vec<(NameId, usize)> {
        let mut list: Vec<(NameId, usize)> =
            (start..self.accesses.len()).map(|at| (self.accesses[at].root, at)).collect();
        list.sort_unstable();
        list
    }

    /// Whether the source asked for no checks of this name.
    pub(crate) fn exempt(&self, root: NameId) -> bool {
        self.program.name(root).shared || self.options.source.no_usage_check
    }

    /// Whether both are uses of one end under claims from within the PAR, which keep them apart.
    pub(crate) fn both_claimed(&self, claims: u32, one: usize, two: usize) -> bool {
        let (one, two) = (&self.accesses[one], &self.accesses[two]);
        let inside = |held: Held| held.number > claims;
        match (one.held, two.held) {
            (Some(first), Some(second)) => {
                one.what == two.what && first.bundle == second.bundle && inside(first) && inside(second)
            }
            _ => false,
        }
    }

    /// Whether it is a use outside CLAIM of what needs one, which is an error of its own.
    pub(crate) fn told_unclaimed(&self, at: usize) -> bool {
        let access = &self.accesses[at];
        let channel = matches!(access.what, Use::In | Use::Out);
        channel && access.held.is_none() && self.is_shared(self.program.name(access.root).ty, access.what)
    }

    fn compare(
        &mut self,
        (start, claims): (usize, u32),
        ends: &[usize],
        enrolled: &[Enrolled],
        numbers: (u32, usize),
    ) {
        let branch = |at: usize| ends.partition_point(|&end| end <= at);
        let groups = self.groups(start);
        for group in groups.chunk_by(|one, two| one.0 == two.0) {
            if branch(group[0].1) == branch(group[group.len() - 1].1) || self.exempt(group[0].0) {
                continue;
            }
            let members = self.members_in(group, enrolled);
            let apart = |one: usize, two: usize| {
                branch(one) != branch(two) && !(members.contains_key(&one) && members.contains_key(&two))
            };
            self.compare_group(group, (claims, numbers), apart, &Instances::Same);
        }
    }

    fn compare_instances(
        &mut self,
        (start, claims): (usize, u32),
        index: NameId,
        (mark, number): (u32, Sym),
        (enrolled, numbers): (&[Enrolled], (u32, usize)),
    ) {
        let instances = Instances::Different { mark, number };
        let groups = self.groups(start);
        for group in groups.chunk_by(|one, two| one.0 == two.0) {
            // What is declared inside the PAR is each instance's own; it was declared after the index.
            if group[0].0 > index || self.exempt(group[0].0) {
                continue;
            }
            let members = self.members_in(group, enrolled);
            let apart = |one: usize, two: usize| !(members.contains_key(&one) && members.contains_key(&two));
            self.compare_group(group, (claims, numbers), apart, &instances);
        }
    }

    /// Of a barrier that the branches are members of, the accesses of its members.
    fn members_in(&self, group: &[(NameId, usize)], enrolled: &[Enrolled]) -> FastMap<usize, ()> {
        if enrolled.is_empty() {
            return FastMap::default();
        }
        let members = group.iter().filter(|(_, at)| Walker::is_of(&self.accesses[*at], enrolled));
        members.map(|&(_, at)| (at, ())).collect()
    }

    /// Reports the first pair of conflicting accesses, if there is one.
    fn compare_group(
        &mut self,
        group: &[(NameId, usize)],
        (claims, members): (u32, (u32, usize)),
        apart: impl Fn(usize, usize) -> bool,
        how: &Instances,
    ) {
        let both_orders = matches!(how, Instances::Different { .. });
        let has_conflict = group.iter().any(|&(_, at)| self.accesses[at].what != Use::Read);
        if !has_conflict {
            return;
        }
        let is_long = !both_orders && group.len() > FEW;
        let accesses = || group.iter().map(|&(_, at)| &self.accesses[at]);
        let mut nearby = is_long.then(|| Nearby::new(&self.table, accesses()));
        let (mut others, mut branch_end) = (Vec::new(), 0);
        for (at, &(_, one)) in group.iter().enumerate() {
            if let Some(nearby) = &mut nearby {
                // Whose branch begins here are compared with those of later ones only.
                while branch_end <= at || branch_end < group.len() && !apart(one, group[branch_end].1) {
                    nearby.leave_out(branch_end);
                    branch_end += 1;
                }
                nearby.of(at, self.accesses[one].what, &mut others);
            } else {
                others.clear();
                others.extend(if both_orders { 0 } else { at + 1 }..group.len());
            }
            for &(_, two) in others.iter().map(|&other| &group[other]) {
                if !apart(one, two) || !self.accesses[one].what.conflicts(self.accesses[two].what) {
                    continue;
                }
                if self.both_claimed(claims, one, two) || self.told_unclaimed(one) || self.told_unclaimed(two)
                {
                    continue;
                }
                if self.kept_apart(&self.accesses[one], &self.accesses[two], members) {
                    continue;
                }
                let (one, two): (Access, Access) = (self.accesses[one].clone(), self.accesses[two].clone());
                if let Some(meeting) = self.meet(&one, &two, how) {
                    self.report_race(&one, &two, &meeting, how);
                    return;
                }
            }
        }
    }
}
