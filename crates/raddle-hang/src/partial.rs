//! Owns: cycles of locks and joins while others run.
//! May use: `cycle`, `process_table`, `report`, `runtimes`, `say`, `raddle-core`.
//! Never: a report of what time, or somebody else, could still resolve.
//!
//! Stopping the workers to look costs a healthy program some microseconds, and perhaps an `EINTR`. So the watcher
//! first looks from outside whether anybody waits at all since the last look, in the same frame; then it stops the
//! workers; and it looks less and less often, from a third of a second to a minute, unless there is a cycle to be
//! confirmed. Only what has one holder and no deadline counts: a mutex, a queue lock, a `Once`, a join, a job; and a
//! channel between two of whom each has one end, see `cycle::closed_cycles`. A cycle is reported when two looks have
//! found the very same, and once.

use crate::cycle::{Cycle, Who};
use crate::process_table::{How, ProcessTable};
use crate::report::{DumpKind, Report};
use crate::runtimes::Watched;
use crate::say::say;
use std::collections::HashSet;
use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(300);
const PAUSE_MAX: Duration = Duration::from_secs(64);
/// A program with more control blocks is not looked at by itself.
const BLOCKS_MAX: usize = 100_000;

/// The members of a cycle, and what each waits for.
type Known = Vec<(u64, usize)>;

pub(crate) struct Partial {
    next: Instant,
    pause: Duration,
    waited: HashSet<(usize, usize)>,
    looked_at: HashSet<(usize, usize)>,
    suspected: HashSet<Known>,
    reported: HashSet<Known>,
    /// What is to be said, when the list of runtimes is free again.
    to_tell: Option<String>,
}

impl Partial {
    pub(crate) fn new() -> Partial {
        Partial {
            next: Instant::now() + FIRST_PAUSE,
            pause: FIRST_PAUSE,
            waited: HashSet::new(),
            looked_at: HashSet::new(),
            suspected: HashSet::new(),
            reported: HashSet::new(),
            to_tell: None,
        }
    }

    /// Looks, if it is time to. `settled`: nothing has moved since the last tick. True if it wants to look again soon.
    pub(crate) fn look(&mut self, runtimes: &[Watched], settled: bool) -> bool {
        if !settled && Instant::now() < self.next {
            return false;
        }
        let waiting = who_waits();
        let still = waiting.intersection(&self.waited).count();
        self.waited = waiting;
        let was_looked_at = settled && self.looked_at == self.waited;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        if still == 0 || (was_looked_at && self.suspected.is_empty()) {
            self.next = Instant::now() + self.pause;
            // Those who wait now are looked at the next time.
            return settled && !was_looked_at && !self.waited.is_empty();
        }
        self.looked_at.clone_from(&self.waited);
        let mut dump = Report::of(runtimes, How::Stopping, DumpKind::Partial);
        let circles = dump.take_circles();
        dump.cycles.extend(circles);
        let found: HashSet<Known> =
            dump.cycles.iter().filter_map(|cycle| known(&dump.table, cycle)).collect();
        let is_new = |cycle: &Known| self.suspected.contains(cycle) && !self.reported.contains(cycle);
        dump.cycles.retain(|cycle| known(&dump.table, cycle).as_ref().is_some_and(is_new));
        if !dump.cycles.is_empty() {
            self.to_tell = Some(dump.screen());
            self.reported.extend(dump.cycles.iter().filter_map(|cycle| known(&dump.table, cycle)));
        }
        self.suspected = found;
        let unconfirmed = self.suspected.iter().any(|cycle| !self.reported.contains(cycle));
        if unconfirmed {
            self.pause = FIRST_PAUSE;
        }
        self.next = Instant::now() + self.pause;
        unconfirmed
    }

    /// Says what has been found.
    pub(crate) fn say(&mut self) {
        if let Some(text) = self.to_tell.take() {
            say(&text);
        }
    }
}

/// All control blocks that show a wait, and in which frame: nothing is followed.
fn who_waits() -> HashSet<(usize, usize)> {
    let blocks = raddle_core::block::blocks();
    let mut waiting = HashSet::new();
    if blocks.count() <= BLOCKS_MAX {
        blocks.for_each(|block| {
            if let (Some(_), frame @ 1..) = (block.number(), block.waits_at()) {
                waiting.insert((std::ptr::from_ref(block).addr(), frame));
            }
        });
    }
    waiting
}

/// The cycle, if nothing but its own members could end it.
fn known(table: &ProcessTable, cycle: &Cycle) -> Option<Known> {
    let member = |who: &Who| {
        let waiting = table.waiting(*who)?;
        let sure =
            ["mutex", "queue lock", "once", "job"].contains(&waiting.kind) || waiting.awaited().is_some();
        // Of the circles of channels only those are here that are closed.
        let is_channel = !table.things(waiting).is_empty();
        let Who::Process(at) = who else { return None };
        ((sure || is_channel) && !waiting.call.has_deadline()).then(|| (table.rows[*at].id, waiting.subject))
    };
    let mut members: Known = cycle.0.iter().map(member).collect::<Option<_>>()?;
    members.sort_unstable();
    Some(members)
}
