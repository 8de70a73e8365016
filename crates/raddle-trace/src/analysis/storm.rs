//! Owns: wake storms: one event wakes many, and most of them wait for the next one at once.
//! May use: `event`, `log`.
//! Never: who wakes many of whom each has something to do.
//!
//! The Jargon File calls it a thundering herd: an event wakes every process that could handle it, one of them does, and
//! the others sleep again. In a trace it is a *burst*: one slice wakes [`HERD_MIN`] threads or more that wait at one
//! object, one right after the other. One of these was woken in vain if it waits there again after it ran for at most
//! [`VAIN_NS`], with nothing but waits for a lock between: what it takes to look at a condition. A burst is one of a
//! storm if half of it was woken in vain. Nor does a trace tell who found something to do within that time; to wake a
//! thread for so little is a loss, too.
//!
//! Only waits at condition variables and the like count ([`StopReason::Wait`]), or for one descriptor ([`StopReason::Descriptor`]). Who is let out of a barrier or a join
//! may go on; who is woken at a channel has been given something.

use super::labels;
use crate::event::{Event, StopReason, unpack};
use crate::log::{At, Log};
use std::collections::{BTreeMap, HashMap};

/// A wake storm.
#[derive(Clone, Debug, PartialEq)]
pub struct Storm {
    /// The label of those who are woken.
    pub label: String,
    /// Where in the program they wait, if that was recorded.
    pub site: Option<String>,
    /// The number of events that woke many.
    pub events: u64,
    /// How many they woke.
    pub woken: u64,
    /// How many of these waited again at once.
    pub in_vain: u64,
    /// The time that the wakes and those in vain took, in nanoseconds of all workers.
    pub cost_ns: u64,
    /// Their share of the workers' time.
    pub share: f64,
}

/// From so many on, one event wakes a herd.
const HERD_MIN: usize = 4;
/// Who runs for no longer than this has looked at a condition and found nothing to do.
const VAIN_NS: u64 = 2_000;
/// From so many events on it is a storm.
const EVENTS_MIN: u64 = 20;
/// Wakes of one burst follow each other at once.
const APART_NS: u64 = 10_000;

/// What is waited for: an object, or the place if that has no number.
type Key = (u32, u32);

/// Wakes that one slice made, one after the other, at one object.
#[derive(Default)]
struct Burst {
    key: Key,
    site: u32,
    /// The first of those who are woken.
    first: [u32; HERD_MIN],
    begin_ns: u64,
    end_ns: u64,
    woken: usize,
    in_vain: usize,
    vain_ns: u64,
}

/// A thread that a burst has woken.
struct Round {
    burst: usize,
    ran_ns: u64,
    since: u64,
}

/// All bursts, event by event.
#[derive(Default)]
struct Bursts {
    bursts: Vec<Burst>,
    /// Those that were no herds, for others: most wakes are of one.
    unused: Vec<usize>,
    /// Of each worker, the burst that its slice may go on with.
    open: HashMap<u32, usize>,
    running: HashMap<u32, u32>,
    sites: HashMap<u32, u32>,
    waits: HashMap<u32, (Key, u32)>,
    rounds: HashMap<u32, Round>,
    wakes: u64,
}

/// The storm that cost most, if most of all wakes belong to it.
pub(super) fn of(log: &Log, by_time: &[(u32, At)]) -> Option<Storm> {
    let mut bursts = Bursts::default();
    for (worker, at) in by_time.iter().filter(|(_, at)| at.ns >= log.begin_ns) {
        match at.event {
            Event::Site => {
                bursts.sites.insert(*worker, at.a);
            }
            Event::Switch => bursts.switch(*worker, at),
            event if event.wakes() => bursts.wake(*worker, at),
            _ => (),
        }
    }
    let mut storms: BTreeMap<Key, Storm> = BTreeMap::new();
    let is_storm = |burst: &&Burst| burst.woken >= HERD_MIN && burst.in_vain * 2 >= burst.woken;
    for burst in bursts.bursts.iter().filter(is_storm) {
        let storm = storms.entry(burst.key).or_insert_with(|| Storm {
            label: labels::split(&log.name(burst.first[0])).0.into_owned(),
            site: (burst.site != 0).then(|| log.string(burst.site)),
            events: 0,
            woken: 0,
            in_vain: 0,
            cost_ns: 0,
            share: 0.0,
        });
        storm.events += 1;
        storm.woken += burst.woken as u64;
        storm.in_vain += burst.in_vain as u64;
        let cost_ns = (burst.end_ns - burst.begin_ns).saturating_add(burst.vain_ns);
        storm.cost_ns = storm.cost_ns.saturating_add(cost_ns);
    }
    let mut worst = storms.into_values().max_by_key(|storm| storm.cost_ns)?;
    worst.share = worst.cost_ns as f64 / (log.wall_ns().max(1) as f64 * log.workers.len().max(1) as f64);
    (worst.events >= EVENTS_MIN && worst.woken * 2 >= bursts.wakes).then_some(worst)
}

