//! Owns: `Seeded`, what a worker that follows a seed remembers: who could run, what was chosen, who is who.
//! May use: `header`; `known` to name a process, `stuck` to tell what those who wait wait for.
//! Never: shared with another OS thread, but for its hash and its board.
//!
//! Who can run lies in one pool, first in first out, whatever queue it came from. Each choice among several is a
//! *step*; the steps, with how many there were to choose from and who was chosen, make up the hash by which two
//! runs are told apart.

use super::board::{Asked, Board, Outcome};
use super::chance::{Chooser, mix};
use super::ending::Ending;
use super::failure::Cause;
use super::known::Known;
use super::schedule::Schedule;
use super::site::Sites;
use super::stuck::Stuck;
use raddle_protocol::header::{Header, Kind, Runnable, STARTED};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// So begins the name of the point after a lock is taken.
const PAST: &str = "what follows ";
/// With early alarms, one rings before one in so many turns.
const EARLY: usize = 8;

/// What a worker that follows a seed remembers.
pub(crate) struct Seeded {
    state: RefCell<State>,
    /// Written by the worker.
    hash: AtomicU64,
    /// Who explores, if somebody does.
    board: Option<Arc<Board>>,
    over: Cell<bool>,
    ending: Ending,
}

/// Of one run.
struct State {
    chooser: Chooser,
    asked: Asked,
    step: u64,
    schedule: Schedule,
    pool: VecDeque<Runnable>,
    known: HashMap<*mut Header, Known>,
    seen: u32,
    /// Who had the last turn.
    current: *mut Header,
    /// Who was chosen at a point, and gets the next turn.
    decided: Option<Runnable>,
    turns: u64,
    panics: Vec<String>,
    cause: Option<Cause>,
    first_has_ended: bool,
    log: Vec<String>,
    sites: Sites,
}

impl Seeded {
    /// For a worker that follows this one seed.
    pub(super) fn new(chooser: Chooser) -> Seeded {
        let early_alarms = chooser.rings_early();
        let asked = Asked { turns_max: u64::MAX, daemons: true, early_alarms, logs: false };
        let state = RefCell::new(State::new(chooser, asked));
        let (hash, over) = (AtomicU64::new(0), Cell::new(false));
        Seeded { state, hash, board: None, over, ending: Ending::default() }
    }

    /// For a worker that waits for the orders of who explores.
    pub(super) fn explored(board: Arc<Board>) -> Seeded {
        let no_choices = Chooser::Steps(Schedule::default());
        Seeded { board: Some(board), over: Cell::new(true), ..Seeded::new(no_choices) }
    }

    /// The number of the schedule so far: what has the same went the same way.
    pub(crate) fn hash(&self) -> u64 {
        self.hash.load(Ordering::Relaxed)
    }

    /// Whether somebody explores with it, and hears of how it ends.
    pub(crate) fn is_explored(&self) -> bool {
        self.board.is_some()
    }

    /// Nothing gets a turn any more; but another run may be asked for, and then it begins here. True if it does.
    pub(crate) fn begins_again(&self) -> bool {
        let order = self.board.as_ref().and_then(|board| board.take_order());
        if let Some((chooser, asked)) = order {
            *self.state.borrow_mut() = State::new(chooser, asked);
            self.hash.store(0, Ordering::Relaxed);
            self.over.set(false);
            self.ending.prepare();
        }
        !self.over.get()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.get()
    }

    /// Whether anybody was ever here.
    pub(crate) fn has_begun(&self) -> bool {
        self.state.borrow().seen > 0
    }

    /// Whether the run is to end now, whoever could still run.
    pub(crate) fn has_failed(&self) -> bool {
        self.board.is_some() && !self.ending.has_begun() && self.state.borrow().cause.is_some()
    }

    /// How a run ends that somebody explores.
    pub(crate) fn ending(&self) -> &Ending {
        &self.ending
    }

    fn note(&self, what: u64) {
        self.hash.store(mix(self.hash().rotate_left(5) ^ what), Ordering::Relaxed);
    }

