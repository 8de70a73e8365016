//! Owns: what may run in parallel: rules U1-U6, A1-A4, and values that are undefined.
//! May use: `checked`, `program`, `raddle-occam-syntax`.
//! Never: accepts what it cannot prove disjoint.
//!
//! One walk in the order of execution. It knows, for each whole-number variable, a polynomial over symbols that it
//! holds now, and for each variable whether it has a value. Every use of a variable, channel or part of one is
//! recorded as an access with the conditions under which it happens. At a PAR the accesses of its branches are
//! compared pairwise; the instances of a replicated PAR are compared by renaming the symbols that were born inside.
//! Whether two subscripts can be equal is a question to `solve`; a "yes" becomes a message with small numbers from
//! `witness`. A routine is walked once, where it stands; its accesses to parameters and outer variables are its
//! summary, which each call puts in its place.

mod access;
mod again;
mod alias;
mod assigned;
mod barrier;
mod bounded;
mod call;
mod choice;
mod claim;
mod computed;
mod extended;
mod fork;
mod induction;
mod nearby;
mod overlap;
mod parallel;
mod phase;
mod place;
mod poly;
mod quick;
mod report;
mod rounds;
mod routine;
mod size;
mod solve;
mod spec;
mod state;
mod suspend;
mod table;
mod terms;
mod tried;
mod value;
mod walk;
mod witness;

use crate::ast::{Ast, ProcessId};
use crate::checked::{ChannelUse, ChannelUses};
use crate::diag::Diagnostic;
use crate::pre::SourceOptions;
use crate::program::{NameId, Program, RoutineId};
use crate::source::Span;
use crate::symbol::FastMap;
use access::{Access, AccessPath, PathId, Paths, Use};
use alias::{Alias, Freeze};
use bounded::Said;
use claim::Claim;
use poly::{Poly, Sym};
use routine::Summary;
use state::States;
use std::rc::Rc;
use table::SymTable;

/// Questions to the solver that one program may ask; beyond it everything counts as overlapping.
const SOLVED_MAX: u32 = 1_000_000;

/// Searches for small numbers that one program may ask for; they are slower than the solver.
const SEARCHES_MAX: u32 = 500;

/// What belongs to the routine that is being walked.
struct WalkedRoutine {
    routine: Option<RoutineId>,
    /// Names of this level and deeper are the routine's own.
    level: u32,
    /// The symbol that was next when the routine began.
    start: u32,
    /// Symbols for the values that outer variables have at the call.
    entry: FastMap<NameId, Sym>,
    /// Channels used directly and not in parallel: the first use of an end, and whether both were reported.
    ends: FastMap<NameId, (Use, Span, bool)>,
    /// What processes that it forks in no FORKING of its own use of its caller's.
    escapes: Vec<(NameId, Span)>,
}