impl Bursts {
    fn wake(&mut self, worker: u32, at: &At) {
        self.wakes += 1;
        let Some((key, site)) = self.waits.remove(&at.a) else { return self.close(worker) };
        let goes_on = self.open.get(&worker).is_some_and(|open| {
            let burst = &self.bursts[*open];
            burst.key == key && at.ns.saturating_sub(burst.end_ns) <= APART_NS
        });
        if !goes_on {
            self.close(worker);
        }
        let (bursts, unused) = (&mut self.bursts, &mut self.unused);
        let open = *self.open.entry(worker).or_insert_with(|| {
            let place = unused.pop().unwrap_or(bursts.len());
            bursts.resize_with(bursts.len().max(place + 1), Burst::default);
            bursts[place] = Burst { key, site, begin_ns: at.ns, ..Burst::default() };
            place
        });
        let burst = &mut self.bursts[open];
        if let Some(first) = burst.first.get_mut(burst.woken) {
            *first = at.a;
        }
        burst.woken += 1;
        burst.end_ns = at.ns.max(burst.end_ns);
        self.rounds.insert(at.a, Round { burst: open, ran_ns: 0, since: at.ns });
    }

    /// No more wakes belong to a worker's burst.
    fn close(&mut self, worker: u32) {
        let Some(open) = self.open.remove(&worker) else { return };
        let Burst { first, woken, .. } = self.bursts[open];
        if woken < HERD_MIN {
            for thread in &first[..woken] {
                if self.rounds.get(thread).is_some_and(|round| round.burst == open) {
                    self.rounds.remove(thread);
                }
            }
            self.unused.push(open);
        }
    }

    fn switch(&mut self, worker: u32, at: &At) {
        self.close(worker);
        let site = self.sites.remove(&worker).unwrap_or(0);
        let (number, object) = unpack(at.b);
        let reason = StopReason::of_number(number);
        if let Some(before) = self.running.insert(worker, at.a).filter(|before| *before != 0) {
            self.stop(before, at.ns, reason, (object, if object == 0 { site } else { 0 }), site);
        }
        if let Some(round) = self.rounds.get_mut(&at.a) {
            round.since = at.ns;
        }
    }

