//! Owns: the part of a worker's time in which what ran there slept in the kernel, and in which calls of the program.
//! May use: `log`.
//! Never: time in which the worker was idle, or had no core.
//!
//! A call that the scheduler does not know, such as a read of a pipe, a lock of `std` or a sleep of an OS thread, keeps
//! its worker, and looks as if the process ran. Once per tick the helper thread notes for how long each worker's OS
//! thread has been on a core, and has waited for one. What is left of the time between two notes, without the idle
//! times, is sleep within slices. It is counted only where the OS thread was seen asleep, within a slice, at either
//! end: a machine below this one may take the processor, too, and nobody tells. So of short sleeps a little is missed.

use super::labels;
use super::timeline::{Slice, WorkerTime};
use crate::log::{Log, Whereabout};
use std::collections::BTreeMap;

/// Sleep in the kernel, of one thread in one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    /// The thread.
    pub thread: u32,
    /// The string of the call and the place in the program, 0 if that is not known.
    pub place: u32,
    /// For so many nanoseconds.
    pub ns: u64,
}

/// Below a twentieth of the time between two notes, it is the notes' own inaccuracy.
const LEAST_PART: u64 = 20;

/// Moves the sleep within slices out of running time.
pub(super) fn charge(worker: &mut WorkerTime, notes: &[Whereabout]) {
    for two in notes.windows(2) {
        let (from, until) = (two[0].ns, two[1].ns);
        let seen: Vec<(u32, u32)> = two.iter().filter_map(|note| asleep(worker, note)).collect();
        let length = until - from;
        let of = |total: fn(&Whereabout) -> u64| total(&two[1]).saturating_sub(total(&two[0]));
        let elsewhere = of(|note| note.on_core_ns).saturating_add(of(|note| note.kernel_wait_ns));
        let first = worker.gaps.partition_point(|gap| gap.end_ns <= from);
        let gaps = worker.gaps[first..].iter().map(|gap| (gap.begin_ns, gap.end_ns));
        let idle = overlap(gaps, from, until);
        let slept = length.saturating_sub(elsewhere).saturating_sub(idle).min(worker.running_ns);
        let first = worker.slices.partition_point(|slice| slice.end_ns <= from);
        let slices = worker.slices[first..].iter().map(|slice| (slice.begin_ns, slice.end_ns));
        let slept = slept.min(overlap(slices, from, until));
        if seen.is_empty() || slept < length / LEAST_PART {
            continue;
        }
        worker.running_ns -= slept;
        worker.blocked_ns += slept;
        worker.asleep.push((from, until, slept));
        for (thread, place) in &seen {
            worker.stays.push(Stay { thread: *thread, place: *place, ns: slept / seen.len() as u64 });
        }
    }
}

/// The thread that ran at this moment, if it slept in the kernel, and the place.
fn asleep(worker: &WorkerTime, note: &Whereabout) -> Option<(u32, u32)> {
    let last = worker.slices.partition_point(|slice| slice.begin_ns <= note.ns).checked_sub(1)?;
    let slice: &Slice = worker.slices.get(last).filter(|slice| note.sleeps && note.ns <= slice.end_ns)?;
    Some((slice.thread, note.place))
}

/// How much of these spans, which come by time and end after `from`, lies within `from..until`.
fn overlap(spans: impl Iterator<Item = (u64, u64)>, from: u64, until: u64) -> u64 {
    let within = spans.take_while(|span| span.0 < until);
    within.map(|(begin, end)| end.min(until) - begin.max(from)).sum()
}

