//! Owns: the program's own events: spans (those of teams, too), marks and counters, with their threads.
//! May use: `event`, `log`.
//! Never: a span without its beginning.

use crate::event::Event;
use crate::log::At;
use std::collections::{BTreeMap, HashMap};

/// A span of time that the program named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// From when, in nanoseconds of the trace.
    pub begin_ns: u64,
    /// Until when; the trace's last event if it did not end.
    pub end_ns: u64,
    /// The thread that was in it.
    pub thread: u32,
    /// The string of its name.
    pub name: u32,
}

/// A mark, or a value of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// When, in nanoseconds of the trace.
    pub ns: u64,
    /// The thread that recorded it.
    pub thread: u32,
    /// The string of its name.
    pub name: u32,
    /// Its value.
    pub value: u32,
}

/// The program's own events, each kind by time of its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserEvents {
    /// Spans.
    pub spans: Vec<Span>,
    /// Marks.
    pub marks: Vec<Point>,
    /// Values of counters.
    pub counters: Vec<Point>,
    /// Operations on channels, locks and the like, by the strings of their names: how many there were.
    pub operations: BTreeMap<u32, u64>,
}

pub(super) fn of(by_time: &[(u32, At)]) -> UserEvents {
    let mut user = UserEvents::default();
    let mut running: HashMap<u32, u32> = HashMap::new();
    // The indices of the spans that each thread has entered and not left.
    let mut open: HashMap<u32, Vec<usize>> = HashMap::new();
    for (worker, at) in by_time {
        let thread = running.get(worker).copied().unwrap_or(0);
        match at.event {
            Event::Switch => {
                running.insert(*worker, at.a);
            }
            Event::SpanBegin | Event::RegionBegin | Event::BarrierBegin | Event::TaskBegin => {
                open.entry(thread).or_default().push(user.spans.len());
                user.spans.push(Span { begin_ns: at.ns, end_ns: u64::MAX, thread, name: at.a });
            }
            Event::SpanEnd | Event::RegionEnd | Event::BarrierEnd | Event::TaskEnd => {
                let open = open.entry(thread).or_default();
                // Guards may be dropped in any order.
                if let Some(place) = open.iter().rposition(|span| user.spans[*span].name == at.a) {
                    user.spans[open.remove(place)].end_ns = at.ns;
                }
            }
            Event::Mark => user.marks.push(Point { ns: at.ns, thread, name: at.a, value: at.b }),
            Event::Counter => user.counters.push(Point { ns: at.ns, thread, name: at.a, value: at.b }),
            Event::Operation => *user.operations.entry(at.a).or_default() += 1,
            _ => (),
        }
    }
    let end = by_time.last().map_or(0, |(_, at)| at.ns);
    user.spans.iter_mut().filter(|span| span.end_ns == u64::MAX).for_each(|span| span.end_ns = end);
    user
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Analysis;
    use crate::event::StopReason;
    use crate::log::tests::Script;

    #[test]
    fn spans_belong_to_threads_wherever_those_run() {
        let mut script = Script::new(2, 1000);
        script.switch(0, 0, StopReason::None, 1).put(0, 10, Event::SpanBegin, 7, 0);
        script.switch(0, 20, StopReason::Yield, 2).put(0, 30, Event::SpanBegin, 7, 0);
        // Thread 1 goes on elsewhere; thread 2 never leaves its span.
        script.switch(1, 40, StopReason::None, 1).put(1, 50, Event::Mark, 8, 3).put(
            1,
            60,
            Event::SpanEnd,
            7,
            0,
        );
        script.put(1, 70, Event::SpanEnd, 9, 0).switch(1, 90, StopReason::Exit, 0);
        let user = Analysis::of(&script.log()).user;
        let span = |begin_ns, end_ns, thread| Span { begin_ns, end_ns, thread, name: 7 };
        assert_eq!(user.spans, [span(10, 60, 1), span(30, 90, 2)]);
        assert_eq!(user.marks, [Point { ns: 50, thread: 1, name: 8, value: 3 }]);
    }
}
