//! Owns: what made each thread ready: a wake, a spawn or its own yield; and what ended each idle time.
//! May use: `event`, `log`.
//! Never: what made a thread ready for an earlier run.

use super::labels;
use super::timeline::WorkerTime;
use crate::event::{Event, StopReason, unpack};
use crate::log::{At, Log, OUTSIDE};
use std::collections::{BTreeMap, HashMap};

/// What ended an idle time: what made ready the thread that ran after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EndedBy {
    /// The end of the trace, or something that was not recorded.
    #[default]
    Unknown,
    /// This thread woke it meanwhile.
    Wake(u32),
    /// This thread spawned it meanwhile.
    Spawn(u32),
    /// An OS thread that is not a worker made it ready meanwhile: the string of its name, 0 if it has none.
    Outside(u32),
    /// A timer woke it meanwhile, or the scheduler.
    Timer,
    /// Nothing: it had been ready all the time.
    Ready,
}

/// How a thread became ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Woken,
    Spawned,
    /// It yielded, and was still ready.
    Yielded,
}

/// A thread became ready.
#[derive(Clone, Copy, Debug)]
pub(super) struct Readied {
    pub(super) ns: u64,
    /// On this worker, or [`OUTSIDE`].
    pub(super) by: u32,
    pub(super) way: Way,
    /// The thread that ran there, 0 if none did; of `OUTSIDE`, the string of the OS thread's name.
    who: u32,
    /// When it ran for that.
    ran_ns: u64,
}

impl Readied {
    /// What ended an idle time that began at `begin`, and after which the thread ran that this made ready.
    pub(super) fn ended(&self, begin: u64) -> EndedBy {
        match (self.way, self.who) {
            _ if self.ns <= begin => EndedBy::Ready,
            (Way::Yielded, _) => EndedBy::Ready,
            (_, who) if self.by == OUTSIDE => EndedBy::Outside(who),
            (_, 0) => EndedBy::Timer,
            (Way::Woken, who) => EndedBy::Wake(who),
            (Way::Spawned, who) => EndedBy::Spawn(who),
        }
    }
}

/// Of each thread, when it became ready, by time.
#[derive(Default)]
pub(super) struct ReadiedThreads(HashMap<u32, Vec<Readied>>);

impl ReadiedThreads {
    pub(super) fn of(by_time: &[(u32, At)]) -> ReadiedThreads {
        let mut all = ReadiedThreads::default();
        let mut running: HashMap<u32, u32> = HashMap::new();
        for (worker, at) in by_time {
            match at.event {
                Event::Switch => {
                    let yielded = StopReason::of_number(unpack(at.b).0).is_ready();
                    let before = running.insert(*worker, at.a).filter(|before| *before != 0 && yielded);
                    before
                        .into_iter()
                        .for_each(|before| all.add(before, at.ns, *worker, Way::Yielded, before));
                    if let Some(last) = all.0.get_mut(&at.a).and_then(|of| of.last_mut()) {
                        last.ran_ns = last.ran_ns.min(at.ns);
                    }
                }
                event if event.makes_ready() => {
                    let way = if event.wakes() { Way::Woken } else { Way::Spawned };
                    let outside = event.is_outside().then(|| unpack(at.b).1);
                    let who = outside.unwrap_or_else(|| running.get(worker).copied().unwrap_or(0));
                    all.add(at.a, at.ns, *worker, way, who);
                }
                _ => (),
            }
        }
        all
    }

    fn add(&mut self, thread: u32, ns: u64, by: u32, way: Way, who: u32) {
        self.0.entry(thread).or_default().push(Readied { ns, by, way, who, ran_ns: u64::MAX });
    }

    /// What made a thread ready that runs from `ns` on, if that was recorded.
    pub(super) fn before(&self, thread: u32, ns: u64) -> Option<Readied> {
        let of = self.0.get(&thread)?;
        let place = of.partition_point(|readied| readied.ns <= ns);
        of.get(place.checked_sub(1)?).copied().filter(|last| last.ran_ns >= ns)
    }
}

