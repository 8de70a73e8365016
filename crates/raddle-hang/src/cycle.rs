//! Owns: who waits for whom, and the circles in that.
//! May use: `process_table`.
//! Never: a guess: an edge is a lock whose holder is known, or a process that is joined, directly or by its job.
//!
//! Edges to who *could* supply something count in a deadlock only, where nobody else is left.

use crate::process_table::{ProcessState, ProcessTable, Waiting};
use std::collections::HashMap;

/// One that may wait, by its place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    Process(usize),
    OsThread(usize),
}

/// Each waits for the next, and the last for the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cycle(pub(crate) Vec<Who>);

impl Waiting {
    /// Who alone could end it: a child that is joined, whoever runs a job, or has a fork.
    pub(crate) fn awaited(&self) -> Option<usize> {
        let awaits = if self.call == "join" { self.subject } else { self.awaits };
        (awaits != 0).then_some(awaits)
    }

    /// Whether it is for another's end, or a time.
    pub(crate) fn for_an_end(&self) -> bool {
        ["join", "scope", "sleep"].contains(&self.call) || self.awaits != 0
    }
}

impl ProcessTable {
    /// What `who` waits for, if it does.
    pub(crate) fn waiting(&self, who: Who) -> Option<&Waiting> {
        match who {
            Who::Process(at) => match &self.rows[at].state {
                ProcessState::Waits(waiting) => Some(waiting),
                _ => None,
            },
            Who::OsThread(at) => Some(&self.os_threads[at].waits),
        }
    }

    /// Those who could end a wait of which nobody has noted who could: the likeliest first. See `stack_search`.
    pub(crate) fn peers(&self, waiting: &Waiting) -> Vec<Who> {
        let of = |address: &usize| {
            let outside =
                || self.os_threads.iter().position(|one| one.address == *address).map(Who::OsThread);
            self.row_at(*address).map(Who::Process).or_else(outside)
        };
        let mut peers: Vec<Who> = Vec::new();
        for who in self.things(waiting).iter().flat_map(|thing| self.reached.with(thing)).filter_map(of) {
            if !peers.contains(&who) {
                peers.push(who);
            }
        }
        peers
    }

    /// All cycles: each is in one only, since each waits for one.
    pub(crate) fn cycles(&self) -> Vec<Cycle> {
        self.cycles_by(false)
    }

    /// Those in which each waits for who holds what it needs, or could supply it: one who is likely to. When nothing
    /// runs any more, that is where to look.
    pub(crate) fn likely_cycles(&self) -> Vec<Cycle> {
        let mut cycles = self.cycles_by(true);
        for Cycle(cycle) in &mut cycles {
            // What they all wait for in the end comes first.
            let is_root = |who: &Who| self.waiting(*who).is_some_and(|waiting| !waiting.for_an_end());
            let first = cycle.iter().position(is_root).unwrap_or(0);
            cycle.rotate_left(first);
        }
        cycles
    }

    fn cycles_by(&self, likely: bool) -> Vec<Cycle> {
        let processes = self.rows.iter().enumerate().map(|(at, row)| (row.address, Who::Process(at)));
        let outside = self.os_threads.iter().enumerate().map(|(at, one)| (one.address, Who::OsThread(at)));
        let jobs = self.rows.iter().enumerate().map(|(at, row)| (row.job, Who::Process(at)));
        let jobs = jobs.filter(|(job, _)| *job != 0);
        let known: HashMap<usize, Who> = processes.chain(jobs).chain(outside).collect();
        let next = |who: Who| -> Option<Who> {
            let waiting = self.waiting(who)?;
            let sure = waiting.held.map(|(holder, _)| holder).or(waiting.awaited());
            match sure {
                Some(address) => known.get(&address).copied(),
                None if likely => self.peers(waiting).first().copied(),
                None => None,
            }
        };
        let mut seen: HashMap<Who, usize> = HashMap::new();
        let mut cycles = Vec::new();
        let everybody =
            (0..self.rows.len()).map(Who::Process).chain((0..self.os_threads.len()).map(Who::OsThread));
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
