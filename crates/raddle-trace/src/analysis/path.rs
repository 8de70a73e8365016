//! Owns: the critical path: from the last slice back, from each slice to what it had to wait for.
//! May use: `event`, `log`.
//! Never: a path that does not go back in time.
//!
//! A slice had to wait for the slice that woke its thread. If none did, it had to wait for the previous slice of its
//! own thread, after which the thread was ready, or slept until a timer or an OS thread woke it. The path contains the
//! waker's slice up to the wake, and the time from the wake to the run. That time is a hand-off if another worker or an
//! OS thread woke the thread, but for the part in which its own worker ran others: that, and the time after a wake by
//! its own worker, is waiting for a turn. To shorten anything else does not make the program faster. The
//! page follows the same rule (`view/data.js`, `cause`).

use super::labels;
use super::timeline::{Slice, WorkerTime};
use crate::event::Event;
use crate::log::Log;
use std::borrow::Cow;
use std::collections::HashMap;

/// The critical path, added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// How many slices are on it.
    pub steps: u64,
    /// Its length in nanoseconds: from its beginning to the end of the last slice.
    pub ns: u64,
    /// Its parts: running time by label, and the ways of waiting; longest first.
    pub parts: Vec<(String, u64)>,
    /// When something runs on it: from, until; by time, and apart from each other.
    pub(super) runs: Vec<(u64, u64)>,
    /// When it waits for a turn, in the same way.
    pub(super) turns: Vec<(u64, u64)>,
}

impl Path {
    /// For how much of the time from `begin` to `end` something runs on it.
    pub(super) fn runs_within(&self, begin: u64, end: u64) -> u64 {
        within(&self.runs, begin, end)
    }

    /// For how much of that time it waits for a turn, behind what its worker runs.
    pub(super) fn waits_for_turn_within(&self, begin: u64, end: u64) -> u64 {
        within(&self.turns, begin, end)
    }
}

fn within(times: &[(u64, u64)], begin: u64, end: u64) -> u64 {
    let first = times.partition_point(|(_, until)| *until <= begin);
    let within = times[first..].iter().take_while(|(from, _)| *from < end);
    within.map(|(from, until)| (*until).min(end) - (*from).max(begin)).sum()
}

/// From a wake by another worker to the slice.
const HAND_OFF: &str = "hand-off to another worker";
/// From a wake by this worker, or from the thread's own previous slice, to the slice.
const READY: &str = "ready, waiting for a turn";
/// From the thread's own previous slice to a timer, or to another wake that was not recorded.
const ASLEEP: &str = "asleep, or waiting for an event outside the workers";
/// From a timer, or another wake that was not recorded, to the slice.
const FROM_OUTSIDE: &str = "woken by a timer or from outside, not yet running";

/// A slice: the index of its worker, and its own index there.
pub(super) type SliceId = (usize, usize);

/// The slices and wakes of each thread, by time.
#[derive(Default)]
pub(super) struct Threads {
    runs: HashMap<u32, Vec<(u64, SliceId)>>,
    wakes: HashMap<u32, Vec<(u64, Waker)>>,
}

/// Who woke a thread: the worker with this index, or an OS thread, by this event of `Log::outside`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Waker {
    Outside(usize),
    Worker(usize),
}

impl Threads {
    pub(super) fn of(log: &Log, workers: &[WorkerTime]) -> Threads {
        let mut threads = Threads::default();
        for (place, worker) in workers.iter().enumerate() {
            for (slice, of) in worker.slices.iter().enumerate() {
                threads.runs.entry(of.thread).or_default().push((of.begin_ns, (place, slice)));
            }
        }
        for (place, worker) in log.workers.iter().enumerate() {
            for at in worker.events.iter().filter(|at| matches!(at.event, Event::Wake | Event::Spawn)) {
                threads.wakes.entry(at.a).or_default().push((at.ns, Waker::Worker(place)));
            }
        }
        for (place, at) in log.outside.events.iter().enumerate() {
            threads.wakes.entry(at.a).or_default().push((at.ns, Waker::Outside(place)));
        }
        threads.runs.values_mut().for_each(|runs| runs.sort_unstable());
        threads.wakes.values_mut().for_each(|wakes| wakes.sort_unstable());
        threads
    }

