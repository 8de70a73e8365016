//! Owns: the fate of promoted forks.
//! May use: `event`, `log`.
//! Never: forks that were not promoted: they are calls, and not recorded.

use crate::event::Event;
use crate::log::At;
use std::collections::HashMap;

/// The jobs of a trace of level `sync`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jobs {
    /// Forks that became jobs.
    pub promoted: u64,
    /// Jobs that another worker took.
    pub stolen: u64,
    /// Jobs that the promoting worker took while its flow waited.
    pub taken_here: u64,
    /// Jobs that their own flow took back, and called.
    pub had_back: u64,
    /// Jobs done by a thread of their own.
    pub done: u64,
    /// The total time from promotion until a worker took them, in nanoseconds.
    pub open_ns: u64,
}

pub(super) fn of(by_time: &[(u32, At)]) -> Jobs {
    let mut jobs = Jobs::default();
    // The worker and the time of each job's promotion; numbers are reused.
    let mut open: HashMap<u32, (u32, u64)> = HashMap::new();
    for (worker, at) in by_time {
        match at.event {
            Event::Promoted => {
                jobs.promoted += 1;
                open.insert(at.a, (*worker, at.ns));
            }
            Event::JobTaken => match open.remove(&at.a) {
                Some((by, since)) => {
                    *(if by == *worker { &mut jobs.taken_here } else { &mut jobs.stolen }) += 1;
                    jobs.open_ns = jobs.open_ns.saturating_add(at.ns.saturating_sub(since));
                }
                // Promoted before the trace begins, or outside.
                None => jobs.stolen += 1,
            },
            Event::JobBack => {
                jobs.had_back += 1;
                open.remove(&at.a);
            }
            Event::JobDone => jobs.done += 1,
            _ => (),
        }
    }
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Analysis;
    use crate::event::StopReason;
    use crate::log::tests::Script;

    #[test]
    fn each_job_comes_to_its_end_in_one_of_three_ways() {
        let mut script = Script::new(2, 1000);
        script.switch(0, 0, StopReason::None, 1);
        for (ns, job) in [(10, 7), (20, 8), (30, 9)] {
            script.put(0, ns, Event::Promoted, job, 0);
        }
        script.put(1, 110, Event::JobTaken, 7, 4).put(0, 120, Event::JobBack, 9, 0);
        script.put(0, 220, Event::JobTaken, 8, 5).put(0, 300, Event::JobDone, 8, 0);
        script.put(1, 310, Event::JobDone, 7, 0);
        let jobs = Analysis::of(&script.log()).jobs;
        let expected = Jobs { promoted: 3, stolen: 1, taken_here: 1, had_back: 1, done: 2, open_ns: 300 };
        assert_eq!(jobs, expected);
    }
}
