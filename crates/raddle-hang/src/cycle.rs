//! Owns: who waits for whom, and the circles in that.
//! May use: `process_table`, `raddle-core`.
//! Never: a guess: an edge is a lock whose holder is known, or a process that is joined, directly or by its job.
//!
//! Who has been woken, and lies in a queue, does not wait: no edge leaves it, whatever it shows until it runs. In a
//! look that could not see all queues there are no cycles.
//!
//! Edges to who *could* supply something count in a deadlock, where nobody else is left. While others run they count
//! between those only of whom all is known: see [`ProcessTable::closed_cycles`].

use crate::process_table::{ProcessState, ProcessTable, Waiting};
use raddle_core::wait::{Subject as _, WaitReason};
use std::collections::{HashMap, HashSet};

/// One that may wait, by its place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    Process(usize),
    OsThread(usize),
}

/// What a join waits for.
const PROCESS: &str = raddle_core::block::Block::KIND;

/// Each waits for the next, and the last for the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cycle(pub(crate) Vec<Who>);

impl Waiting {
    /// Who alone could end it: a child that is joined, whoever runs a job, or has a fork.
    pub(crate) fn awaited(&self) -> Option<usize> {
        let joins = self.call.reason() == WaitReason::Join && self.kind == PROCESS;
        let awaits = if joins { self.subject } else { self.awaits };
        (awaits != 0).then_some(awaits)
    }

    /// Whether it is for another's end, or a time.
    pub(crate) fn for_an_end(&self) -> bool {
        matches!(self.call.reason(), WaitReason::Join | WaitReason::Sleep) || self.awaits != 0
    }

    /// Whether it is at a channel, with others or alone.
    fn is_at_channels(&self) -> bool {
        use WaitReason::{MeetOne, MeetToReceive, MeetToSend, Receive, Select, Send};
        matches!(self.call.reason(), MeetOne | MeetToReceive | MeetToSend | Receive | Select | Send)
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
            let held = self.held(waiting).first().map(|(holder, _)| *holder);
            match held.or(waiting.awaited()) {
                // Of several holders each could let it go on, and so could time.
                Some(_) if !likely && (self.held(waiting).len() > 1 || waiting.call.has_deadline()) => None,
                Some(address) => known.get(&address).copied(),
                None if likely => self.peers(waiting).first().copied(),
                None => None,
            }
        };
        self.cycles_along(next)
    }

    /// Circles through channels among some who could be woken by each other only, whoever else runs.
    ///
    /// Begins with all who wait without a deadline: at channels between two, for one holder, or for another's end. Then
    /// those go out who could be let go on by one who is not, or no more, among them: whoever holds what it wants, or
    /// is the likeliest to have the other end. What is left waits for itself. Who waits for several channels stays only
    /// if that is so at each.
    pub(crate) fn closed_cycles(&self) -> Vec<Cycle> {
        let is_eligible = |at: &usize| {
            self.waiting(Who::Process(*at)).is_some_and(|waiting| {
                let things = self.things(waiting);
                let between_two = !things.is_empty() && things.iter().all(|thing| thing.is_between_two);
                let sure = self.held(waiting).len() == 1 || waiting.awaited().is_some();
                !waiting.call.has_deadline() && (sure || (waiting.is_at_channels() && between_two))
            })
        };
        let suppliers: HashMap<usize, Vec<Option<usize>>> =
            (0..self.rows.len()).filter(is_eligible).map(|at| (at, self.suppliers(at))).collect();
        let mut left: HashSet<usize> = suppliers.keys().copied().collect();
        loop {
            let stays =
                |at: &usize| suppliers[at].iter().all(|one| one.is_some_and(|one| left.contains(&one)));
            let stay: HashSet<usize> = left.iter().copied().filter(stays).collect();
            if stay.len() == left.len() {
                break;
            }
            left = stay;
        }
        let next = |who: Who| match who {
            Who::Process(at) if left.contains(&at) => suppliers[&at][0].map(Who::Process),
            _ => None,
        };
        let mut cycles = self.cycles_along(next);
        cycles.retain(|cycle| {
            cycle.0.iter().any(|who| self.waiting(*who).is_some_and(Waiting::is_at_channels))
        });
        cycles
    }

    /// For each thing that it waits for the process that has it, or is the likeliest to.
    fn suppliers(&self, at: usize) -> Vec<Option<usize>> {
        let Some(waiting) = self.waiting(Who::Process(at)) else { return Vec::new() };
        let sure = self.held(waiting).first().map(|(holder, _)| *holder).or(waiting.awaited());
        if let Some(sure) = sure {
            return vec![self.row_at(sure)];
        }
        let with = |thing| self.reached.with(thing).first().and_then(|who| self.row_at(*who));
        self.things(waiting).iter().map(with).collect()
    }

    fn cycles_along(&self, next: impl Fn(Who) -> Option<Who>) -> Vec<Cycle> {
        let mut seen: HashMap<Who, usize> = HashMap::new();
        let mut cycles = Vec::new();
        let everybody =
            (0..self.rows.len()).map(Who::Process).chain((0..self.os_threads.len()).map(Who::OsThread));
        for (walk, start) in everybody.enumerate() {
            let mut at = Some(start);
            while let Some(who) = at {
                match seen.get(&who) {
                    Some(of) if *of == walk => {
                        cycles.push(around(who, &next));
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