    /// The last slice of a thread that began before `ns`.
    pub(super) fn last_run(&self, thread: u32, ns: u64) -> Option<SliceId> {
        Threads::last(self.runs.get(&thread), ns, true).map(|(_, run)| run)
    }

    /// The last entry not after `ns`, or before it if `strictly`.
    fn last<T: Copy>(of: Option<&Vec<(u64, T)>>, ns: u64, strictly: bool) -> Option<(u64, T)> {
        let of = of?;
        let place = of.partition_point(|(at, _)| if strictly { *at < ns } else { *at <= ns });
        of.get(place.checked_sub(1)?).copied()
    }
}

/// Why a slice did not begin earlier.
pub(super) enum Cause {
    /// This slice woke its thread at this time.
    Woken(u64, SliceId),
    /// Its thread was woken at this time, not by a slice, and had not run before.
    Unknown(u64),
    /// An OS thread woke it at this time, by this event; its previous slice, if it had run before.
    Outside(u64, usize, Option<SliceId>),
    /// No slice woke it since this one of its own; the time of the wake, if one was recorded.
    Own(SliceId, Option<u64>),
}

pub(super) fn cause(threads: &Threads, workers: &[WorkerTime], (worker, slice): SliceId) -> Option<Cause> {
    let run = &workers[worker].slices[slice];
    let own = Threads::last(threads.runs.get(&run.thread), run.begin_ns, true);
    let wake = Threads::last(threads.wakes.get(&run.thread), run.begin_ns, false);
    let wake = wake.filter(|(ns, _)| own.is_none_or(|(begin, _)| *ns > begin));
    if let Some((ns, Waker::Outside(event))) = wake {
        return Some(Cause::Outside(ns, event, own.map(|(_, own)| own)));
    }
    if let Some((ns, Waker::Worker(by))) = wake {
        let slices = &workers[by].slices;
        let waker = slices.partition_point(|slice| slice.begin_ns <= ns).checked_sub(1);
        let waker = waker.filter(|at| slices[*at].end_ns >= ns && (by, *at) != (worker, slice));
        match (waker, own) {
            (Some(waker), _) => return Some(Cause::Woken(ns, (by, waker))),
            (None, None) => return Some(Cause::Unknown(ns)),
            (None, Some(_)) => (),
        }
    }
    own.map(|(_, own)| Cause::Own(own, wake.map(|(ns, _)| ns)))
}

/// For how long one of these slices, the last of a worker by then, ran from one time until another.
fn ran_between(slices: &[Slice], from: u64, until: u64) -> u64 {
    let within = slices.iter().rev().take_while(|slice| slice.end_ns > from);
    within.map(|slice| slice.end_ns.min(until).saturating_sub(slice.begin_ns.max(from))).sum()
}