    /// Time has jumped to here.
    pub(crate) fn note_time(&self, now_ns: u64) {
        self.note(now_ns | 1 << 63);
        let state = &mut *self.state.borrow_mut();
        if state.sites.are_wanted() {
            let now = Duration::from_nanos(now_ns);
            state.log.push(format!("time passes: {now:?} since the start"));
        }
    }

    /// Puts one that can run into the pool.
    pub(crate) fn put(&self, ready: Runnable) {
        let state = &mut *self.state.borrow_mut();
        state.meet(ready);
        state.pool.push_back(ready);
    }

    /// How many are known to be able to run.
    pub(crate) fn ready(&self) -> usize {
        self.state.borrow().pool.len()
    }

    /// A choice among `n`, by `choose`, which gets the number of the step.
    fn step(&self, state: &mut State, n: usize, choose: impl FnOnce(&mut Chooser, u64) -> usize) -> usize {
        if n < 2 || self.ending.has_begun() {
            return 0;
        }
        state.step += 1;
        let chosen = choose(&mut state.chooser, state.step);
        state.schedule.note(state.step, chosen as u32);
        self.note((n as u64) << 32 | chosen as u64);
        chosen
    }

    /// A number below `n`.
    pub(crate) fn choose(&self, n: usize) -> usize {
        let state = &mut *self.state.borrow_mut();
        self.step(state, n, |chooser, step| chooser.choose(step, n))
    }

    /// Whether time passes though somebody can run, as on a machine that is too busy. Not asked without an alarm.
    pub(crate) fn time_flies(&self) -> bool {
        let may = {
            let state = self.state.borrow();
            state.asked.early_alarms && !state.pool.is_empty() && state.decided.is_none()
        };
        may && self.choose(EARLY) == EARLY - 1
    }

    /// The one who runs is about to do something.
    pub(crate) fn note_operation(&self, header: *mut Header, operation: &'static str) {
        let state = &mut *self.state.borrow_mut();
        let place = state.sites.here();
        if let Some(known) = state.known.get_mut(&header) {
            (known.at, known.place, known.is_past) = (operation, place, false);
        }
    }

    /// The one who runs has done something.
    pub(crate) fn note_done(&self, header: *mut Header, operation: &'static str) {
        self.note_operation(header, operation);
        if let Some(known) = self.state.borrow_mut().known.get_mut(&header) {
            known.is_past = true;
        }
    }

    /// The one who runs says that others should.
    pub(crate) fn yields(&self, header: *mut Header) {
        self.note_operation(header, "yield_now");
        let state = &mut *self.state.borrow_mut();
        let number = state.number(header);
        state.chooser.yields(number);
    }

    /// Whether the one who runs goes on. If not, who was chosen in its place has the next turn.
    pub(crate) fn goes_on(&self, running: *mut Header) -> bool {
        let state = &mut *self.state.borrow_mut();
        if state.pool.is_empty() || self.over.get() || self.ending.has_begun() {
            return true;
        }
        self.count_turn(state);
        let mut who = vec![state.number(running)];
        who.extend(state.numbers());
        let chosen = self.step(state, who.len(), |chooser, step| chooser.pick(step, &who));
        if chosen > 0 {
            state.decided = state.pool.remove(chosen - 1);
        }
        chosen == 0
    }

    /// Takes who has the next turn out of the pool.
    pub(crate) fn take(&self) -> Option<Runnable> {
        let state = &mut *self.state.borrow_mut();
        let preempted = state.decided.is_some();
        let next = match state.decided.take() {
            Some(next) => next,
            None => {
                // A look in vain is no turn: how often the worker looks before the first process is handed over, by
                // another OS thread, is a matter of real time.
                if state.pool.is_empty() {
                    return None;
                }
                if self.ending.has_begun() {
                    return if self.ending.takes_turn() { state.pool.pop_front() } else { None };
                }
                self.count_turn(state);
                let who: Vec<u32> = state.numbers().collect();
                let chosen = self.step(state, who.len(), |chooser, step| chooser.pick(step, &who));
                state.pool.remove(chosen)?
            }
        };
        state.log_turn(next.as_ptr(), preempted);
        state.current = next.as_ptr();
        Some(next)
    }

