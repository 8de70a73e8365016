//! Owns: slices that take long while others wait behind them: who it is, for how long, and the likely reason.
//! May use: `kernel`, `process_table`, `runtimes`, `stand`, `symbol`, `raddle-core`.
//! Never: a second report for one place; a report of what the kernel has not let run.
//!
//! A worker that sleeps in the kernel is told only if two looks, a tick apart, find it in one and the same stay there:
//! a busy machine has many short ones, and a look stops workers by a futex itself. And it is no lock of a stranger's if
//! a function of ours asks for it: one that spawns 100 000 threads waits for this runtime's own lists now and then.

use crate::kernel::{self, Stay};
use crate::process_table::{How, ProcessTable};
use crate::runtimes::Watched;
use crate::stand::os_thread_of;
use crate::symbol;
use raddle_core::message;
use std::collections::{HashMap, HashSet};
use std::fs::read_to_string;
use std::time::{Duration, Instant};

/// What a worker was at when it was last seen to move.
struct Progress {
    progress: [u64; 3],
    since: Instant,
    on_processor_ns: u64,
    is_reported: bool,
    /// How often it has been seen since. Where the whole program was stopped, or the machine is too busy for the
    /// watcher, time passes and nobody looks.
    looks: u32,
    /// In which call it slept at the last look.
    stay: Option<Stay>,
}

/// Why a slice lasts.
enum Reason {
    Loop,
    Sleeps(Stay),
}

/// The workers that have been busy at one thing.
#[derive(Default)]
pub(crate) struct Slow {
    seen: HashMap<usize, Progress>,
    reported: HashSet<String>,
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
            let waiting = worker.waiting_behind();
            let lasts = now - seen.since;
            seen.looks += 1;
            if seen.is_reported || lasts < most || seen.looks < 2 || waiting == 0 {
                continue;
            }
            let Some(reason) = reason(os_thread, seen, most) else { continue };
            seen.is_reported = true;
            self.tell(runtimes, key, worker.index, &reason, (lasts, waiting));
        }
    }

    /// Notes who runs there, once for each place and reason.
    fn tell(
        &mut self,
        runtimes: &[Watched],
        worker: usize,
        index: usize,
        reason: &Reason,
        (lasts, waiting): (Duration, usize),
    ) {
        let (who, place, frames) = who_runs(runtimes, worker);
        let Some(reason) = in_words(reason, &frames) else { return };
        if self.reported.insert(format!("{place} {reason}")) {
            let ms = lasts.as_millis();
            let behind = format!("while {waiting} or more wait behind it: {reason}");
            let text = format!("raddle: slow: {who} has run for {ms} ms on worker {index} {behind}\n");
            self.to_tell.push((text, frames));
        }
    }

    /// Says what has been found. Nobody waits for that, however slow the reader of standard error is.
    pub(crate) fn say(&mut self) {
        for (text, frames) in self.to_tell.drain(..) {
            message::say(&text);
            // Reading the names may take a while.
            message::say(&symbol::lines(&frames));
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
            is_reported: false,
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
fn reason(os_thread: i32, seen: &mut Progress, most: Duration) -> Option<Reason> {
    let stat = read_to_string(format!("/proc/self/task/{os_thread}/stat")).ok()?;
    let state = stat.rsplit_once(')')?.1.trim_start().chars().next()?;
    if state == 'R' {
        let ran = Duration::from_nanos(on_processor_ns(os_thread).saturating_sub(seen.on_processor_ns));
        return (ran >= most).then_some(Reason::Loop);
    }
    let stay = Stay::of(os_thread)?;
    let is_the_same = seen.stay.replace(stay) == Some(stay);
    is_the_same.then_some(Reason::Sleeps(stay))
}

/// The reason for those who are told, and what to do; `None` if it is this runtime's own.
fn in_words(reason: &Reason, frames: &[usize]) -> Option<String> {
    Some(match reason {
        Reason::Loop => "a long loop without a switch; `yield_now` in it would let them run".to_owned(),
        Reason::Sleeps(stay) if stay.is_at_futex() => {
            if symbol::are_within_ours(frames) {
                return None;
            }
            "it waits for a lock or a channel that is none of ours, such as one of `std` that is held by one that \
             has waited since; `raddle::sync` has locks that let others run, and channels"
                .to_owned()
        }
        Reason::Sleeps(stay) => {
            let call = kernel::name_of_call(stay.number);
            format!("it blocks its worker in the system call {call}; `raddle::blocking` is for that")
        }
    })
}