pub(super) fn of(log: &Log, workers: &[WorkerTime]) -> Path {
    let lasts = workers.iter().enumerate();
    let lasts = lasts.filter_map(|(place, worker)| Some((worker.slices.last()?.end_ns, place)));
    let Some((end, place)) = lasts.max() else { return Path::default() };
    let threads = Threads::of(log, workers);
    let mut running: HashMap<u32, u64> = HashMap::new();
    let mut waiting: HashMap<Cow<'static, str>, u64> = HashMap::new();
    let (mut run, mut until, mut path) = ((place, workers[place].slices.len() - 1), end, Path::default());
    let all: usize = workers.iter().map(|worker| worker.slices.len()).sum();
    // No slice is on the path twice; a longer path would be a cycle, from clocks that disagree.
    while path.steps < all as u64 {
        let slice = &workers[run.0].slices[run.1];
        path.steps += 1;
        path.ns = end - slice.begin_ns.min(end);
        *running.entry(slice.thread).or_default() += until.saturating_sub(slice.begin_ns);
        // Where clocks disagree, it may go forward.
        let end_ns = path.runs.last().map_or(until, |(later, _)| until.min(*later));
        if end_ns > slice.begin_ns {
            path.runs.push((slice.begin_ns, end_ns));
        }
        let mut after_wake = 0;
        let (why, since, next) = match cause(&threads, workers, run) {
            Some(Cause::Woken(ns, by)) if by.0 == run.0 => (READY.into(), ns, Some(by)),
            Some(Cause::Woken(ns, by)) => {
                // While its own worker ran others, it was not on its way, but in their queue.
                let turn = ran_between(&workers[run.0].slices[..run.1], ns, slice.begin_ns);
                *waiting.entry(READY.into()).or_default() += turn;
                after_wake = turn;
                (HAND_OFF.into(), ns, Some(by))
            }
            Some(Cause::Outside(ns, event, own)) => {
                let name = log.os_thread(&log.outside.events[event]);
                let (who, _) = labels::split(&name);
                let ended = own.map_or(ns, |own| workers[own.0].slices[own.1].end_ns).min(slice.begin_ns);
                after_wake = slice.begin_ns - ns.clamp(ended, slice.begin_ns);
                *waiting.entry(format!("woken by {who}, not yet running").into()).or_default() += after_wake;
                (format!("waiting for {who}").into(), ended, own)
            }
            Some(Cause::Own(own, woken)) => {
                let before = &workers[own.0].slices[own.1];
                let asleep = !before.stopped.is_ready();
                if let Some(ns) = woken.filter(|_| asleep) {
                    // The thread was ready for this part of the time.
                    let ready = slice.begin_ns - ns.clamp(before.end_ns.min(slice.begin_ns), slice.begin_ns);
                    *waiting.entry(FROM_OUTSIDE.into()).or_default() += ready;
                    after_wake = ready;
                }
                (if asleep { ASLEEP } else { READY }.into(), before.end_ns, Some(own))
            }
            Some(Cause::Unknown(ns)) => (FROM_OUTSIDE.into(), ns, None),
            None => break,
        };
        let since = since.min(slice.begin_ns);
        let begun = path.runs.last().map_or(slice.begin_ns, |(later, _)| slice.begin_ns.min(*later));
        if why == READY && since < begun {
            path.turns.push((since, begun));
        }
        *waiting.entry(why).or_default() += slice.begin_ns - since - after_wake;
        path.ns = end - since;
        let Some(next) = next else { break };
        (run, until) = (next, since);
    }
    path.runs.reverse();
    path.turns.reverse();
    path.parts = parts(log, running, waiting);
    path
}

