//! Owns: the observation that some go round: they wake each other, or yield, and nothing comes of it.
//! May use: `age`, `kernel`, `process_table`, `runtimes`, `say`, `stand`, `raddle-core`, `raddle-syscall`.
//! Never: the word *livelock* as a claim, or an end of the program: a server's idle ping-pong looks the same.
//!
//! What is measured, each tick, from outside. A runtime *goes round* since the last moment at which one of these was
//! not so:
//!
//! 1. its workers give turns: more of them at each tick; one in which a worker could run and had no processor, on a
//!    machine that is busy with others, counts for nothing;
//! 2. nothing of it began or ended, no alarm rang, nothing came from outside of its workers, no OS thread was woken or
//!    went to sleep, nothing is in a call of `blocking` or outstanding at a poller;
//! 3. its workers made no system call that reads or writes, by the kernel's count, but for the pages of `raddle top`;
//! 4. a turn took two microseconds of a processor at most, on average: who computes between two switches has longer
//!    ones. If its worker falls asleep after it, and another wakes that, it may take fifty more, ten of them outside of
//!    the kernel: where each of those who wake each other has a worker of its own, that is most of it;
//! 5. the same holds of each worker by itself, its idle time aside: beside one who only yields, another may compute.
//!
//! A dump says since when, and who had a turn lately. When it has lasted for ten seconds (`RADDLE_LIVELOCK`), the
//! watcher stops the workers for three looks or some more, a tick apart, and tells once for each place who was at it in
//! all of them: could run, ran, or had waited for less than a moment.

use crate::age;
use crate::kernel;
use crate::process_table::{How, ProcessState, ProcessTable};
use crate::runtimes::Watched;
use crate::say::say;
use crate::stand::os_thread_of;
use raddle_core::os_thread::{self, Role};
use raddle_core::runtime::Shared;
use raddle_core::worker::Worker;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A turn may take so long on average.
///
/// Under a sanitizer, which tells itself of each switch, a turn takes many times as long.
const TURN_MAX: Duration = Duration::from_micros(if cfg!(any(raddle_asan, raddle_tsan)) { 100 } else { 2 });
/// A worker that lies down, and gets up, may take so long beside.
const SLEEP_MAX: Duration = Duration::from_micros(10);
/// That and the kernel's part of it.
const SLEEP_MAX_IN_ALL: Duration = Duration::from_micros(50);
/// From here on the kernel is asked, and a dump says it.
const WORTH_A_LOOK: Duration = Duration::from_millis(800);
/// Who has used less of a processor than this, over a tick or more without a turn, had none.
const NONE: Duration = Duration::from_millis(2);
/// Who has waited for less has just had a turn.
const A_MOMENT: Duration = Duration::from_millis(300);
/// So many looks have to find somebody at it.
const LOOKS: usize = 3;
/// So many at most, until one shows in which functions: who is stopped in the middle of a switch is in none.
const LOOKS_MAX: usize = 10;
/// So many are followed into functions.
const WALKED: usize = 500;

/// A runtime that goes round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    runtime: usize,
    pub(crate) lasts: Duration,
    pub(crate) turns: u64,
}

static ROUNDS: Mutex<Vec<Round>> = Mutex::new(Vec::new());

