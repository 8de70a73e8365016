//! Owns: FORKING and FORK: rule U5.
//! May use: `free`, `program`, `types`, `raddle-occam-syntax`.
//! Never: takes a forked process for over before its FORKING is.
//!
//! A forked process runs beside all that its FORKING does, what came before the FORK included, and beside all others
//! that are forked there. So each access says whose it is, and at the end of the FORKING those of different processes
//! are compared; those of one FORK with each other, too, if it may be reached more than once. What is forked in no
//! FORKING of its routine is the caller's to compare, and in the program's entry that of the program.
//!
//! It may use nothing that ends before it does: what it does not get as a copy is declared outside of the FORKING. Of a
//! routine that forks without one, this is asked of its parameters where it is called.
//!
//! Subscripts are told apart only if they are constants: which round of a loop a FORK was made in is not known here.

use super::Walker;
use super::access::{Access, Step, Use};
use super::call::Actual;
use super::routine::Summary;
use crate::ast::{ExprId, Mode, ProcessId};
use crate::diag::{Code, Diagnostic};
use crate::free::Free;
use crate::program::{NameId, NameKind, Program, RoutineId};
use crate::source::Span;
use crate::types::Type;

/// One FORKING around the place where the walk stands, in its routine.
struct Forking {
    /// Names from this one on are declared in it.
    first_name: NameId,
    /// How many loops and replicated PARs were around it.
    rounds: usize,
}

/// The FORKINGs of the routine that is walked, and all forks.
pub(crate) struct Forks {
    free: Free,
    blocks: Vec<Forking>,
    /// The FORK whose process is looked at; 0 if none.
    pub(crate) current: u32,
    /// For each FORK, by its number less 1: whether several processes may come of it.
    repeated: Vec<bool>,
    /// The number for what is forked by the call of that claim number.
    called: (u32, u32),
    /// Replicated PARs around.
    pub(crate) replicated: usize,
}

impl Forks {
    pub(crate) fn new(program: &Program) -> Forks {
        let free = Free::new(program, program.entry());
        Forks { free, blocks: Vec::new(), current: 0, repeated: Vec::new(), called: (0, 0), replicated: 0 }
    }

    fn next(&mut self, repeated: bool) -> u32 {
        self.repeated.push(repeated);
        self.repeated.len() as u32
    }

    /// The names that a process uses, through calls too.
    pub(super) fn names_in(&self, program: &Program, process: ProcessId) -> Vec<NameId> {
        let (names, _) = self.free.of_processes(program, &[process], NameId::NONE);
        names.into_keys().collect()
    }

    /// The outer names that a routine uses, through calls too.
    pub(super) fn outer_names(&self, routine: RoutineId) -> Vec<NameId> {
        self.free.of(routine).keys().copied().collect()
    }

    fn is_repeated(&self, fork: u32) -> bool {
        fork.checked_sub(1).is_some_and(|at| self.repeated[at as usize])
    }

    /// The number of what is forked by a call, which may be several processes.
    pub(crate) fn number_in(&mut self, call: u32) -> u32 {
        if self.called.0 != call {
            self.called = (call, self.next(true));
        }
        self.called.1
    }
}

/// What belongs to the routine around one that is walked.
pub(crate) struct ForksAround {
    blocks: Vec<Forking>,
    current: u32,
    replicated: usize,
}

