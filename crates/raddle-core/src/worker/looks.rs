//! Owns: `Look`, by which a thief tells what of another worker's lists is worth a steal.
//! May use: `policy`.
//! Never: a list, a clock.
//!
//! A fresh runnable may be taken when it has waited longer than a steal costs. The thief knows its age without the
//! owner's clock: it remembers how far each list reached at its last look. And it remembers how far the owner had come,
//! and how many runnables had ended there, since four kinds of list are left alone:
//!
//! | the list | why |
//! |---|---|
//! | only grows | its owner is spawning, and has not shown yet how fast it drains |
//! | stands still | the kernel, or the machine below, may have stopped its owner: for a while |
//! | drains fast | little would be left |
//! | its runnables start only to wait | they wait for each other: apart they would be slower |
//!
//! The last is the line of processes that pass something on. A light process cannot come back once it has started, so
//! a line that was cut stays so, and each message is then a wake of another worker. How fast the list drains does not
//! tell it: on fresh stacks each start costs page faults, so that a list of 2000 takes milliseconds and the thief
//! thought it worth its while. What tells it is that those which its owner starts neither end nor run for long: the
//! owner comes to the next at once. (PERF: bench `line2000`, 500 and 2000 messages, two workers over one: 1.14 and 1.36
//! without this rule, when the process began with cut lines and so had half of its stacks on either worker.)
//!
//! *Sustained.* A list through which all pass at once, and which is nevertheless never empty, is no line: it is many
//! that each run for a moment, again and again, as threads do that yield, or that make a child each round and wait for
//! it. None of them ever waits for as long as a steal costs, and the list always looks as if it would be empty soon. So
//! when every look within 200 us has found some waiting, half are taken as a probe; `search` judges the catch by how
//! long it lasts, and doubles the pause before the next if that was short. A fresh list is probed only beside threads:
//! a light process that is woken goes back to its worker, so nothing would be gained for long. (PERF: bench
//! `granularity` with threads, two workers over one: 0.95 without, since 64 packets, each a thread that makes a child a
//! round, all stayed where they began. `flat` with processes: 1.06 of it where fresh lists were probed without
//! threads.)
//!
//! Considered instead: to take one or two as a probe, and more when they end (they stay, and with them two places in
//! which the line is cut); to follow who wakes whom, as the kernel's wake-affine balancing does (in time only when the
//! processes have started); to make a cut cheap by looking out before sleeping, as Go's spinning threads do (burns the
//! second core, which others may want).

use super::search::PROFIT_NS;
use crate::policy::STEAL_NS;

/// What a victim will have started by itself in this time is not worth a steal, ns.
const DRAIN_NS: u64 = 20 * STEAL_NS;
/// A victim that only spawns is let go on for so long, ns: then it may have stopped, and have shown how fast it drains.
const BURST_NS: u64 = 100 * STEAL_NS;
/// A list that was never empty for so long, though it flows, is sustained, ns.
const SUSTAINED_NS: u64 = 20 * STEAL_NS;
/// In a list that is sustained so many wait, at least, whenever one looks, beside the one that runs.
const SUSTAINED_LEFT: usize = 2;
/// A victim that has started nothing for so long is in a long slice, ns.
const STUCK_NS: u64 = 10 * STEAL_NS;
/// So many starts show what kind of list it is, if they come before that.
const SAMPLE: usize = 4;

/// What a list is like now.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// How far it reaches, and how far its owner and thieves have taken.
    pub reach: usize,
    /// See `reach`.
    pub passed: usize,
    /// How many the owner has taken, ever; and how many runnables have ended at it, ever.
    pub started: usize,
    /// See `started`.
    pub ended: u64,
}

impl Seen {
    /// By how much it is longer than it was. What was taken out of turn, and made it shorter, had been pushed just
    /// before.
    fn grown_since(&self, before: &Seen) -> usize {
        self.reach.saturating_sub(before.reach)
    }

    /// How many have left it at the front.
    fn passed_since(&self, before: &Seen) -> usize {
        self.passed.saturating_sub(before.passed)
    }

    /// How many wait.
    fn left(&self) -> usize {
        self.reach.saturating_sub(self.passed)
    }
}