/// The runtimes that go round now, as far as the watcher has seen.
pub(crate) fn rounds() -> Vec<Round> {
    ROUNDS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// What is another when something has come of it.
type Outcomes = ([u64; 4], Option<u64>, u64);

/// What one worker had used of a processor, and what for, as far as that is nobody's work.
#[derive(Clone, Copy)]
struct Used {
    on_processor: Duration,
    turns: u64,
    sleeps: u64,
    idle: Duration,
}

impl Used {
    fn by(worker: &Worker) -> Option<Used> {
        let os_thread = os_thread_of(std::ptr::from_ref(worker).addr());
        Some(Used {
            on_processor: raddle_syscall::processor_time(os_thread)?,
            turns: worker.turns(),
            sleeps: worker.progress()[2],
            idle: Duration::from_nanos(worker.idle_ns()),
        })
    }

    /// Whether what was used since `then` is more than turns, sleeps and idleness take by themselves.
    fn is_work(&self, then: &Used) -> bool {
        let beside = NONE + self.idle.saturating_sub(then.idle);
        let took = self.on_processor.saturating_sub(then.on_processor).saturating_sub(beside);
        !are_short(took, self.turns - then.turns, (self.sleeps - then.sleeps, SLEEP_MAX_IN_ALL))
    }
}

/// What each worker of a runtime has used, by its address.
fn used(shared: &Shared) -> HashMap<usize, Used> {
    let of = |worker: &Worker| Some((std::ptr::from_ref(worker).addr(), Used::by(worker)?));
    shared.everybody().filter_map(of).collect()
}

/// One runtime, since something came of it.
struct Going {
    outcomes: Outcomes,
    /// Later than it began by the ticks in which there was no turn.
    since: Instant,
    looked: Instant,
    turns_then: u64,
    turns: u64,
    /// What its workers had used at a time, and how many turns, sleeps, and pages for `raddle top`, there had been.
    work: Option<(kernel::Work, [u64; 3])>,
    /// What each of them had used then.
    used: HashMap<usize, Used>,
    /// What its workers had used, and the turns and sleeps, at the first of the last ticks that had no turn.
    paused: Option<(Duration, [u64; 2])>,
    seen: Vec<HashSet<u64>>,
    is_told: bool,
}

/// What the watcher knows of all runtimes.
#[derive(Default)]
pub(crate) struct Livelock {
    going: HashMap<usize, Going>,
    told: HashSet<String>,
    to_tell: Option<String>,
}

impl Livelock {
    /// Looks at all runtimes.
    pub(crate) fn look(&mut self, runtimes: &[Watched]) {
        let keys: HashSet<usize> = runtimes.iter().map(|watched| key(watched.shared())).collect();
        self.going.retain(|key, _| keys.contains(key));
        let mut rounds = Vec::new();
        for watched in runtimes {
            let Some(most) = watched.plan.livelock else { continue };
            let going =
                self.going.entry(key(watched.shared())).or_insert_with(|| Going::new(watched.shared()));
            let Some(round) = going.look(watched.shared()) else { continue };
            rounds.push(round);
            let is_due = round.lasts >= most && !going.is_told;
            if let Some(text) = is_due.then(|| going.tell(runtimes, round, &mut self.told)).flatten() {
                self.to_tell = Some(text);
            }
        }
        *ROUNDS.lock().unwrap_or_else(PoisonError::into_inner) = rounds;
    }

    /// Says what has been found.
    pub(crate) fn say(&mut self) {
        if let Some(text) = self.to_tell.take() {
            say(&text);
        }
    }
}

/// A runtime's address.
fn key(runtime: &Shared) -> usize {
    std::ptr::from_ref(runtime).addr()
}

fn turns(shared: &Shared) -> u64 {
    shared.everybody().map(|worker| worker.turns()).sum()
}

/// How often its workers have fallen asleep.
fn times_asleep(shared: &Shared) -> u64 {
    let falls_asleep = |worker: &Worker| worker.progress()[2];
    shared.everybody().map(falls_asleep).sum()
}

/// Whether what so many turns took, and so many sleeps of at most so long, is no more than they take by themselves.
fn are_short(took: Duration, turns: u64, (sleeps, sleep): (u64, Duration)) -> bool {
    let times = |times: u64, each: Duration| u128::from(times) * each.as_nanos();
    took.as_nanos() <= times(turns, TURN_MAX) + times(sleeps, sleep)
}

fn outcomes(shared: &Shared) -> Outcomes {
    (shared.outcomes(), os_thread::wakes(), os_thread::sleeps())
}

/// The OS threads of a runtime's workers.
fn threads(shared: &Shared) -> Vec<i32> {
    let records = os_thread::records();
    let own: Vec<*const ()> = shared.everybody().map(|worker| std::ptr::from_ref(worker).cast()).collect();
    let is_its = |worker: *const ()| own.contains(&worker);
    let workers = records.iter().filter(|record| record.is(Role::Worker) && is_its(record.worker()));
    workers.map(|record| record.tid()).filter(|tid| *tid != 0).collect()
}

/// What the workers of a runtime have used.
fn work(shared: &Shared) -> Option<kernel::Work> {
    kernel::Work::of(&threads(shared))
}

/// Whether a worker of a runtime runs, or would if there were a processor for it.
fn can_run(shared: &Shared) -> bool {
    threads(shared).into_iter().any(|tid| kernel::state(tid) == Some('R'))
}

impl Going {
    fn new(shared: &Shared) -> Going {
        let turns = turns(shared);
        Going {
            outcomes: outcomes(shared),
            since: Instant::now(),
            looked: Instant::now(),
            turns_then: turns,
            turns,
            work: None,
            used: HashMap::new(),
            paused: None,
            seen: Vec::new(),
            is_told: false,
        }
    }

    /// Whether it goes round, for long enough to be worth a word.
    fn look(&mut self, shared: &Shared) -> Option<Round> {
        let turns = turns(shared);
        let is_at_it = outcomes(shared) == self.outcomes && self.goes_on(shared, turns);
        if !is_at_it || shared.waits_for_elsewhere() {
            *self = Going::new(shared);
            return None;
        }
        let since_last_look = self.looked.elapsed();
        self.looked = Instant::now();
        if turns == self.turns {
            self.since += since_last_look;
        }
        self.turns = turns;
        let (runtime, lasts) = (key(shared), self.since.elapsed());
        let round = Round { runtime, lasts, turns: turns - self.turns_then };
        if round.lasts < WORTH_A_LOOK {
            return None;
        }
        let now = work(shared)?;
        let counts = [turns, times_asleep(shared), shared.pages_written()];
        let Some((then, before)) = &self.work else {
            self.work = Some((now, counts));
            self.used = used(shared);
            return None;
        };
        let [turns, sleeps, pages] = std::array::from_fn(|at| counts[at] - before[at]);
        // A page may be counted and not be written yet.
        let own = pages + 1;
        let [took, outside_kernel] = now.since(then);
        let is_short = are_short(took, turns, (sleeps, SLEEP_MAX_IN_ALL))
            && are_short(outside_kernel, turns, (sleeps, SLEEP_MAX));
        let is_work =
            |(worker, now): (&usize, &Used)| self.used.get(worker).is_some_and(|then| now.is_work(then));
        if now.calls > then.calls + own || !is_short || used(shared).iter().any(is_work) {
            *self = Going::new(shared);
            return None;
        }
        Some(round)
    }

    /// Whether there were turns since the last look, or none for want of a processor.
    fn goes_on(&mut self, shared: &Shared, turns: u64) -> bool {
        let has_turns = turns > self.turns;
        if has_turns && self.paused.is_none() {
            return true;
        }
        let has_begun = self.turns > self.turns_then;
        let Some(now) = work(shared).filter(|_| has_begun).map(|work| work.on_processor) else {
            return false;
        };
        let sleeps = times_asleep(shared);
        let (then, before) = *self.paused.get_or_insert((now, [turns, sleeps]));
        let [turned, slept] = [turns - before[0], sleeps - before[1]];
        let had = now.saturating_sub(then).saturating_sub(NONE);
        if !are_short(had, turned, (slept, SLEEP_MAX_IN_ALL)) {
            return false;
        }
        if has_turns {
            self.paused = None;
        }
        has_turns || can_run(shared)
    }

    /// What there is to say, after enough looks at who is at it; nothing of places that have been told.
    fn tell(&mut self, runtimes: &[Watched], round: Round, told: &mut HashSet<String>) -> Option<String> {
        let table = ProcessTable::snapshot(runtimes, How::Stopping, WALKED);
        self.seen.push(table.lately_at_it(&round));
        if self.seen.len() < LOOKS {
            return None;
        }
        let (first, others) = self.seen.split_first()?;
        let all: HashSet<u64> =
            first.iter().copied().filter(|id| others.iter().all(|seen| seen.contains(id))).collect();
        if self.seen.len() < LOOKS_MAX && !table.knows_functions_of(&all) {
            return None;
        }
        self.is_told = true;
        let news = table.places_of(&all).into_iter().filter(|place| told.insert(place.clone())).count();
        let (who, functions) = table.tell_those(&all);
        let ago = age::in_words(round.lasts);
        let what = "nothing has begun, ended, slept, or come from outside, and nothing was read or written";
        let text = format!(
            "raddle: going round: {ago} {what}; those at it have only woken each other, or yielded, {} times: {who}\n\
             {functions}  RADDLE_LIVELOCK=off does not look\n",
            round.turns
        );
        (news > 0).then_some(text)
    }
}

impl ProcessTable {
    /// The numbers of those of its runtime who run, could, or did a moment ago.
    pub(crate) fn lately_at_it(&self, round: &Round) -> HashSet<u64> {
        let is_at_it = |state: &ProcessState| match state {
            ProcessState::Ready | ProcessState::Runs(_) => true,
            ProcessState::Waits(waiting) => {
                age::age(waiting.since, self.now).is_some_and(|age| age < A_MOMENT)
            }
            _ => false,
        };
        let own = self.rows.iter().filter(|row| row.runtime == Some(round.runtime));
        own.filter(|row| is_at_it(&row.state)).map(|row| row.id).collect()
    }
}
