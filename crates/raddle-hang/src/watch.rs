//! Owns: the watcher: the OS thread that looks for hangs while something runs, and makes the dumps that are asked for.
//! May use: `age`, `answer`, `interrupt`, `livelock`, `partial`, `process_table`, `quiescence`, `report`,
//! `runtimes`, `signals`, `slow`, `stand`, `raddle-core`.
//! Never: a step of it on a worker's way. It ticks while somebody is busy, and sleeps else.
//!
//! What a deadlock is, `quiescence` says.
//!
//! When all workers sleep, the watcher sleeps, too, and whoever gets up wakes it (`protocol::watch`): a worker, and
//! an OS thread that goes to sleep in a call of ours, which may be the last that could have woken anybody. Nobody
//! notices that an OS thread ends which has never used anything of ours. So as long as the program could hang
//! unnoticed, the watcher sleeps for twice as long each time, up to a minute.
//!
//! Workers that stand in the kernel are looked for more often than all else: once in 10 ms, by a few words each. So are
//! those that are to be taken off what they run, where that is done: once a tick.
//!
//! It uses reports, the runtimes' public half.

use crate::interrupt::Ticks;
use crate::livelock::Livelock;
use crate::partial::Partial;
use crate::process_table::How;
use crate::quiescence::{self, Blocked, Counts};
use crate::report::DEADLOCK_EXIT_CODE;
use crate::report::{DumpKind, Report};
use crate::runtimes::{Watched, runtimes};
use crate::signals::block_signals;
use crate::slow::Slow;
use crate::stand::{STANDS, Stands};
use crate::{age, answer};
use raddle_core::message;
use raddle_core::observe::Dump;
use raddle_core::observe::{DeadlockHandler, OnDeadlock, WATCH_WORD};
use raddle_core::orphan;
use raddle_core::os_thread::{self, Registration, Role};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// So long the last words wait for a reader, before the program ends or goes on without.
const LAST_PATIENCE: Duration = Duration::from_secs(5);
/// How often is looked while something runs.
const TICK: Duration = Duration::from_millis(100);
/// How seldom is looked while the workers sleep and OS threads of the program do something.
const SLEEP_MAX: Duration = Duration::from_secs(64);

/// Dumps that were asked for, and those that were made.
static ASKED: AtomicU64 = AtomicU64::new(0);
static MADE: AtomicU64 = AtomicU64::new(0);

/// A runtime has begun that wants to be watched: starts the watcher, once for a program, and once for each forked child
/// of it, or wakes it. If the system refuses it, that is said, and it is asked again when the next runtime begins.
pub(crate) fn start() {
    static STARTED_FOR: AtomicU64 = AtomicU64::new(u64::MAX);
    let generation = orphan::generation();
    if STARTED_FOR.swap(generation, Ordering::Relaxed) == generation {
        return WATCH_WORD.note_change();
    }
    WATCH_WORD.begin();
    age::tick();
    answer::begin();
    let body = || {
        block_signals();
        let _registration = Registration::new(Role::Helper);
        watch();
    };
    let begun = os_thread::begin("raddle-watch".to_owned(), Box::new(body));
    if let Err(cause) = begun {
        STARTED_FOR.store(u64::MAX, Ordering::Relaxed);
        message::say(&format!(
            "raddle: hang: the system refuses the OS thread that looks for hangs: {cause}; who waits for ever will \
             not be told, and nobody runs what waits behind a call that blocks a worker; raise `ulimit -u` or \
             `ulimit -v`\n"
        ));
    }
}

/// Asks for a dump, on standard error if no process asks. By a signal's handler, too.
pub(crate) fn ask_for_dump(process: u32, value: u32) {
    if process != 0 && value != 0 {
        answer::note_asker(process, value);
    }
    // Release pairs with the acquire in `take_request`.
    ASKED.fetch_add(1, Ordering::Release);
    WATCH_WORD.call();
}

fn take_request() -> bool {
    // Acquire pairs with the release in `ask_for_dump`.
    let asked = ASKED.load(Ordering::Acquire);
    MADE.swap(asked, Ordering::Relaxed) != asked
}