/// What a thief saw of a list when it looked last.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    at_ns: u64,
    seen: Seen,
    /// The first of the looks that each saw it grow; 0 if this one did not.
    grows_since_ns: u64,
    /// Threads: the first of the looks that each saw some waiting, though some had passed; 0 if this one did not.
    flows_since_ns: u64,
    /// Threads: whether some had passed since the look before.
    flows: bool,
    /// How far a probe may go.
    probe: usize,
}

impl Look {
    /// How far threads that are ready have waited for long enough, if a list is as `seen` now and reached to `mark`
    /// when its owner last knocked.
    pub(super) fn threads(&mut self, now: u64, seen: Seen, mark: usize) -> usize {
        if now - self.at_ns < STEAL_NS {
            return mark;
        }
        let before = *self;
        *self = Look { at_ns: now, seen, ..Look::default() };
        self.flows = seen.passed > before.seen.passed;
        if self.flows && seen.left() >= SUSTAINED_LEFT {
            self.flows_since_ns = if before.flows_since_ns == 0 { now } else { before.flows_since_ns };
            self.probe = if now - self.flows_since_ns < SUSTAINED_NS { 0 } else { seen.reach };
        }
        before.seen.reach.max(mark)
    }

    /// Whether the owner of these threads runs threads: of what is fresh there, some may be, or belong to some.
    pub(super) fn flows(&self) -> bool {
        self.flows
    }

    /// How far the list reaches if it is sustained; else 0. Asked once, after a look in vain: the next probe needs a
    /// look of its own.
    pub(super) fn probe(&mut self) -> usize {
        std::mem::take(&mut self.probe)
    }

    /// How far what is fresh has waited for long enough and is worth a steal; 0 for nowhere.
    pub fn fresh(&mut self, now: u64, seen: Seen) -> usize {
        let passed_ns = now - self.at_ns;
        if passed_ns < STEAL_NS {
            return 0;
        }
        let before = *self;
        *self = Look { at_ns: now, seen, ..Look::default() };
        let (grown, taken) = (seen.grown_since(&before.seen), seen.passed_since(&before.seen));
        if grown > 0 {
            // In the middle of a burst of spawns, or just behind: nothing shows yet how long they will run.
            self.grows_since_ns = if before.grows_since_ns == 0 { now } else { before.grows_since_ns };
            self.probe = if self.is_refilled(&before, passed_ns) { seen.reach } else { 0 };
            if now - self.grows_since_ns < BURST_NS {
                return 0;
            }
        }
        if grown == 0 && taken < SAMPLE && passed_ns < STUCK_NS {
            *self = before; // from then on counts
            return 0;
        }
        let drains_ns = (seen.left() as u64).saturating_mul(passed_ns) / (taken as u64).max(1);
        let drains_fast = taken > 0 && drains_ns < DRAIN_NS;
        if drains_fast || self.shows_that_they_wait(&before, passed_ns) { 0 } else { before.seen.reach }
    }

    /// It has grown for a while now, and drains about as fast, but never ends.
    fn is_refilled(&self, before: &Look, passed_ns: u64) -> bool {
        let (grown, taken) = (self.seen.grown_since(&before.seen), self.seen.passed_since(&before.seen));
        self.at_ns - self.grows_since_ns >= SUSTAINED_NS
            && self.seen.left() >= SUSTAINED_LEFT
            && taken >= grown / 2
            && !self.shows_that_they_wait(before, passed_ns)
    }

