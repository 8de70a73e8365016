//! Owns: `WorkerSchedule`, what a worker that follows a seed asks at every choice.
//! May use: `asked`, `board`, `chance`, `ending`, `failure`, `known`, `state`, `raddle-core`,
//! `raddle-protocol`.
//! Never: shared with another OS thread, but for its hash and its board.
//!
//! Who can run lies in one pool, first in first out, whatever queue it came from. Each choice among several is a
//! *step*; the steps, with how many there were to choose from and who was chosen, make up the hash by which two
//! runs are told apart.

use crate::asked::Asked;
use crate::board::{Board, RunEnd};
use crate::chance::{Chooser, mix};
use crate::ending::Ending;
use crate::failure::Cause;
use crate::known::Known;
use crate::state::RunState;
use raddle_core::observe::{Run, SeedFacts, Seeded, SeededSchedule};
use raddle_protocol::header::{Header, Runnable};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// With early alarms, one rings before one in so many turns.
const EARLY: usize = 8;

/// What a worker that follows a seed remembers.
struct WorkerSchedule {
    state: RefCell<RunState>,
    /// Written here, and read by everybody.
    hash: Arc<AtomicU64>,
    /// Who explores, if somebody does.
    board: Option<Arc<Board>>,
    over: Cell<bool>,
    ending: Ending,
}

// SAFETY: the pointers that keep it from being sent are only followed on the worker's OS thread, by `break_up`.
unsafe impl Send for WorkerSchedule {}

/// For the worker of a runtime whose choices come from here; or, with a board, from the orders of who explores.
pub(crate) fn seeded(chooser: Chooser, board: Option<Arc<Board>>) -> Seeded {
    let schedule = WorkerSchedule::new(chooser, board);
    let (hash, is_explored) = (schedule.hash.clone(), schedule.board.is_some());
    Seeded { schedule: Box::new(schedule), facts: SeedFacts { hash, is_explored } }
}

impl WorkerSchedule {
    fn new(chooser: Chooser, board: Option<Arc<Board>>) -> WorkerSchedule {
        let early_alarms = chooser.rings_early();
        let asked = Asked { turns_max: u64::MAX, daemons: true, early_alarms, logs: false };
        let state = RefCell::new(RunState::new(chooser, asked));
        let over = Cell::new(board.is_some());
        WorkerSchedule { state, hash: Arc::default(), board, over, ending: Ending::default() }
    }

    fn hash(&self) -> u64 {
        self.hash.load(Ordering::Relaxed)
    }

    fn note(&self, what: u64) {
        self.hash.store(mix(self.hash().rotate_left(5) ^ what), Ordering::Relaxed);
    }

    /// A choice among `n`, by `choose`, which gets the number of the step.
    fn step(&self, state: &mut RunState, n: usize, choose: impl FnOnce(&mut Chooser, u64) -> usize) -> usize {
        if n < 2 || self.ending.has_begun() {
            return 0;
        }
        state.step += 1;
        let chosen = choose(&mut state.chooser, state.step);
        state.schedule.note(state.step, chosen as u32);
        self.note((n as u64) << 32 | chosen as u64);
        chosen
    }

    fn count_turn(&self, state: &mut RunState) {
        state.turns += 1;
        let Some(board) = &self.board else { return };
        board.note_turns(state.turns);
        if state.turns > state.asked.turns_max {
            state.cause.get_or_insert(Cause::Endless(state.asked.turns_max));
        }
    }
}

impl SeededSchedule for WorkerSchedule {
    fn run(&self) -> Run {
        if !self.over.get() {
            return Run::GoesOn;
        }
        let order = self.board.as_ref().and_then(|board| board.take_order());
        let Some((chooser, asked)) = order else { return Run::IsOver };
        *self.state.borrow_mut() = RunState::new(chooser, asked);
        self.hash.store(0, Ordering::Relaxed);
        self.over.set(false);
        self.ending.prepare();
        Run::Begins
    }

    fn has_begun(&self) -> bool {
        self.state.borrow().seen > 0
    }

    fn has_failed(&self) -> bool {
        self.board.is_some() && !self.ending.has_begun() && self.state.borrow().cause.is_some()
    }