    /// A thread stops to run.
    fn stop(&mut self, thread: u32, ns: u64, reason: StopReason, key: Key, site: u32) {
        let waits = matches!(reason, StopReason::Wait | StopReason::Descriptor) && key != (0, 0);
        if waits {
            self.waits.insert(thread, (key, site));
        }
        let Some(mut round) = self.rounds.remove(&thread) else { return };
        round.ran_ns += ns.saturating_sub(round.since);
        let burst = &mut self.bursts[round.burst];
        if reason.is_ready() || reason == StopReason::Lock {
            self.rounds.insert(thread, round);
        } else if waits && burst.key == key && round.ran_ns <= VAIN_NS {
            burst.in_vain += 1;
            burst.vain_ns += round.ran_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::{Advice, Analysis, report};
    use crate::event::{Event, StopReason, pack};
    use crate::log::tests::Script;

    const CONDITION: u32 = 55;

    /// On worker 0, main makes an item each `every`, and wakes all `takers`, each of whom runs for `run` and waits for
    /// the same again, for this reason.
    fn herd(items: u32, takers: u32, every: u64, run: u64, reason: StopReason) -> Script {
        let mut script = Script::new(1, 0);
        for taker in 1..=takers {
            script.name(taker, &format!("taker {taker}"));
        }
        script.name(99, "src/main.rs:9:30").name(100, "main");
        let mut ns = 0;
        let turns = |script: &mut Script, ns: &mut u64, before: StopReason| {
            for taker in 1..=takers {
                let why = if taker == 1 { before } else { reason };
                if taker > 1 {
                    script.put(0, *ns, Event::Site, takers + 1, 0);
                }
                script.put(0, *ns, Event::Switch, taker, pack(why as u8, CONDITION));
                *ns += run;
            }
            script.put(0, *ns, Event::Site, takers + 1, 0);
            script.put(0, *ns, Event::Switch, 100, pack(reason as u8, CONDITION));
        };
        turns(&mut script, &mut ns, StopReason::None);
        for _ in 0..items {
            ns += every;
            for taker in 1..=takers {
                script.wake(0, ns, taker, 0);
                ns += 20;
            }
            turns(&mut script, &mut ns, StopReason::Yield);
        }
        script.switch(0, ns, StopReason::Exit, 0);
        script
    }

    #[test]
    fn who_wakes_all_for_one_makes_a_storm_at_their_line() {
        let log = herd(30, 16, 1_000, 100, StopReason::Wait).log();
        let analysis = Analysis::of(&log);
        let storm = analysis.verdict.storm.clone().expect("each wakes sixteen");
        assert_eq!((storm.label.as_str(), storm.site.as_deref()), ("taker", Some("src/main.rs:9:30")));
        assert_eq!((storm.events, storm.woken, storm.in_vain), (30, 480, 480));
        assert_eq!(storm.cost_ns, 30 * (15 * 20 + 16 * 100));
        assert_eq!(analysis.verdict.cause(), "wake storm: taker");
        let place = "src/main.rs:9:30".to_owned();
        assert_eq!(analysis.verdict.advice, Advice::WakeOne("taker".to_owned(), Some(place)));
        let said = report(&log, &analysis);
        let finding = "is lost in a wake storm: 30 times 16 of taker were woken at src/main.rs:9:30, and 100 % of \
                       them waited again at once; wake one of taker, or as many as can go on: `notify_one`";
        assert!(said.contains(finding), "{said}");
    }

    #[test]
    fn a_storm_beside_longer_work_is_mentioned_and_not_first() {
        let analysis = Analysis::of(&herd(30, 16, 10_000, 100, StopReason::Wait).log());
        let said = analysis.verdict.to_string();
        assert_eq!(analysis.verdict.advice, Advice::None, "{said}");
        assert!(said.contains("besides, 16 % was a wake storm: 30 times 16 of taker"), "{said}");
        // 27 in 100 of what ran.
        let quarter = Analysis::of(&herd(30, 16, 5_000, 100, StopReason::Wait).log());
        assert_eq!(quarter.verdict.cause(), "wake storm: taker", "{}", quarter.verdict);
        let analysis = Analysis::of(&herd(30, 16, 100_000, 100, StopReason::Wait).log());
        assert!(analysis.verdict.storm.is_none(), "2 % are not worth saying");
    }

    #[test]
    fn who_is_woken_and_has_something_to_do_is_in_no_storm() {
        let storm = |script: &Script| Analysis::of(&script.log()).verdict.storm;
        assert!(storm(&herd(30, 16, 1_000, 5_000, StopReason::Wait)).is_none(), "each runs for 5 us");
        assert!(storm(&herd(30, 16, 1_000, 100, StopReason::Barrier)).is_none(), "a barrier lets all go on");
        assert!(storm(&herd(30, 16, 1_000, 100, StopReason::Receive)).is_none(), "each was given something");
        assert!(storm(&herd(30, 3, 1_000, 100, StopReason::Wait)).is_none(), "three are no herd");
        assert!(storm(&herd(10, 16, 1_000, 100, StopReason::Wait)).is_none(), "ten times are no storm");
    }
}
