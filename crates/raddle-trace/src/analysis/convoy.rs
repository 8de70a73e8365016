//! Owns: lock convoys: a queue at one lock that does not empty, while workers have nothing to run.
//! May use: `event`, `log`.
//! Never: a lock at which few wait, or for which no worker is idle.
//!
//! Threads that need one lock again and again line up behind whoever has it: however fast that one lets go, it soon
//! stands at the end of the line, and each acquisition waits for the scheduler. Blasgen, Gray, Mitoma and Price named
//! it ("The convoy phenomenon", 1979); Visual Studio's Concurrency Visualizer calls a convoy what arrives faster than
//! it is let in. A trace does not show who takes a lock without a wait, but who stands in the line, and when:
//!
//! - the queue does not empty: somebody waits for [`MUCH`] of the time from the first wait to the last;
//! - it is a line: [`LINE_MIN`] wait on average over the run, and the line moved [`WAITS_MIN`] times;
//! - it is the cause: half of the idle time that a change of the program could win back passed beside it.
//!
//! Raddle's `Mutex` lets whoever runs take it again, so that a convoy at one costs few switches; but all workers except
//! one stand idle all the same. At a lock that is handed to the next in the line (`csp::Shared`) each turn is a wake.

use super::idle::Class;
use super::labels;
use super::timeline::{Slice, WorkerTime};
use crate::event::StopReason;
use crate::log::Log;
use std::collections::{BTreeMap, HashMap};

/// A lock convoy.
#[derive(Clone, Debug, PartialEq)]
pub struct Convoy {
    /// The label of most who wait.
    pub label: String,
    /// Where in the program most of them wait, if that was recorded.
    pub site: Option<String>,
    /// The number of waits.
    pub waits: u64,
    /// The sum of all waits, in nanoseconds.
    pub waited_ns: u64,
    /// How many wait on average over the whole run.
    pub queue: f64,
    /// Idle time of workers beside the queue, in nanoseconds: what a change of the program could win back.
    pub idle_ns: u64,
    /// Its share of the workers' time.
    pub share: f64,
}

/// From so many waits on it is a queue that moves, and not a few who wait for a long time.
const WAITS_MIN: usize = 10;
/// So many wait on average over the whole run.
const LINE_MIN: f64 = 2.0;
/// Somebody waits for so much of the time: four fifths.
const MUCH: (u64, u64) = (4, 5);

/// A wait for a lock: who, at which place, from when until when it ran again.
struct LockWait {
    thread: u32,
    site: u32,
    begin_ns: u64,
    end_ns: u64,
}

/// The convoy that cost most, if there is one.
pub(super) fn of(log: &Log, workers: &[WorkerTime]) -> Option<Convoy> {
    let by_lock = waits_by_lock(log, workers);
    let waited = |waits: &Vec<LockWait>| {
        waits.iter().map(|wait| wait.end_ns - wait.begin_ns).fold(0, u64::saturating_add)
    };
    let waits = by_lock.into_values().max_by_key(waited)?;
    let waited_ns = waited(&waits);
    let queue = united(&waits);
    let (Some(first), Some(last)) = (queue.first(), queue.last()) else { return None };
    let stands: u64 = queue.iter().map(|(begin, end)| end - begin).sum();
    let (beside, all) = idle_beside(workers, &queue);
    let wall = log.wall_ns().max(1) as f64;
    let is_one = waits.len() >= WAITS_MIN
        && waited_ns as f64 >= LINE_MIN * wall
        && u128::from(stands) * u128::from(MUCH.1) >= u128::from(last.1 - first.0) * u128::from(MUCH.0)
        && beside * 2 >= all;
    let label = most(&waits, |wait| labels::split(&log.name(wait.thread)).0.into_owned());
    let site = most(&waits, |wait| wait.site).filter(|site| *site != 0);
    is_one.then(|| Convoy {
        label: label.unwrap_or_default(),
        site: site.map(|site| log.string(site)),
        waits: waits.len() as u64,
        waited_ns,
        queue: waited_ns as f64 / wall,
        idle_ns: beside,
        share: beside as f64 / (wall * workers.len().max(1) as f64),
    })
}

/// The waits for each lock: by its number, or where that was not recorded, by the place.
fn waits_by_lock(log: &Log, workers: &[WorkerTime]) -> BTreeMap<(u32, u32), Vec<LockWait>> {
    let slices = || workers.iter().flat_map(|worker| &worker.slices);
    let waiting = slices().filter(|slice| slice.stopped == StopReason::Lock);
    let mut by_thread: HashMap<u32, Vec<&Slice>> = waiting.map(|slice| (slice.thread, Vec::new())).collect();
    for slice in slices() {
        by_thread.entry(slice.thread).and_modify(|of| of.push(slice));
    }
    let mut by_lock: BTreeMap<(u32, u32), Vec<LockWait>> = BTreeMap::new();
    for (thread, mut slices) in by_thread {
        slices.sort_unstable_by_key(|slice| slice.begin_ns);
        for (place, slice) in slices.iter().enumerate().filter(|(_, slice)| slice.stopped == StopReason::Lock)
        {
            let begin_ns = slice.end_ns;
            let end_ns = slices.get(place + 1).map_or(log.end_ns, |next| next.begin_ns).max(begin_ns);
            let lock = if slice.object == 0 { (0, slice.site) } else { (slice.object, 0) };
            by_lock.entry(lock).or_default().push(LockWait { thread, site: slice.site, begin_ns, end_ns });
        }
    }
    by_lock
}