/// The stays of all workers by label and place, the longest first: label, place if it is known, nanoseconds.
pub(super) fn totals(log: &Log, workers: &[WorkerTime]) -> Vec<(String, Option<String>, u64)> {
    let mut totals: BTreeMap<(String, Option<String>), u64> = BTreeMap::new();
    for stay in workers.iter().flat_map(|worker| &worker.stays) {
        let label = labels::split(&log.name(stay.thread)).0.into_owned();
        let place = (stay.place != 0).then(|| log.string(stay.place));
        *totals.entry((label, place)).or_default() += stay.ns;
    }
    let mut totals: Vec<_> = totals.into_iter().map(|((label, place), ns)| (label, place, ns)).collect();
    totals.sort_by_key(|(_, place, ns)| std::cmp::Reverse((*ns, place.is_some())));
    totals
}

#[cfg(test)]
mod tests {
    use crate::analysis::{Advice, Analysis, Class};
    use crate::event::{IdleCause, StopReason};
    use crate::file::Whereabouts;
    use crate::log::tests::Script;

    const MS: u64 = 1_000_000;

    fn note(ms: u64, sleeps: bool, place: u32, on_core_ms: u64) -> Whereabouts {
        let (ticks, on_core_ns) = (ms * MS, on_core_ms * MS);
        Whereabouts { ticks, worker: 0, sleeps, place, on_core_ns, kernel_wait_ns: 0 }
    }

    /// On worker 0 a client computes for 2 of 10 ms and sleeps for the rest; worker 1 has nothing to do.
    fn client() -> Script {
        let mut script = Script::new(2, 40 * MS);
        script.name(1, "client 1").name(9, "`read` in app::ask at src/main.rs:7:13");
        script.switch(0, 0, StopReason::None, 1).switch(0, 40 * MS, StopReason::Exit, 0);
        script.idle(1, 0, 40 * MS, IdleCause::Stop);
        script.whereabouts = (0..=4).map(|tick| note(tick * 10, tick > 0, 2, tick * 2)).collect();
        script
    }

    #[test]
    fn sleep_in_the_kernel_is_no_running_time_and_comes_first_with_its_place() {
        let analysis = Analysis::of(&client().log());
        let worker = &analysis.workers[0];
        assert_eq!((worker.running_ns, worker.idle_ns(Class::Blocked)), (8 * MS, 32 * MS));
        assert_eq!(analysis.verdict.worst, Some((Class::Blocked, 0.4)));
        let place = "`read` in app::ask at src/main.rs:7:13";
        assert_eq!(analysis.verdict.advice, Advice::Blocking("client".to_owned(), Some(place.to_owned())));
        let said = analysis.verdict.to_string();
        assert!(said.contains("40 % of worker time is blocked in the kernel"), "{said}");
        assert!(said.contains(&format!("`raddle::blocking` around {place}, which blocks client")), "{said}");
    }

    #[test]
    fn a_lock_of_std_is_no_call_for_blocking() {
        let mut script = client();
        script.name(10, "`futex` in app::put at src/main.rs:9:5");
        script.whereabouts.iter_mut().for_each(|note| note.place = 3);
        let said = Analysis::of(&script.log()).verdict.to_string();
        assert!(said.contains("`raddle::sync`") && !said.contains("`raddle::blocking`"), "{said}");
    }

    #[test]
    fn who_has_no_core_or_is_idle_is_not_blocked() {
        let blocked = |script: &Script| Analysis::of(&script.log()).idle_ns(Class::Blocked);
        let mut waits = client();
        waits.whereabouts.iter_mut().for_each(|note| note.kernel_wait_ns = note.ticks / 10 * 8);
        assert_eq!(blocked(&waits), 0, "it waits for a core");
        let mut stolen = client();
        stolen.whereabouts.iter_mut().for_each(|note| note.sleeps = false);
        assert_eq!(blocked(&stolen), 0, "the host took the processor");
        let mut idle = client();
        idle.switch(0, 2 * MS, StopReason::Receive, 0).idle(0, 2 * MS, 32 * MS, IdleCause::Mail);
        idle.switch(0, 32 * MS, StopReason::None, 1);
        assert_eq!(blocked(&idle), 6 * MS, "only at the end it was seen asleep in a slice");
    }
}