impl Walker<'_> {
    pub(crate) fn begin_forks(&mut self) -> ForksAround {
        let forks = &mut self.forks;
        ForksAround {
            blocks: std::mem::take(&mut forks.blocks),
            current: std::mem::take(&mut forks.current),
            replicated: std::mem::take(&mut forks.replicated),
        }
    }

    pub(crate) fn end_forks(&mut self, around: ForksAround) {
        let ForksAround { blocks, current, replicated } = around;
        (self.forks.blocks, self.forks.current, self.forks.replicated) = (blocks, current, replicated);
    }

    /// How many loops and replicated PARs are around.
    fn rounds_around(&self) -> usize {
        self.rounds.len() + self.forks.replicated
    }

    pub(crate) fn forking(&mut self, id: ProcessId, body: ProcessId) {
        let (first, claims) = (self.accesses.len(), self.claims_made);
        let first_name = self.program.forkings.get(&id.0).copied().unwrap_or(NameId(0));
        let block = Forking { first_name, rounds: self.rounds_around() };
        self.forks.blocks.push(block);
        self.parallel_depth += 1;
        let segment = std::mem::replace(&mut self.segment, first);
        self.process(body);
        self.segment = segment;
        self.parallel_depth -= 1;
        self.forks.blocks.pop();
        self.compare_forks(first, claims);
        for access in &mut self.accesses[first..] {
            access.fork = self.forks.current;
        }
        self.forget_own(first);
    }

    pub(crate) fn fork(&mut self, callee: NameId, arguments: &[ExprId], span: Span) {
        let Some(routine) = self.program.routine_of(callee) else {
            arguments.iter().for_each(|&argument| self.read(argument));
            return;
        };
        let mut actuals = self.actuals(routine, arguments);
        for actual in &mut actuals {
            if self.is_given_away(actual) {
                self.stays_shared(actual);
                self.read(actual.argument);
                self.move_from(actual.argument);
                (actual.reference, actual.places) = (false, Vec::new());
            }
        }
        let summary = self.routine_summary(routine).unwrap_or_else(|| self.unknown_summary(routine));
        self.argument_aliases(&actuals, &summary);
        self.check_ends(&actuals, &summary);
        self.outlived(routine, &actuals, span);
        let rounds = self.forks.blocks.last().map_or(0, |block| block.rounds);
        let repeated = self.rounds_around() > rounds || self.program.routines[routine.0 as usize].recursive;
        let number = self.forks.next(repeated);
        let around = std::mem::replace(&mut self.forks.current, number);
        // The claims of who forks are not those of the forked process.
        let claims = std::mem::take(&mut self.claims);
        let phases = std::mem::take(&mut self.phases);
        self.perform(&actuals, &summary, span);
        (self.claims, self.phases) = (claims, phases);
        self.forks.current = around;
        self.pass_escapes(&actuals, &summary, span);
    }

    /// Whether the forked process gets a mobile or an end for itself, by way of a parameter that is a reference in a
    /// call.
    fn is_given_away(&self, actual: &Actual) -> bool {
        let ty = self.program.name(actual.formal).ty;
        actual.reference && matches!(self.program.types.get(ty), Type::Mobile(_) | Type::End { .. })
    }

    /// An end that several have is SHARED to the process, too.
    fn stays_shared(&mut self, actual: &Actual) {
        let shared = |ty| matches!(self.program.types.get(ty), Type::End { shared: true, .. });
        if shared(self.program.type_of(actual.argument)) && !shared(self.program.name(actual.formal).ty) {
            let message = "this end is SHARED, and would not be to the forked process";
            self.complain(Diagnostic::new(Code::Claim, self.ast.expr(actual.argument).span, message));
        }
    }

    /// What the process does not get as a copy must be there as long as it may be.
    fn outlived(&mut self, routine: RoutineId, actuals: &[Actual], span: Span) {
        for actual in actuals.iter().filter(|actual| actual.reference) {
            let span = self.ast.expr(actual.argument).span;
            for root in actual.places.iter().map(|place| place.root).collect::<Vec<_>>() {
                self.must_outlive(root, span);
            }
        }
        let free: Vec<(NameId, bool)> =
            self.forks.free.of(routine).iter().map(|(&name, &changed)| (name, changed)).collect();
        for (name, changed) in free {
            if !self.is_copied(name, changed) {
                self.must_outlive(name, span);
            }
        }
    }

    /// Whether a routine gets an outer name's value, and not its place.
    fn is_copied(&self, name: NameId, changed: bool) -> bool {
        let (program, declared) = (self.program, self.program.name(name));
        let plain = program.types.basic(declared.ty).is_some()
            && !matches!(program.types.get(declared.ty), Type::Mobile(_));
        program.values.contains_key(&name.0)
            || declared.kind == NameKind::Index
            || matches!(program.types.get(program.types.innermost(declared.ty)), Type::Timer)
            || (plain && !changed)
    }

    /// A root that a forked process uses is declared outside of its FORKING, or is the caller's.
    fn must_outlive(&mut self, root: NameId, span: Span) {
        let name = self.program.name(root);
        let inside = match self.forks.blocks.last() {
            Some(block) => root >= block.first_name,
            None => name.level >= self.frame.level && !self.is_lent(root),
        };
        if !inside {
            if self.forks.blocks.is_empty() && !self.frame.escapes.iter().any(|escape| escape.0 == root) {
                self.frame.escapes.push((root, span));
            }
            return;
        }
        let text = self.program.spelling(root);
        let message = format!("the forked process may outlive `{text}`, which it uses");
        let mut complaint =
            Diagnostic::new(Code::ForkOutlives, span, message).also(name.span, "declared here");
        complaint = complaint.help(match self.forks.blocks.is_empty() {
            true => format!("put FORKING between the declaration of `{text}` and the FORK"),
            false => {
                format!("declare `{text}` before the FORKING, or give the process a copy: VAL or MOBILE")
            }
        });
        self.complain(complaint);
    }

    /// Whether it is a parameter whose place the caller has to keep.
    fn is_lent(&self, name: NameId) -> bool {
        matches!(self.program.name(name).kind, NameKind::Formal(Mode::Reference | Mode::Result))
    }

    /// A call of a routine that forks: what the forked processes use must outlive them here, too.
    pub(crate) fn pass_escapes(&mut self, actuals: &[Actual], summary: &Summary, span: Span) {
        for &(name, _) in &summary.escapes {
            match actuals.iter().find(|actual| actual.formal == name) {
                Some(actual) if !actual.reference => {
                    let text = self.program.spelling(name);
                    let message = format!("a process that the PROC forks may outlive its parameter `{text}`");
                    let span = self.ast.expr(actual.argument).span;
                    self.complain(Diagnostic::new(Code::ForkOutlives, span, message));
                }
                Some(actual) => {
                    let span = self.ast.expr(actual.argument).span;
                    for root in actual.places.iter().map(|place| place.root).collect::<Vec<_>>() {
                        self.must_outlive(root, span);
                    }
                }
                None => self.must_outlive(name, span),
            }
        }
    }

    /// Compares what forked processes do with what is done beside them.
    pub(crate) fn compare_forks(&mut self, first: usize, claims: u32) {
        let current = self.forks.current;
        if self.accesses[first..].iter().all(|access| access.fork == current) {
            return;
        }
        let mut list: Vec<(NameId, usize)> =
            (first..self.accesses.len()).map(|at| (self.accesses[at].root, at)).collect();
        list.sort_unstable();
        for group in list.chunk_by(|one, two| one.0 == two.0) {
            if !self.exempt(group[0].0) {
                self.compare_forks_on(group, claims);
            }
        }
    }

    /// Reports the first pair of accesses of one variable that two processes may make at the same time.
    fn compare_forks_on(&mut self, group: &[(NameId, usize)], claims: u32) {
        for (at, &(_, one)) in group.iter().enumerate() {
            for &(_, two) in &group[at..] {
                let (first, second) = (&self.accesses[one], &self.accesses[two]);
                let apart = first.fork != second.fork || self.forks.is_repeated(first.fork);
                if !apart || !first.what.conflicts(second.what) || told_apart(&first.path, &second.path) {
                    continue;
                }
                if self.both_claimed(claims, one, two) || self.told_unclaimed(one) || self.told_unclaimed(two)
                {
                    continue;
                }
                let (first, second) = (first.clone(), second.clone());
                return self.report_fork(&first, &second);
            }
        }
    }

    fn report_fork(&mut self, one: &Access, two: &Access) {
        // The forked one first.
        let (one, two) = if one.fork == self.forks.current { (two, one) } else { (one, two) };
        let text = self.program.spelling(one.root).to_owned();
        let channel = matches!(one.what, Use::In | Use::Out);
        let beside = match (two.fork == one.fork, two.fork == self.forks.current) {
            (true, _) => "another process of the same FORK",
            (false, true) => "the FORKING around it",
            (false, false) => "another forked process",
        };
        let verb = |access: &Access| if Walker::is_members(access) { "used" } else { access.what.verb() };
        let (verb, other) = (verb(one), verb(two));
        let message = format!("`{text}` is {verb} in a forked process and {other} in {beside}");
        let code = if channel { Code::RaceChannel } else { Code::RaceVariable };
        let mut complaint = Diagnostic::new(code, one.span, message).label(verb);
        if two.span != one.span {
            complaint = complaint.also(two.span, other);
        }
        self.complain(complaint.help(match channel {
            true => "give each process a channel of its own, or make the end SHARED and CLAIM it",
            false => "give the process a copy (VAL or MOBILE), or let it send what it found over a channel",
        }));
    }
}

/// Whether two ways into one variable lead to different parts, whatever the values of variables are.
fn told_apart(one: &[Step], two: &[Step]) -> bool {
    one.iter().zip(two).any(|steps| match steps {
        (Step::Field(left), Step::Field(right)) => left != right,
        (Step::Index(left, _), Step::Index(right, _)) => {
            matches!((left.as_constant(), right.as_constant()), (Some(left), Some(right)) if left != right)
        }
        _ => false,
    })
}