    /// What the owner has started meanwhile has not run for long and, most of it, not ended. (What spawns more than it
    /// is itself waits for that, and not for its neighbours.)
    fn shows_that_they_wait(&self, before: &Look, passed_ns: u64) -> bool {
        let started = self.seen.started.saturating_sub(before.seen.started) as u64;
        let (ended, grown) =
            (self.seen.ended - before.seen.ended, self.seen.grown_since(&before.seen) as u64);
        started > 0 && passed_ns / started < PROFIT_NS && ended < started / 2 && grown < started / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGO: u64 = 1_000_000;

    /// A list of 1000, of which `started` had been started at the first look and those of `then` meanwhile.
    fn look_twice(after_ns: u64, then: Seen) -> usize {
        let mut look = Look::default();
        let first = Seen { reach: 1000, passed: 100, started: 100, ended: 7 };
        let spawning = look.fresh(AGO, first);
        assert_eq!(spawning, 0, "it has grown");
        look.fresh(AGO + after_ns, then)
    }

    fn started(count: usize, ended: u64) -> Seen {
        Seen { reach: 1000, passed: 100 + count, started: 100 + count, ended: 7 + ended }
    }

    #[test]
    fn what_ends_is_worth_a_steal_and_what_waits_is_not() {
        assert_eq!(look_twice(50_000, started(10, 9)), 1000);
        assert_eq!(look_twice(50_000, started(10, 1)), 0);
    }

    #[test]
    fn what_runs_for_long_is_worth_a_steal_though_it_waits_then() {
        assert_eq!(look_twice(500_000, started(10, 0)), 1000);
    }

    #[test]
    fn what_drains_at_once_is_left_alone() {
        assert_eq!(look_twice(50_000, started(500, 500)), 0);
    }

    #[test]
    fn a_standstill_is_a_long_slice_after_a_while() {
        assert_eq!(look_twice(50_000, started(0, 0)), 0);
        assert_eq!(look_twice(200_000, started(0, 0)), 1000);
    }

    #[test]
    fn parents_that_wait_for_their_children_are_worth_a_steal() {
        let mut look = Look::default();
        let at = |now: u64| Seen {
            reach: 10 * now as usize,
            passed: now as usize,
            started: now as usize,
            ended: 0,
        };
        let steps = (1..=12).map(|step| look.fresh(AGO + step * 100_000, at(step)));
        assert!(steps.last() > Some(0), "after a burst of a millisecond");
    }

    #[test]
    fn threads_that_never_wait_for_long_but_always_wait_are_worth_a_probe() {
        let mut look = Look::default();
        let at = |step: usize| Seen { reach: 1000 * step + 2, passed: 1000 * step, ..Seen::default() };
        let mut probes = (1..=20).map(|step| {
            let aged = look.threads(AGO + 100_000 * step as u64, at(step), 0);
            assert!(aged <= at(step).passed, "none has waited for long");
            look.probe()
        });
        assert_eq!(probes.position(|probe| probe > 0), Some(2), "after 200 us");
        look.threads(AGO + 2_100_000, Seen { reach: 30_000, passed: 29_999, ..Seen::default() }, 0);
        assert_eq!(look.probe(), 0, "of one that waits nothing is taken");
        look.threads(AGO + 2_200_000, at(40), 0);
        assert_eq!(look.probe(), 0, "and the time begins anew");
    }

    #[test]
    fn a_list_that_is_refilled_as_fast_as_it_drains_is_worth_a_probe() {
        let mut look = Look::default();
        let at = |step: u64| {
            let passed = 1000 * step as usize;
            Seen { reach: passed + 64, passed, started: passed, ended: 1000 * step }
        };
        let mut looks = (1..=20).map(|step| (look.fresh(AGO + 100_000 * step, at(step)), look.probe()));
        assert_eq!(looks.find(|found| *found != (0, 0)), Some((0, 3_064)), "after 200 us");
    }

    #[test]
    fn what_another_thief_has_taken_says_nothing_of_what_waits() {
        let stolen = Seen { reach: 1000, passed: 560, started: 110, ended: 16 };
        assert_eq!(look_twice(500_000, stolen), 1000);
    }

    #[test]
    fn many_that_nobody_has_looked_at_for_hours_are_worth_a_steal() {
        let mut look = Look::default();
        let seen = Seen { reach: 100_000_000, ..Seen::default() };
        assert_eq!(look.fresh(AGO, seen), 0, "it has grown");
        assert_eq!(look.fresh(AGO + 10_000_000_000_000, seen), 100_000_000);
    }

    #[test]
    fn few_starts_in_a_short_time_are_looked_at_again() {
        let mut look = Look::default();
        look.fresh(AGO, started(0, 0));
        assert_eq!(look.fresh(AGO + 20_000, started(2, 0)), 0);
        assert_eq!(look.fresh(AGO + 40_000, started(4, 0)), 0, "four have started, to wait");
        assert_eq!(look.fresh(AGO + 60_000, started(8, 4)), 1000, "the last four have ended");
    }
}