fn watch() {
    let mut before: Option<Counts> = None;
    let mut reported: Option<Counts> = None;
    let (mut slow, mut partial, mut longest) = (Slow::default(), Partial::new(), TICK);
    let (mut blocked, mut livelock) = (Blocked::default(), Livelock::default());
    let (mut stands, mut ticks) = (Stands::default(), Ticks::default());
    loop {
        age::tick();
        if take_request() {
            let dump = Report::of(&runtimes(), How::Stopping, DumpKind::Dump);
            answer::give(dump);
        }
        let sleeps = os_thread::sleeps();
        let now = quiescence::look();
        if now.is_some() && now == before && reported != now {
            reported.clone_from(&now);
            deadlock(How::Quiescent);
        }
        let settled = now == before;
        before = now;
        let goes_on = before.is_none() && now_and_then((&mut slow, &mut partial, &mut livelock), settled);
        slow.say();
        partial.say();
        livelock.say();
        if before.is_none() && looks_for_deadlocks() && blocked.look() {
            deadlock(How::Blocked);
        }
        // What is known to stand still goes on by a worker only. Else somebody may end, or have gone to sleep just now.
        let until = (before.is_none() && looks_for_deadlocks()).then_some(longest);
        let nothing_new = || all_sleep() && os_thread::sleeps() == sleeps;
        let slept = rest(settled && !goes_on, until, nothing_new, (&mut stands, &mut ticks));
        longest = if slept { (longest * 2).min(SLEEP_MAX) } else { TICK };
    }
}

/// What is looked for beside a deadlock. True if it shall be looked for again soon, whoever sleeps.
fn now_and_then((slow, partial, livelock): (&mut Slow, &mut Partial, &mut Livelock), settled: bool) -> bool {
    let list = runtimes();
    if list.is_empty() {
        slow.forget_all();
    }
    for watched in list.iter() {
        if let Some(most) = watched.plan.slow_slice {
            slow.look(&list, watched, most);
        }
    }
    livelock.look(&list);
    let wants_cycles = list.iter().any(|watched| watched.plan.deadlock != OnDeadlock::Off);
    wants_cycles && partial.look(&list, settled && list.iter().all(|one| one.shared().is_quiet().is_some()))
}

/// Until the next tick, or if somebody asks for a dump; or if all sleep, until somebody gets up, for `at_most`. True if
/// that time was over.
fn rest(
    settled: bool,
    at_most: Option<Duration>,
    nothing_new: impl Fn() -> bool,
    (stands, ticks): (&mut Stands, &mut Ticks),
) -> bool {
    let nothing_asked = || ASKED.load(Ordering::Relaxed) == MADE.load(Ordering::Relaxed);
    if !(settled && nothing_new()) {
        let tick = Instant::now();
        let mut looked = tick;
        while nothing_asked() && tick.elapsed() < TICK {
            WATCH_WORD.tick(Ticks::period().unwrap_or(STANDS).min(STANDS));
            ticks.look();
            if looked.elapsed() >= STANDS {
                looked = Instant::now();
                stands.look();
            }
        }
        return false;
    }
    age::while_asleep(|| WATCH_WORD.lie_down(at_most, || nothing_new() && nothing_asked()))
}

fn looks_for_deadlocks() -> bool {
    let wants =
        |watched: &Watched| watched.plan.deadlock != OnDeadlock::Off || watched.plan.handler.is_some();
    runtimes().iter().any(wants)
}

fn all_sleep() -> bool {
    runtimes().iter().all(|watched| watched.shared().all_workers_sleep())
}

/// Nothing will ever run again.
fn deadlock(how: How) {
    let list = runtimes();
    let worst = list.iter().map(|watched| watched.plan.deadlock).max_by_key(|on| *on as u8);
    let handler = list.iter().find_map(|watched| watched.plan.handler.clone());
    let on = worst.unwrap_or(OnDeadlock::Off);
    if on == OnDeadlock::Off && handler.is_none() {
        return;
    }
    let dump =
        Report::of(&list, how, DumpKind::Deadlock { exits: on == OnDeadlock::Exit && handler.is_none() });
    drop(list);
    if let Some(DeadlockHandler(handler)) = handler {
        return handler(&Dump::new(dump));
    }
    let _lost = message::say_within(&dump.screen(), LAST_PATIENCE);
    if on == OnDeadlock::Exit {
        std::process::exit(DEADLOCK_EXIT_CODE);
    }
}