struct Walker<'a> {
    program: &'a Program,
    ast: &'a Ast,
    diagnostics: &'a mut Vec<Diagnostic>,
    options: Options,
    table: SymTable,
    paths: Paths,
    /// The condition under which the walk stands where it does.
    path: PathId,
    states: States,
    aliases: FastMap<NameId, Alias>,
    freezes: Vec<Freeze>,
    accesses: Vec<Access>,
    /// The claims around, the innermost last, and how many there have been.
    claims: Vec<Claim>,
    claims_made: u32,
    /// What the branches of the PAR that comes next are members of.
    enrolling: Vec<barrier::Enrolled>,
    /// The barriers that the branches around are members of, and how far those have come; how many there have been.
    phases: Vec<phase::Membership>,
    memberships: u32,
    /// Whether a process uses a barrier.
    mentioned: FastMap<(ProcessId, NameId), bool>,
    /// Channels whose sender waits until the process in which the walk stands has ended.
    held_channels: Vec<(AccessPath, Span)>,
    /// Barriers that the walk stands in a RESIGN of.
    resigned: Vec<(NameId, Span)>,
    /// Forks, of this routine and of what it calls.
    forks: fork::Forks,
    frame: WalkedRoutine,
    summaries: FastMap<RoutineId, Rc<Summary>>,
    /// Sizes of arrays by name and dimension, where the type does not tell.
    sizes: FastMap<(NameId, u32), Poly>,
    assigned: FastMap<ProcessId, Rc<[NameId]>>,
    /// Whether the walk stands behind a STOP.
    dead: bool,
    parallel_depth: u32,
    /// Accesses from here on belong to the innermost branch of a PAR.
    segment: usize,
    /// Collects what an abbreviation's expression reads.
    collecting: Option<Vec<AccessPath>>,
    /// For each loop around: what its body changes of what was declared before it.
    rounds: Vec<Rc<[NameId]>>,
    /// The same loops: what one round leaves to the next.
    laps: Vec<again::Lap>,
    /// Conditions around the place where the walk stands.
    conditions: u32,
    /// The value of the VALOF that was walked last, if that is one whole number.
    valof_result: Option<Poly>,
    /// What was declared last.
    newest: NameId,
    /// What may be without a value, and was told so once.
    told: FastMap<NameId, ()>,
    /// How many complaints there were.
    said: Said,
    solved: u32,
    searches: u32,
    /// Points that were tried one by one.
    points: u64,
}

/// How strict the checks are.
#[derive(Clone, Copy, Default)]
pub struct Options {
    /// What the source switched off.
    pub source: SourceOptions,
    /// A value used before there is one is a warning only, as in KRoC; otherwise an error.
    pub undefined_warns: bool,
    /// Earlier stages complained, so a missing value may be their fault; values that are undefined go unmentioned.
    pub incomplete: bool,
}

/// Checks a program; complaints go to `diagnostics`. Returns what the program, and each of its tests, does with
/// each parameter.
pub fn check(program: &Program, options: Options, diagnostics: &mut Vec<Diagnostic>) -> ChannelUses {
    let mut walker = Walker {
        program,
        ast: &program.ast,
        diagnostics,
        options,
        table: SymTable::default(),
        paths: Paths::default(),
        path: 0,
        states: States::new(program.names.len()),
        aliases: FastMap::default(),
        freezes: Vec::new(),
        accesses: Vec::new(),
        claims: Vec::new(),
        claims_made: 0,
        enrolling: Vec::new(),
        phases: Vec::new(),
        memberships: 0,
        mentioned: FastMap::default(),
        held_channels: Vec::new(),
        resigned: Vec::new(),
        forks: fork::Forks::new(program),
        frame: WalkedRoutine {
            routine: None,
            level: 0,
            start: 0,
            entry: FastMap::default(),
            ends: FastMap::default(),
            escapes: Vec::new(),
        },
        summaries: FastMap::default(),
        sizes: FastMap::default(),
        assigned: FastMap::default(),
        dead: false,
        parallel_depth: 0,
        segment: 0,
        collecting: None,
        rounds: Vec::new(),
        laps: Vec::new(),
        conditions: 0,
        valof_result: None,
        newest: NameId(0),
        told: FastMap::default(),
        said: Said::default(),
        solved: 0,
        searches: 0,
        points: 0,
    };
    for &spec in &program.ast.top {
        walker.spec(spec);
    }
    walker.say_what_was_left_out();
    let all = (0..program.routines.len() as u32).map(RoutineId);
    let run = all.filter(|&routine| program.is_run(routine));
    run.map(|routine| (routine, walker.channel_uses(routine))).collect()
}

impl Walker<'_> {
    fn channel_uses(&self, routine: RoutineId) -> Vec<ChannelUse> {
        let Some(summary) = self.summaries.get(&routine) else { return Vec::new() };
        let formals = &self.program.routines[routine.0 as usize].formals;
        let used = |formal: NameId, what: Use| {
            summary.accesses.iter().any(|access| access.root == formal && access.what == what)
        };
        formals
            .iter()
            .map(|&formal| ChannelUse { read: used(formal, Use::In), written: used(formal, Use::Out) })
            .collect()
    }
}
