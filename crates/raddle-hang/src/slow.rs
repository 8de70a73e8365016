//! Owns: slices that take long while others wait behind them: who it is, for how long, and the likely reason.
//! May use: `kernel`, `process_table`, `runtimes`, `say`, `stand`, `symbol`.
//! Never: one report after the other for one place; a report of what the kernel has not let run.
//!
//! A worker that sleeps in the kernel is told only if two looks, a tick apart, find it in one and the same stay there:
//! a busy machine has many short ones, and a look stops workers by a futex itself. And it is no lock of a stranger's if
//! a function of ours asks for it: one that spawns 100 000 threads waits for this runtime's own lists now and then.
//! What has lasted for [`LONG`] is told also if it is many stays, one after the other, as of a foreign lock that spins
//! and sleeps in turn.
//!
//! A place is told the first time. Later ones of the same place are told if they have lasted for [`LONG`]: a stand,
//! which may be the last, once in [`AGAIN`] at most; a loop, after twice the time each time.

use crate::kernel::{self, Stay};
use crate::process_table::{How, ProcessTable};
use crate::runtimes::Watched;
use crate::say::say;
use crate::stand::os_thread_of;
use crate::symbol;
use std::collections::HashMap;
use std::fs::read_to_string;
use std::time::{Duration, Instant};

/// So long lasts what is told at any time.
const LONG: Duration = Duration::from_millis(500);
/// No place is told twice within that time.
const AGAIN: Duration = Duration::from_secs(1);

/// What a worker was at when it was last seen to move.
struct Progress {
    progress: [u64; 3],
    since: Instant,
    on_processor_ns: u64,
    /// It is looked at when it has lasted for so long.
    next: Duration,
    /// How often it has been seen since. Where the whole program was stopped, or the machine is too busy for the
    /// watcher, time passes and nobody looks.
    looks: u32,
    /// In which call it slept at the last look.
    stay: Option<Stay>,
}

/// Why a slice lasts.
enum Reason {
    Loop,
    /// In a call, in a sleep of that kind.
    Sleeps(Stay, char),
}

/// The workers that have been busy at one thing.
#[derive(Default)]
pub(crate) struct Slow {
    seen: HashMap<usize, Progress>,
    /// The places and reasons that have been told: when they may be told again, and after what time then.
    told: HashMap<String, (Instant, Duration)>,
    /// What is to be said, and the functions that it is about: when the list of runtimes is free again.
    to_tell: Vec<(String, Vec<usize>)>,
}

impl Slow {
    /// Looks at all workers of a runtime, whose slices should not be longer than `most`.
    pub(crate) fn look(&mut self, runtimes: &[Watched], watched: &Watched, most: Duration) {
        let shared = watched.shared();
        for worker in shared.everybody().filter(|worker| !worker.follows_seed()) {
            let key = std::ptr::from_ref(worker).addr();
            let os_thread = os_thread_of(key);
            if os_thread == 0 || shared.worker_sleeps(worker.index) {
                self.seen.remove(&key);
                continue;
            }
            let (now, progress) = (Instant::now(), worker.progress());
            let seen = self.seen.entry(key).or_insert_with(|| Progress::new(progress, now, os_thread));
            if seen.progress != progress {
                *seen = Progress::new(progress, now, os_thread);
                continue;
            }
            let others = usize::from(worker.has_alarm_due()) + usize::from(shared.has_shared(worker.index));
            let waiting = worker.waiting_behind() + others;
            let lasts = now - seen.since;
            seen.looks += 1;
            if lasts < seen.next.max(most) || seen.looks < 2 || waiting == 0 {
                continue;
            }
            let Some(reason) = reason(os_thread, seen, (most, lasts)) else { continue };
            let next = self.tell(runtimes, (key, worker.index), &reason, (lasts, waiting));
            if let Some(seen) = self.seen.get_mut(&key) {
                seen.next = next;
            }
        }
    }