/// The parts of the path, the longest first: running by thread, and the ways of waiting.
fn parts(
    log: &Log,
    running: HashMap<u32, u64>,
    waiting: HashMap<Cow<'static, str>, u64>,
) -> Vec<(String, u64)> {
    let mut parts: HashMap<String, u64> = HashMap::new();
    for (thread, ns) in running {
        *parts.entry(format!("{} runs", labels::split(&log.name(thread)).0)).or_default() += ns;
    }
    parts.extend(waiting.into_iter().map(|(why, ns)| (why.into_owned(), ns)));
    let mut parts: Vec<_> = parts.into_iter().filter(|(_, ns)| *ns > 0).collect();
    parts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Analysis;
    use crate::event::{IdleCause, StopReason};
    use crate::log::tests::Script;

    #[test]
    fn the_path_goes_back_from_the_end_by_wakes_and_turns() {
        let mut script = Script::new(2, 1000);
        script.name(1, "source 1").name(2, "sink").name(3, "bystander");
        // The source yields to a bystander, runs again, wakes the sink there and runs on; the sink is the last to run.
        script.switch(0, 0, StopReason::None, 1).switch(0, 100, StopReason::Yield, 3);
        script.switch(0, 130, StopReason::Exit, 1).wake(0, 200, 2, 1).switch(0, 900, StopReason::Exit, 0);
        script.switch(1, 260, StopReason::None, 2).switch(1, 960, StopReason::Exit, 0);
        let path = Analysis::of(&script.log()).path;
        assert_eq!((path.steps, path.ns), (3, 960));
        let parts = [("sink runs", 700), ("source runs", 170), (HAND_OFF, 60), (READY, 30)];
        assert_eq!(path.parts, parts.map(|(what, ns)| (what.to_owned(), ns)));
        assert_eq!(path.parts.iter().map(|(_, ns)| ns).sum::<u64>(), path.ns);
        // The source to its yield and to its wake, then the sink.
        assert_eq!(path.runs, [(0, 100), (130, 200), (260, 960)]);
        assert_eq!((path.runs_within(50, 300), path.runs_within(210, 250)), (50 + 70 + 40, 0));
        assert_eq!((path.turns.clone(), path.waits_for_turn_within(120, 500)), (vec![(100, 130)], 10));
    }

    /// Two sleepers of one worker, both woken by the other worker: the second waits for the first, too.
    #[test]
    fn who_is_woken_by_another_worker_and_waits_behind_others_waits_for_a_turn() {
        let mut script = Script::new(2, 1000);
        script.name(1, "main").name(2, "sleeper 1").name(3, "sleeper 2");
        script.switch(0, 0, StopReason::None, 1).wake(0, 90, 2, 1).wake(0, 95, 3, 1);
        script.switch(0, 100, StopReason::Exit, 0).switch(1, 120, StopReason::None, 2);
        script.switch(1, 420, StopReason::Exit, 3).switch(1, 720, StopReason::Exit, 0);
        let path = Analysis::of(&script.log()).path;
        let parts = [(READY, 300), ("sleeper runs", 300), ("main runs", 95), (HAND_OFF, 25)];
        assert_eq!(path.parts, parts.map(|(what, ns)| (what.to_owned(), ns)));
        assert_eq!((path.steps, path.ns), (2, 720));
    }

    #[test]
    fn who_sleeps_is_not_ready() {
        let mut script = Script::new(1, 1000);
        script.name(1, "sleeper").switch(0, 0, StopReason::None, 1).switch(0, 100, StopReason::Sleep, 0);
        script.idle(0, 110, 590, IdleCause::Own).wake(0, 600, 1, 0).switch(0, 650, StopReason::None, 1);
        script.switch(0, 700, StopReason::Exit, 0);
        let path = Analysis::of(&script.log()).path;
        let parts = [(ASLEEP, 500), ("sleeper runs", 150), (FROM_OUTSIDE, 50)];
        assert_eq!(path.parts, parts.map(|(what, ns)| (what.to_owned(), ns)));
        assert_eq!((path.steps, path.ns), (2, 700));
    }

    #[test]
    fn an_os_thread_that_is_waited_for_is_named() {
        let mut script = Script::new(1, 1000);
        script.name(1, "sink").name(2, "feeder 4711");
        script.switch(0, 0, StopReason::None, 1).switch(0, 100, StopReason::Receive, 0);
        script.idle(0, 110, 590, IdleCause::Mail).wake_outside(500, 2, 1, 0);
        script.switch(0, 600, StopReason::None, 1).switch(0, 700, StopReason::Exit, 0);
        let analysis = Analysis::of(&script.log());
        let parts = [
            ("waiting for OS thread feeder", 400),
            ("sink runs", 200),
            ("woken by OS thread feeder, not yet running", 100),
        ];
        assert_eq!(analysis.path.parts, parts.map(|(what, ns)| (what.to_owned(), ns)));
        assert_eq!((analysis.path.steps, analysis.path.ns), (2, 700));
    }

    #[test]
    fn clocks_that_disagree_make_no_circle() {
        let mut script = Script::new(2, 1000);
        for (worker, thread) in [(0, 1), (1, 2)] {
            script.switch(worker, 100, StopReason::None, thread).wake(
                worker,
                100,
                3 - thread,
                1 - worker as u8,
            );
            script.switch(worker, 100 + u64::from(thread), StopReason::Exit, 0);
        }
        assert!(Analysis::of(&script.log()).path.steps <= 2);
    }
}
