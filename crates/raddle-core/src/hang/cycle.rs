//! Owns: who waits for whom, and the circles in that.
//! May use: `roll`.
//! Never: a guess: an edge is a lock whose holder is known, or a process that is joined, directly or by its job.

use super::roll::{Roll, State, Waiting};
use std::collections::HashMap;

/// One that may wait, by its place in the roll.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Who {
    Process(usize),
    OsThread(usize),
}

/// Each waits for the next, and the last for the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cycle(pub(super) Vec<Who>);

impl Waiting {
    /// Who alone could end it: a child that is joined, whoever runs a job, or has a future.
    pub(super) fn awaited(&self) -> Option<usize> {
        let awaits = if self.call == "join" { self.subject } else { self.awaits };
        (awaits != 0).then_some(awaits)
    }
}

impl Roll {
    /// What `who` waits for, if it does.
    pub(super) fn waiting(&self, who: Who) -> Option<&Waiting> {
        match who {
            Who::Process(at) => match &self.rows[at].state {
                State::Waits(waiting) => Some(waiting),
                _ => None,
            },
            Who::OsThread(at) => Some(&self.outsiders[at].waits),
        }
    }

    /// All cycles: each is in one only, since each waits for one.
    pub(super) fn cycles(&self) -> Vec<Cycle> {
        let processes = self.rows.iter().enumerate().map(|(at, row)| (row.address, Who::Process(at)));
        let outside = self.outsiders.iter().enumerate().map(|(at, one)| (one.address, Who::OsThread(at)));
        let jobs = self.rows.iter().enumerate().map(|(at, row)| (row.job, Who::Process(at)));
        let jobs = jobs.filter(|(job, _)| *job != 0);
        let known: HashMap<usize, Who> = processes.chain(jobs).chain(outside).collect();
        let next = |who: Who| -> Option<Who> {
            let waiting = self.waiting(who)?;
            known.get(&waiting.held.map(|(holder, _)| holder).or(waiting.awaited())?).copied()
        };
        let mut seen: HashMap<Who, usize> = HashMap::new();
        let mut cycles = Vec::new();
        let everybody =
            (0..self.rows.len()).map(Who::Process).chain((0..self.outsiders.len()).map(Who::OsThread));
        for (walk, start) in everybody.enumerate() {
            let mut at = Some(start);
            while let Some(who) = at {
                match seen.get(&who) {
                    Some(of) if *of == walk => {
                        cycles.push(around(who, next));
                        break;
                    }
                    Some(_) => break,
                    None => {
                        seen.insert(who, walk);
                        at = next(who);
                    }
                }
            }
        }
        cycles
    }
}

fn around(first: Who, next: impl Fn(Who) -> Option<Who>) -> Cycle {
    let mut cycle = vec![first];
    while let Some(who) = next(cycle[cycle.len() - 1]).filter(|who| *who != first) {
        cycle.push(who);
    }
    Cycle(cycle)
}