    /// Notes who runs there, if it is to be told. How long it has lasted when it is to be looked at next.
    fn tell(
        &mut self,
        runtimes: &[Watched],
        (worker, index): (usize, usize),
        reason: &Reason,
        (lasts, waiting): (Duration, usize),
    ) -> Duration {
        let (who, place, frames) = match reason {
            // It could not be stopped, and whoever tried would keep the others.
            Reason::Sleeps(_, 'D') => ("something".to_owned(), index.to_string(), Vec::new()),
            _ => who_runs(runtimes, worker),
        };
        let Some(words) = in_words(reason, &frames) else { return Duration::MAX };
        let (key, now) = (format!("{place} {words}"), Instant::now());
        let pause = match self.told.get(&key) {
            Some((next, _)) if lasts < LONG || now < *next => {
                return LONG.max(lasts + next.saturating_duration_since(now));
            }
            Some((_, pause)) if matches!(reason, Reason::Loop) => *pause * 2,
            _ => AGAIN,
        };
        self.told.insert(key, (now + pause, pause));
        let ms = lasts.as_millis();
        let behind = format!("while {waiting} or more wait behind it: {words}");
        let text = format!("raddle: slow: {who} has run for {ms} ms on worker {index} {behind}\n");
        self.to_tell.push((text, frames));
        Duration::MAX
    }

    /// Says what has been found. Nobody waits for that, however slow the reader of standard error is.
    pub(crate) fn say(&mut self) {
        for (text, frames) in self.to_tell.drain(..) {
            say(&text);
            // Reading the names may take a while.
            say(&symbol::lines(&frames));
        }
    }

    /// Forgets the workers of a runtime that has ended.
    pub(crate) fn forget_all(&mut self) {
        self.seen.clear();
    }
}

impl Progress {
    fn new(progress: [u64; 3], since: Instant, os_thread: i32) -> Progress {
        Progress {
            progress,
            since,
            on_processor_ns: on_processor_ns(os_thread),
            next: Duration::ZERO,
            looks: 0,
            stay: None,
        }
    }
}

/// Who runs on a worker, where it was spawned, and in which functions it is.
fn who_runs(runtimes: &[Watched], worker: usize) -> (String, String, Vec<usize>) {
    let table = ProcessTable::snapshot(runtimes, How::Stopping, 0);
    let (row, frames) = table.who_runs_on(worker);
    let (who, place) = row.map_or_else(
        || ("a task, or something that has just ended,".to_owned(), "?".to_owned()),
        |row| (table.who(row), row.site.to_string()),
    );
    (who, place, frames.to_vec())
}

/// So long an OS thread has been on a processor.
fn on_processor_ns(os_thread: i32) -> u64 {
    let stat = read_to_string(format!("/proc/self/task/{os_thread}/schedstat")).unwrap_or_default();
    stat.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

/// Why an OS thread comes to no switch. None if it is only that the kernel gives it no processor, or if that is not
/// known yet.
fn reason(os_thread: i32, seen: &mut Progress, (most, lasts): (Duration, Duration)) -> Option<Reason> {
    let state = kernel::state(os_thread)?;
    let ran = Duration::from_nanos(on_processor_ns(os_thread).saturating_sub(seen.on_processor_ns));
    if state == 'R' {
        return (ran >= most).then_some(Reason::Loop);
    }
    let stay = Stay::of(os_thread)?;
    let is_the_same = seen.stay.replace(stay) == Some(stay);
    // One that computes may have been found at a moment's sleep.
    let is_long = lasts >= LONG && ran < lasts / 2;
    (is_the_same || is_long).then_some(Reason::Sleeps(stay, state))
}

/// The reason for those who are told, and what to do; `None` if it is this runtime's own.
fn in_words(reason: &Reason, frames: &[usize]) -> Option<String> {
    Some(match reason {
        Reason::Loop => "a long loop without a switch; `yield_now` in it would let them run".to_owned(),
        Reason::Sleeps(stay, _) if stay.is_at_futex() => {
            if symbol::are_within_ours(frames) {
                return None;
            }
            "it waits for a lock or a channel that is none of ours, such as one of `std` that is held by one that \
             has waited since; `raddle::sync` has locks that let others run, and channels"
                .to_owned()
        }
        Reason::Sleeps(stay, _) => {
            let call = kernel::name_of_call(stay.number);
            format!("it blocks its worker in the system call {call}; `raddle::blocking` is for that")
        }
    })
}