    fn count_turn(&self, state: &mut State) {
        state.turns += 1;
        let Some(board) = &self.board else { return };
        board.note_turns(state.turns);
        if state.turns > state.asked.turns_max {
            state.cause.get_or_insert(Cause::Endless(state.asked.turns_max));
        }
    }

    /// A panic has begun in what runs; true if nothing else need be said of it now.
    pub(crate) fn note_panic(&self, what: &str) -> bool {
        let Ok(mut state) = self.state.try_borrow_mut() else { return false };
        let who = state.known.get(&state.current).map_or_else(|| "a cell".to_owned(), Known::to_string);
        state.panics.push(format!("{who} {what}"));
        self.board.is_some()
    }

    /// A panic has reached the base of a process, and nobody asks for it.
    pub(crate) fn unseen_panic(&self) {
        let state = &mut *self.state.borrow_mut();
        let what = Cause::panic(&state.panics);
        state.cause.get_or_insert(what);
    }

    /// There is no stack for a process that was to start. True if whoever explores will say so.
    pub(crate) fn refused(&self, what: impl FnOnce() -> String) -> bool {
        let is_told = self.board.is_some();
        if is_told {
            self.state.borrow_mut().cause.get_or_insert_with(|| Cause::Refused(what()));
        }
        is_told
    }

    /// The process that all began with has come to its end.
    pub(crate) fn first_has_ended(&self, panicked: bool) {
        self.state.borrow_mut().first_has_ended = true;
        if panicked {
            self.unseen_panic();
        }
    }

    /// A process has come to its end.
    pub(crate) fn ended(&self, header: *mut Header) {
        let state = &mut *self.state.borrow_mut();
        let Some(known) = state.known.remove(&header) else { return };
        if state.sites.are_wanted() {
            let line = state.line(&known, "ends after");
            state.log.push(line);
        }
    }

    /// Nothing can run any more, or need: notes the outcome of the run, once, and has all that is left unwind. `alive`
    /// have not ended. True if somebody may be able to run now.
    pub(crate) fn break_up(&self, alive: u64) -> bool {
        if self.board.is_none() || self.over.get() || self.ending.has_begun() {
            return false;
        }
        let outcome = {
            let state = &mut *self.state.borrow_mut();
            let may_wait = state.asked.daemons && state.first_has_ended;
            if state.cause.is_none() && alive > 0 && !may_wait {
                state.cause = Some(state.deadlock(alive));
            }
            Outcome {
                is_clean: false,
                cause: state.cause.clone(),
                hash: self.hash(),
                steps: state.step,
                schedule: std::mem::take(&mut state.schedule),
                log: std::mem::take(&mut state.log),
            }
        };
        self.ending.begin(outcome, alive > 0);
        alive > 0
    }

    /// The run is over: tells whoever explores. `alive` could not be ended. True if the runtime is of no use any more.
    pub(crate) fn end(&self, alive: u64) -> bool {
        let (Some(board), false) = (&self.board, self.over.replace(true)) else { return false };
        let outcome = self.ending.outcome(alive);
        let is_spoilt = !outcome.is_clean;
        board.post(outcome);
        is_spoilt
    }
}

impl State {
    fn new(chooser: Chooser, asked: Asked) -> State {
        State {
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
    fn meet(&mut self, ready: Runnable) {
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

    fn number(&self, header: *mut Header) -> u32 {
        self.known.get(&header).map_or(0, |known| known.number)
    }

    fn numbers(&self) -> impl Iterator<Item = u32> {
        self.pool.iter().map(|ready| self.number(ready.as_ptr()))
    }

    /// A line for the turn that ends, if another's begins.
    fn log_turn(&mut self, next: *mut Header, preempted: bool) {
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

    fn line(&self, known: &Known, how: &str) -> String {
        let place = self.sites.text(&known.place).unwrap_or_else(|| known.origin());
        format!("{known} {how} {}{place}", known.at.trim_start_matches(PAST))
    }

    /// Nothing can run: who waits, and where.
    fn deadlock(&self, alive: u64) -> Cause {
        Stuck::of(&self.known, &self.sites).cause(alive)
    }
}