/// The idle time of all workers by what ended it, in words, the longest first.
pub(super) fn totals(log: &Log, workers: &[WorkerTime]) -> Vec<(String, u64)> {
    let mut by_end: HashMap<EndedBy, u64> = HashMap::new();
    for gap in workers.iter().flat_map(|worker| &worker.gaps) {
        *by_end.entry(gap.ended_by).or_default() += gap.ns();
    }
    let mut totals: BTreeMap<String, u64> = BTreeMap::new();
    for (ended, ns) in by_end {
        let label = |thread: u32| labels::split(&log.name(thread)).0.into_owned();
        let words = match ended {
            EndedBy::Unknown => "the end of the trace, or what is not recorded at this level".to_owned(),
            EndedBy::Wake(thread) => format!("a wake by {}", label(thread)),
            EndedBy::Spawn(thread) => format!("a spawn by {}", label(thread)),
            EndedBy::Outside(0) => "an OS thread that is not a worker".to_owned(),
            EndedBy::Outside(name) => format!("OS thread {}", labels::split(&log.string(name)).0),
            EndedBy::Timer => "a timer, or the scheduler".to_owned(),
            EndedBy::Ready => "nothing: a thread had been ready elsewhere all the time".to_owned(),
        };
        *totals.entry(words).or_default() += ns;
    }
    let mut totals: Vec<(String, u64)> = totals.into_iter().collect();
    totals.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    totals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Analysis, Class};
    use crate::event::{IdleCause, pack};
    use crate::log::tests::Script;

    fn gap_of(script: &Script, worker: usize) -> (EndedBy, Vec<(Class, u64)>) {
        let analysis = Analysis::of(&script.log());
        let gap = &analysis.workers[worker].gaps[0];
        (gap.ended_by, gap.parts.clone())
    }

    /// The consumer's worker steals it back from where the producer has woken it.
    #[test]
    fn a_consumer_that_is_stolen_has_waited_for_its_producer() {
        let mut script = Script::new(2, 1000);
        script.switch(0, 0, StopReason::None, 1).switch(1, 0, StopReason::None, 2);
        script.switch(1, 10, StopReason::Receive, 0).wake(0, 800, 2, 0);
        script.put(1, 10, Event::IdleBegin, 0, 0).put(1, 840, Event::Steal, 1, 0);
        script.put(1, 850, Event::IdleEnd, IdleCause::Stole as u32, 0).switch(1, 860, StopReason::None, 2);
        let expected = (EndedBy::Wake(1), vec![(Class::Starved, 790), (Class::HandOff, 50)]);
        assert_eq!(gap_of(&script, 1), expected);
    }

    #[test]
    fn what_was_ready_all_the_time_is_a_slow_steal_as_long_as_it_could_be_stolen() {
        let mut script = Script::new(2, 1000);
        script.put(0, 5, Event::Spawn, 2, pack(0, 0)).switch(0, 0, StopReason::None, 1);
        script.put(1, 10, Event::IdleBegin, 0, 0).put(1, 90, Event::Steal, 1, 0);
        script.put(1, 100, Event::IdleEnd, IdleCause::Stole as u32, 0).switch(1, 100, StopReason::None, 2);
        // Before its first event, the worker's OS thread had not started.
        assert_eq!(gap_of(&script, 1), (EndedBy::Spawn(1), vec![(Class::Starved, 5), (Class::Stealing, 95)]));
        // A second piece waits while the first runs, and is taken later.
        script.put(0, 150, Event::Spawn, 3, pack(0, 0)).switch(1, 200, StopReason::Exit, 0);
        script.put(1, 200, Event::IdleBegin, 0, 0).put(1, 280, Event::Steal, 1, 0);
        script.put(1, 290, Event::IdleEnd, IdleCause::Stole as u32, 0).switch(1, 300, StopReason::None, 3);
        let analysis = Analysis::of(&script.log());
        let gap = &analysis.workers[1].gaps[1];
        assert_eq!((gap.ended_by, &gap.parts[..]), (EndedBy::Ready, &[(Class::Stealing, 90)][..]));
    }

    /// On worker 0 a producer of 100 and a consumer of 10 take turns; the consumer is ready from 20 of each turn on.
    #[test]
    fn a_consumer_in_the_queue_of_its_producer_is_worth_no_more_than_it_runs() {
        let mut script = Script::new(2, 2000);
        script.put(1, 0, Event::IdleBegin, 0, 0);
        for turn in 0..10 {
            let begin = turn * 110;
            script.switch(0, begin, StopReason::Receive, 1).wake(0, begin + 20, 2, 0);
            script.wake(0, begin + 109, 1, 0).switch(0, begin + 100, StopReason::Send, 2);
        }
        script.switch(0, 1100, StopReason::Receive, 1).wake(0, 1120, 2, 0);
        script.put(1, 1150, Event::Steal, 1, 0).put(1, 1150, Event::IdleEnd, IdleCause::Stole as u32, 0);
        script.switch(1, 1160, StopReason::None, 2).switch(1, 1170, StopReason::Receive, 0);
        let (ended, parts) = gap_of(&script, 1);
        let sum = |class| parts.iter().filter(|(c, _)| *c == class).map(|(_, ns)| ns).sum::<u64>();
        // The consumer could have run ten times 10 elsewhere, and the producer one earlier each time.
        assert_eq!((ended, sum(Class::Stealing), sum(Class::HandOff)), (EndedBy::Wake(1), 110, 30));
        assert_eq!(sum(Class::Starved), 1150 - 110 - 30);
    }

    #[test]
    fn others_that_were_ready_meanwhile_are_no_steal_of_what_was_waited_for() {
        let mut script = Script::new(2, 1000);
        script.switch(0, 0, StopReason::None, 1).switch(1, 0, StopReason::None, 2);
        script.switch(1, 10, StopReason::Receive, 0).put(1, 10, Event::IdleBegin, 0, 0);
        // From 100 to 200 a bystander waits for its turn on the other worker.
        script.put(0, 100, Event::Spawn, 3, pack(0, 0)).switch(0, 200, StopReason::Park, 3);
        script.wake(0, 800, 2, 1).put(1, 850, Event::IdleEnd, IdleCause::Mail as u32, 0);
        script.switch(1, 850, StopReason::None, 2);
        let parts =
            [(Class::Starved, 90), (Class::Misplaced, 100), (Class::Starved, 600), (Class::HandOff, 50)];
        assert_eq!(gap_of(&script, 1), (EndedBy::Wake(3), parts.to_vec()));
    }

    #[test]
    fn a_wake_for_an_earlier_run_explains_nothing() {
        let mut script = Script::new(2, 1000);
        script.wake(0, 10, 2, 1).switch(1, 20, StopReason::None, 2).switch(1, 30, StopReason::Sleep, 0);
        script.switch(0, 0, StopReason::None, 1);
        script.idle(1, 30, 500, IdleCause::Own).switch(1, 510, StopReason::None, 2);
        let analysis = Analysis::of(&script.log());
        let gap = &analysis.workers[1].gaps[1];
        assert_eq!((gap.ended_by, &gap.parts[..]), (EndedBy::Unknown, &[(Class::Starved, 470)][..]));
    }

    #[test]
    fn idle_times_are_added_up_by_the_label_that_ended_them() {
        let mut script = Script::new(2, 1000);
        script.name(1, "source 1").name(2, "sink").switch(0, 0, StopReason::None, 1);
        for begin in [0, 400] {
            script.idle(1, begin, begin + 200, IdleCause::Mail).wake(0, begin + 150, 2, 1);
            script.switch(1, begin + 200, StopReason::None, 2).switch(1, begin + 400, StopReason::Receive, 0);
        }
        script.idle(1, 800, 1000, IdleCause::Stop);
        let log = script.log();
        let totals = totals(&log, &Analysis::of(&log).workers);
        let expected =
            [("a wake by source", 400), ("the end of the trace, or what is not recorded at this level", 200)];
        assert_eq!(totals, expected.map(|(what, ns)| (what.to_owned(), ns)));
    }
}