/// When somebody waits: from, until; by time, and apart from each other.
fn united(waits: &[LockWait]) -> Vec<(u64, u64)> {
    let mut spans: Vec<(u64, u64)> = waits.iter().map(|wait| (wait.begin_ns, wait.end_ns)).collect();
    spans.sort_unstable();
    let mut united: Vec<(u64, u64)> = Vec::new();
    for (begin, end) in spans {
        match united.last_mut().filter(|last| last.1 >= begin) {
            Some(last) => last.1 = last.1.max(end),
            None => united.push((begin, end)),
        }
    }
    united
}

/// The idle time of the program's own classes: within these spans, and in total.
fn idle_beside(workers: &[WorkerTime], spans: &[(u64, u64)]) -> (u64, u64) {
    let (mut beside, mut all) = (0, 0);
    for gap in workers.iter().flat_map(|worker| &worker.gaps) {
        let mut begin = gap.begin_ns;
        for (class, ns) in &gap.parts {
            let end = begin + ns;
            // Where threads were ready, and did not get to an idle worker, no lock kept them.
            if *class == Class::Misplaced {
                all += ns;
            } else if Class::OWN.contains(class) {
                let first = spans.partition_point(|span| span.1 <= begin);
                let within = spans[first..].iter().take_while(|span| span.0 < end);
                beside += within.map(|span| span.1.min(end) - span.0.max(begin)).sum::<u64>();
                all += ns;
            }
            begin = end;
        }
    }
    (beside, all)
}

/// What most of these waits have in common.
fn most<T: Ord>(waits: &[LockWait], of: impl Fn(&LockWait) -> T) -> Option<T> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    waits.iter().for_each(|wait| *counts.entry(of(wait)).or_default() += 1);
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(what, _)| what)
}

#[cfg(test)]
mod tests {
    use crate::analysis::{Advice, Analysis, report};
    use crate::event::{Event, IdleCause, StopReason, pack};
    use crate::log::tests::Script;

    const LOCK: u32 = 77;

    /// Of `clerks`, one after the other has the lock for `held` and then works for `outside` without it, on worker 0;
    /// worker 1 has nothing to do. The place is the second string.
    fn clerks(clerks: u32, turns: u32, held: u64, outside: u64) -> Script {
        let mut script = Script::new(2, 0);
        for clerk in 1..=clerks {
            script.name(clerk, &format!("clerk {clerk}"));
        }
        script.name(99, "src/main.rs:7:13");
        let mut ns = 0;
        for turn in 0..turns {
            let (clerk, next) = (turn % clerks + 1, (turn + 1) % clerks + 1);
            if turn > 0 {
                script.put(0, ns, Event::Site, clerks + 1, 0);
            }
            script.put(0, ns, Event::Switch, clerk, pack(StopReason::Lock as u8, LOCK));
            script.wake(0, ns + held, next, 0);
            ns += held + outside;
        }
        // The last one waits once more; then each ends.
        script.put(0, ns, Event::Site, clerks + 1, 0);
        for clerk in 1..=clerks {
            let why = if clerk == 1 { StopReason::Lock } else { StopReason::Exit };
            script.put(0, ns, Event::Switch, clerk, pack(why as u8, LOCK));
            ns += 10;
        }
        script.switch(0, ns, StopReason::Exit, 0).idle(1, 0, ns, IdleCause::Stop);
        script
    }

    #[test]
    fn a_queue_that_does_not_empty_is_a_convoy_with_its_line() {
        let log = clerks(8, 100, 20_000, 0).log();
        let analysis = Analysis::of(&log);
        let verdict = &analysis.verdict;
        let convoy = verdict.convoy.clone().expect("all but one stand in the queue");
        assert_eq!((convoy.label.as_str(), convoy.site.as_deref()), ("clerk", Some("src/main.rs:7:13")));
        assert_eq!((convoy.waits, verdict.cause().as_str()), (100, "lock convoy: clerk"));
        let place = "src/main.rs:7:13".to_owned();
        assert_eq!(verdict.advice, Advice::Convoy("clerk".to_owned(), Some(place)));
        let said = report(&log, &analysis);
        let finding = "of worker time is lost in a lock convoy: on average 6.7 of clerk wait for the lock at \
                       src/main.rs:7:13; do less under the lock at src/main.rs:7:13";
        assert!(said.contains(finding), "{said}");
    }

    #[test]
    fn who_waits_at_a_lock_now_and_then_is_in_no_convoy() {
        let convoy = |script: &Script| Analysis::of(&script.log()).verdict.convoy;
        assert!(convoy(&clerks(8, 9, 20_000, 0)).is_none(), "the line moves too rarely");
        assert!(convoy(&clerks(2, 100, 20_000, 0)).is_none(), "one waits at most");
        // Both workers run all the time: who waits costs nothing.
        let mut busy = clerks(8, 100, 20_000, 0);
        busy.switch(1, 1, StopReason::None, 50).switch(1, 2_000_000, StopReason::Exit, 0);
        assert!(convoy(&busy).is_none(), "no worker is idle");
        // The queue stands for a short time, and then comes a long phase on one worker.
        let mut phase = clerks(8, 100, 20_000, 0);
        phase.switch(0, 2_000_000, StopReason::None, 60).switch(0, 9_000_000, StopReason::Exit, 0);
        phase.idle(1, 2_000_001, 9_000_000, IdleCause::Stop);
        assert!(convoy(&phase).is_none(), "most of the idle time is elsewhere");
    }
}
