//! Owns: `RunState`, what one run has come to: who can run, who is who, what was chosen.
//! May use: `asked`, `chance`, `failure`, `known`, `schedule`, `site`, `stuck`, `raddle-protocol`.
//! Never: a choice.

use crate::asked::Asked;
use crate::chance::Chooser;
use crate::failure::Cause;
use crate::known::Known;
use crate::schedule::Schedule;
use crate::site::Sites;
use crate::stuck::Stuck;
use raddle_protocol::header::{Header, Kind, Runnable, STARTED};
use std::collections::{HashMap, VecDeque};

/// So begins the name of the point after a lock is taken.
const PAST: &str = "what follows ";

/// Of one run.
pub(crate) struct RunState {
    pub(crate) chooser: Chooser,
    pub(crate) asked: Asked,
    pub(crate) step: u64,
    pub(crate) schedule: Schedule,
    pub(crate) pool: VecDeque<Runnable>,
    pub(crate) known: HashMap<*mut Header, Known>,
    pub(crate) seen: u32,
    /// Who had the last turn.
    pub(crate) current: *mut Header,
    /// Who was chosen at a point, and gets the next turn.
    pub(crate) decided: Option<Runnable>,
    pub(crate) turns: u64,
    pub(crate) panics: Vec<String>,
    pub(crate) cause: Option<Cause>,
    pub(crate) first_has_ended: bool,
    pub(crate) log: Vec<String>,
    pub(crate) sites: Sites,
}

impl RunState {
    pub(crate) fn new(chooser: Chooser, asked: Asked) -> RunState {
        RunState {
            chooser,
            asked,
            step: 0,
            schedule: Schedule::by(asked.rules()),
            pool: VecDeque::new(),
            known: HashMap::new(),
            seen: 0,
            current: std::ptr::null_mut(),
            decided: None,
            turns: 0,
            panics: Vec::new(),
            cause: None,
            first_has_ended: false,
            log: Vec::new(),
            sites: Sites::new(asked.logs),
        }
    }

    /// Gives a number to one that was not seen before.
    pub(crate) fn meet(&mut self, ready: Runnable) {
        let header = ready.header();
        let is_new = match header.kind {
            Kind::Process => !header.is(STARTED),
            // Was never polled.
            _ => header.worker.get().is_null(),
        };
        if is_new || !self.known.contains_key(&ready.as_ptr()) {
            self.known.insert(ready.as_ptr(), Known::of(self.seen, ready));
            self.seen += 1;
        }
    }

    pub(crate) fn number(&self, header: *mut Header) -> u32 {
        self.known.get(&header).map_or(0, |known| known.number)
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.pool.iter().map(|ready| self.number(ready.as_ptr()))
    }

    /// A line for the turn that ends, if another's begins.
    pub(crate) fn log_turn(&mut self, next: *mut Header, preempted: bool) {
        if !self.sites.are_wanted() || next == self.current {
            return;
        }
        let Some(known) = self.known.get(&self.current) else { return };
        let can_run = self.pool.iter().any(|ready| ready.as_ptr() == self.current);
        let how = match (preempted, can_run) {
            (true, _) if known.is_past || known.at.starts_with(PAST) => "is stopped after",
            (true, _) => "is stopped before",
            (_, true) => "lets others run in",
            _ => "waits in",
        };
        let line = self.line(known, how);
        self.log.push(line);
    }

    pub(crate) fn line(&self, known: &Known, how: &str) -> String {
        let place = self.sites.text(&known.place).unwrap_or_else(|| known.origin());
        format!("{known} {how} {}{place}", known.at.trim_start_matches(PAST))
    }

    /// Nothing can run: who waits, and where.
    ///
    /// # Safety
    /// As [`Stuck::of`].
    pub(crate) unsafe fn deadlock(&self, alive: u64) -> Cause {
        // SAFETY: passed on to the caller.
        unsafe { Stuck::of(&self.known, &self.sites) }.cause(alive)
    }
}
