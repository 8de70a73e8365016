//! Owns: the walk over a routine's body, and the summary that its calls use.
//! May use: `program`, `raddle-occam-syntax`.
//! Never: keeps what happens to a routine's own variables.

use super::access::{Access, Use};
use super::claim::Held;
use super::poly::{Poly, Sym};
use super::state::Defined;
use super::{WalkedRoutine, Walker};
use crate::ast::Mode;
use crate::program::{Body, NameId, NameKind, RoutineId};
use crate::source::Span;
use crate::symbol::FastMap;
use std::rc::Rc;

/// What a call does, in terms of parameters and outer variables.
pub(crate) struct Summary {
    pub(crate) accesses: Vec<Access>,
    /// The value of a FUNCTION with one whole-number result.
    pub(crate) result: Option<Poly>,
    /// Symbols for the values that variables have at the call.
    pub(crate) inputs: Vec<(NameId, Sym)>,
    /// Symbols for the sizes of parameters, by dimension.
    pub(crate) sizes: Vec<(NameId, u32, Sym)>,
    /// Symbols from this one on are the routine's own.
    pub(crate) start: u32,
    /// Claims with greater numbers are the routine's own.
    pub(crate) claims: u32,
    /// What forked processes that outlive the call use of the caller's.
    pub(crate) escapes: Vec<(NameId, Span)>,
}

/// Accesses of one kind to one variable that a summary tells apart; more become one to the whole variable.
const ACCESSES_MAX: usize = 24;

impl Walker<'_> {
    pub(crate) fn routine(&mut self, id: RoutineId) {
        if self.program.routines[id.0 as usize].recursive {
            // First round: what the body does besides calling itself; the recursive call then does as much.
            let (complaints, said) = (std::mem::take(self.diagnostics), self.said);
            let summary = self.summarise(id);
            (*self.diagnostics, self.said) = (complaints, said);
            let accesses = summary.accesses.iter().map(|access| Access {
                path: Rc::from([]),
                facts: 0,
                ..access.clone()
            });
            let widened = Summary {
                accesses: accesses.collect(),
                result: None,
                inputs: Vec::new(),
                sizes: Vec::new(),
                start: summary.start,
                claims: summary.claims,
                escapes: summary.escapes,
            };
            self.summaries.insert(id, Rc::new(widened));
            // What loops change was gathered without knowing what the recursive call does.
            self.assigned.clear();
        }
        let summary = self.summarise(id);
        self.takes_along(id, &summary);
        self.summaries.insert(id, Rc::new(summary));
    }

    fn summarise(&mut self, id: RoutineId) -> Summary {
        let program = self.program;
        let routine = &program.routines[id.0 as usize];
        let level = program.name(routine.name).level + 1;
        let (start, claims) = (self.table.next(), self.claims_made);
        let frame = WalkedRoutine {
            routine: Some(id),
            level,
            start,
            entry: FastMap::default(),
            ends: FastMap::default(),
            escapes: Vec::new(),
        };
        let outer = std::mem::replace(&mut self.frame, frame);
        let freezes = std::mem::take(&mut self.freezes);
        let phases = std::mem::take(&mut self.phases);
        let laps = std::mem::take(&mut self.laps);
        let (path, depth, dead) = (self.path, self.parallel_depth, self.dead);
        let collecting = self.collecting.take();
        (self.path, self.parallel_depth, self.dead) = (0, 0, false);
        let first = self.accesses.len();
        let forks = self.begin_forks();
        let segment = std::mem::replace(&mut self.segment, first);
        self.newest = routine.formals.last().copied().unwrap_or(routine.name);
        let (mut given, mut sizes, mut result) = (Vec::new(), Vec::new(), None);
        let outcome = self.branch(|walker| {
            given = walker.formals(&routine.formals);
            for &formal in &routine.formals {
                let list = walker.size_parameter(formal).into_iter();
                sizes.extend(list.map(|(depth, symbol)| (formal, depth, symbol)));
            }
            match &routine.body {
                &Body::Process(body) => walker.process(body),
                Body::Results(list) => {
                    for &result in list {
                        walker.read(result);
                        walker.move_from(result);
                    }
                    result = walker.result_of(list);
                }
                Body::Predefined | Body::Foreign | Body::Interface => {}
            }
        });
        drop(outcome);
        self.laps = laps;
        if self.program.is_run(id) {
            self.compare_forks(first, claims);
        }
        self.end_forks(forks);
        let accesses = self.accesses.split_off(first);
        self.segment = segment;
        let frame = std::mem::replace(&mut self.frame, outer);
        (self.freezes, self.phases) = (freezes, phases);
        (self.path, self.parallel_depth, self.dead) = (path, depth, dead);
        self.collecting = collecting;
        let mut inputs: Vec<(NameId, Sym)> =
            frame.entry.iter().map(|(&name, &symbol)| (name, symbol)).collect();
        inputs.extend(given);
        inputs.sort_unstable();
        let mine = accesses.into_iter().filter(|access| {
            let name = program.name(access.root);
            name.level < level || routine.formals.contains(&access.root)
        });
        let escapes = frame.escapes;
        Summary { accesses: widen(mine, claims), result, inputs, sizes, start, claims, escapes }
    }

    /// Gives the parameters their states; the symbols of those passed by value.
    fn formals(&mut self, formals: &[NameId]) -> Vec<(NameId, Sym)> {
        let mut given = Vec::new();
        for &formal in formals {
            let name = self.program.name(formal);
            let integer = self.program.types.is_integer(name.ty);
            match name.kind {
                NameKind::Formal(Mode::Val | Mode::Initial) if integer => {
                    let symbol = self.table.fresh_shown(formal);
                    given.push((formal, symbol));
                    self.set(formal, Defined::Yes, Some(Poly::symbol(symbol)));
                }
                NameKind::Formal(Mode::Result) => self.set(formal, Defined::No, None),
                _ => {}
            }
        }
        given
    }
}

/// Repeated accesses once, and too many different ones as one to the whole variable.
///
/// What is done under a claim stays apart from what is not; those of the routine's own claims are as one.
fn widen(accesses: impl Iterator<Item = Access>, claims: u32) -> Vec<Access> {
    let mut groups: FastMap<(NameId, Use, Option<Held>, u32), Vec<Access>> = FastMap::default();
    for access in accesses {
        let own = |held: Held| Held { number: held.number.min(claims + 1), ..held };
        let key = (access.root, access.what, access.held.map(own), access.fork);
        let group = groups.entry(key).or_default();
        let whole = group.first().is_some_and(|first| first.path.is_empty() && first.facts == 0);
        if whole || group.iter().any(|other| other.path == access.path && other.facts == access.facts) {
            continue;
        }
        if (access.path.is_empty() && access.facts == 0) || group.len() >= ACCESSES_MAX {
            *group = vec![Access { path: Rc::from([]), facts: 0, ..access }];
        } else {
            group.push(access);
        }
    }
    let mut list: Vec<Access> = groups.into_values().flatten().collect();
    list.sort_by_key(|access| (access.root, access.span, access.what as u8));
    list
}