    fn note_time(&self, now_ns: u64) {
        self.note(now_ns | 1 << 63);
        let state = &mut *self.state.borrow_mut();
        if state.sites.are_wanted() {
            let now = Duration::from_nanos(now_ns);
            state.log.push(format!("time passes: {now:?} since the start"));
        }
    }

    fn put(&self, ready: Runnable) {
        let state = &mut *self.state.borrow_mut();
        state.meet(ready);
        state.pool.push_back(ready);
    }

    fn has_others(&self) -> bool {
        !self.state.borrow().pool.is_empty()
    }

    fn choose(&self, n: usize) -> usize {
        let state = &mut *self.state.borrow_mut();
        self.step(state, n, |chooser, step| chooser.choose(step, n))
    }

    fn time_flies(&self) -> bool {
        let may = {
            let state = self.state.borrow();
            state.asked.early_alarms && !state.pool.is_empty() && state.decided.is_none()
        };
        may && self.choose(EARLY) == EARLY - 1
    }

    fn note_operation(
        &self,
        running: *mut Header,
        operation: &'static str,
        site: &'static Location<'static>,
        is_done: bool,
    ) {
        let state = &mut *self.state.borrow_mut();
        let place = state.sites.at(site);
        if let Some(known) = state.known.get_mut(&running) {
            (known.at, known.place, known.is_past) = (operation, place, is_done);
        }
    }

    fn yields(&self, header: *mut Header, site: &'static Location<'static>) {
        self.note_operation(header, "yield_now", site, false);
        let state = &mut *self.state.borrow_mut();
        let number = state.number(header);
        state.chooser.yields(number);
    }

    fn goes_on(&self, running: *mut Header) -> bool {
        if self.has_failed() {
            return false;
        }
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

    fn take(&self) -> Option<Runnable> {
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

    fn note_panic(&self, what: &str) -> bool {
        let Ok(mut state) = self.state.try_borrow_mut() else { return false };
        let who = state.known.get(&state.current).map_or_else(|| "a task".to_owned(), Known::to_string);
        state.panics.push(format!("{who} {what}"));
        self.board.is_some()
    }

    fn unseen_panic(&self) {
        let state = &mut *self.state.borrow_mut();
        let what = Cause::panic(&state.panics);
        state.cause.get_or_insert(what);
    }

    fn refused(&self, what: &str) -> bool {
        let is_told = self.board.is_some();
        if is_told {
            self.state.borrow_mut().cause.get_or_insert_with(|| Cause::Refused(what.to_owned()));
        }
        is_told
    }

    fn first_has_ended(&self, panicked: bool) {
        self.state.borrow_mut().first_has_ended = true;
        if panicked {
            self.unseen_panic();
        }
    }

    fn ended(&self, header: *mut Header) {
        let state = &mut *self.state.borrow_mut();
        let Some(known) = state.known.remove(&header) else { return };
        if state.sites.are_wanted() {
            let line = state.line(&known, "ends after");
            state.log.push(line);
        }
    }

    unsafe fn break_up(&self, alive: u64) -> bool {
        if self.board.is_none() || self.over.get() || self.ending.has_begun() {
            return false;
        }
        let outcome = {
            let state = &mut *self.state.borrow_mut();
            let may_wait = state.asked.daemons && state.first_has_ended;
            if state.cause.is_none() && alive > 0 && !may_wait {
                // SAFETY: passed on to the caller.
                state.cause = Some(unsafe { state.deadlock(alive) });
            }
            RunEnd {
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

    fn region(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.ending.region().map(|run| run.region())
    }

    fn is_ending(&self) -> bool {
        self.ending.has_begun()
    }

    fn unwinds(&self, who: *mut Header) -> bool {
        self.ending.unwinds(who)
    }

    fn last_words(&self) -> String {
        self.ending.last_words()
    }

    fn break_off(&self) {
        self.ending.break_off();
    }

    fn is_broken_off(&self) -> bool {
        self.ending.is_broken_off()
    }

    fn end(&self, alive: u64) -> bool {
        // Without a board there is one run, which is as long as the runtime: an OS thread may give it more to do.
        let Some(board) = &self.board else { return false };
        if self.over.replace(true) {
            return false;
        }
        let outcome = self.ending.outcome(alive);
        let is_spoilt = !outcome.is_clean;
        board.post(outcome);
        is_spoilt
    }
}
