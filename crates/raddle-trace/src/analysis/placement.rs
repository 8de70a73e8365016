//! Owns: where threads may run, and which of them waited while a worker was idle.
//! May use: `event`, `log`.
//! Never: a guess whether a thread was placed, where the trace does not say.

use super::idle::Class;
use super::labels;
use super::path::{self, Cause, SliceId, Threads};
use super::timeline::WorkerTime;
use crate::event::{Event, Freedom, unpack};
use crate::log::Log;
use std::collections::HashMap;

/// How the program distributed the threads that it placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PinnedLoad {
    /// Each worker has about the same number.
    Evenly,
    /// Some workers have more than others, of this label above all.
    Unevenly(String),
}

/// Which threads waited while a worker was idle, for the most part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WaitedBeside {
    /// Those that the program has placed.
    Placed(PinnedLoad),
    /// Those that stay where they have begun; or it was not recorded.
    Light,
    /// Those that may move at any time.
    Movable,
}

/// The placement of each thread when it was spawned.
pub(super) struct Placements {
    /// Its worker, if it has one, and whether it may leave that.
    spawned: HashMap<u32, (Option<usize>, Freedom)>,
}

impl Placements {
    pub(super) fn of(log: &Log) -> Placements {
        let mut spawned = HashMap::new();
        let events = log.workers.iter().chain([&log.outside]).flat_map(|worker| &worker.events);
        for at in events.filter(|at| matches!(at.event, Event::Spawn | Event::SpawnOutside)) {
            let (target, low) = unpack(at.b);
            let target = (target != u8::MAX).then_some(usize::from(target));
            let freedom = match at.event {
                Event::Spawn => Freedom::of_number(low),
                // Spawned from outside: any worker, unless placed.
                _ if target.is_some() => Freedom::Placed,
                _ => Freedom::Unsaid,
            };
            spawned.insert(at.a, (target, freedom));
        }
        Placements { spawned }
    }

    pub(super) fn freedom(&self, thread: u32) -> Freedom {
        self.spawned.get(&thread).map_or(Freedom::Unsaid, |made| made.1)
    }

    /// The worker on which the program placed a thread, if it did.
    pub(super) fn home(&self, thread: u32) -> Option<usize> {
        self.spawned.get(&thread).filter(|made| made.1 == Freedom::Placed).and_then(|made| made.0)
    }

    /// Looks at the time that threads waited while a worker was idle, and says what could have moved most of it.
    pub(super) fn waited_while_idle(&self, log: &Log, workers: &[WorkerTime]) -> WaitedBeside {
        let (idle, threads) = (IdleSum::of(workers), Threads::of(log, workers));
        // Many long waits beside many idle workers do not fit into 64 bits.
        let mut by_thread = HashMap::<u32, u128>::new();
        for (place, worker) in workers.iter().enumerate() {
            for (at, slice) in worker.slices.iter().enumerate() {
                let since = ready_ns(&threads, workers, (place, at));
                *by_thread.entry(slice.thread).or_default() +=
                    u128::from(idle.between(since, slice.begin_ns));
            }
        }
        let sum_of = |wanted: &dyn Fn(u32) -> bool| -> u128 {
            by_thread.iter().filter(|(thread, _)| wanted(**thread)).map(|(_, waited)| waited).sum()
        };
        let is_placed = |thread: u32| self.home(thread).is_some();
        let (all, placed) = (sum_of(&|_| true), sum_of(&is_placed));
        let movable = sum_of(&|thread| self.freedom(thread) == Freedom::Always);
        let mut by_label: HashMap<String, u128> = HashMap::new();
        for (thread, waited) in by_thread.iter().filter(|(thread, _)| is_placed(**thread)) {
            *by_label.entry(labels::split(&log.name(*thread)).0.into_owned()).or_default() += waited;
        }
        let most = by_label.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)));
        match most.filter(|_| placed > all - placed) {
            Some((label, _)) if self.is_even(log, &label, workers.len()) => {
                WaitedBeside::Placed(PinnedLoad::Evenly)
            }
            Some((label, _)) => WaitedBeside::Placed(PinnedLoad::Unevenly(label)),
            None if movable > all - movable => WaitedBeside::Movable,
            None => WaitedBeside::Light,
        }
    }

    /// Whether the program placed about as many threads of a label on each worker: none has more than a quarter above
    /// its share.
    fn is_even(&self, log: &Log, label: &str, workers: usize) -> bool {
        let mut counts = vec![0_usize; workers.max(1)];
        for (thread, _) in self.spawned.iter().filter(|(_, made)| made.1 == Freedom::Placed) {
            if let Some(count) = self.home(*thread).and_then(|home| counts.get_mut(home))
                && labels::split(&log.name(*thread)).0 == label
            {
                *count += 1;
            }
        }
        let (most, all) = (counts.iter().max().copied().unwrap_or(0), counts.iter().sum::<usize>());
        most * 4 <= all.div_ceil(workers.max(1)) * 5
    }
}

/// The time from which on a slice could have begun.
fn ready_ns(threads: &Threads, workers: &[WorkerTime], run: SliceId) -> u64 {
    let slice = &workers[run.0].slices[run.1];
    let ended = |own: SliceId| workers[own.0].slices[own.1].end_ns;
    let since = match path::cause(threads, workers, run) {
        Some(Cause::Woken(ns, _) | Cause::Unknown(ns)) => ns,
        Some(Cause::Outside(ns, _, own)) => own.map_or(ns, |own| ns.max(ended(own))),
        Some(Cause::Own(own, _)) if workers[own.0].slices[own.1].stopped.is_ready() => ended(own),
        Some(Cause::Own(_, woken)) => woken.unwrap_or(slice.begin_ns),
        None => slice.begin_ns,
    };
    since.min(slice.begin_ns)
}

/// The total idle time of all workers while threads waited elsewhere, up to each moment.
struct IdleSum {
    /// The time, how many were idle from then on, and the total before.
    steps: Vec<(u64, u64, u64)>,
}

impl IdleSum {
    fn of(workers: &[WorkerTime]) -> IdleSum {
        let mut edges: Vec<(u64, i64)> = Vec::new();
        for gap in workers.iter().flat_map(|worker| &worker.gaps) {
            let mut ns = gap.begin_ns;
            for (class, length) in &gap.parts {
                if *class == Class::Misplaced {
                    edges.extend([(ns, 1), (ns + length, -1)]);
                }
                ns += length;
            }
        }
        edges.sort_unstable();
        let (mut steps, mut since, mut idle, mut sum) = (vec![(0, 0, 0)], 0, 0_u64, 0);
        for (ns, step) in edges {
            sum += idle * (ns - since);
            (since, idle) = (ns, idle.saturating_add_signed(step));
            steps.push((ns, idle, sum));
        }
        IdleSum { steps }
    }

    fn until(&self, ns: u64) -> u64 {
        let place = self.steps.partition_point(|step| step.0 <= ns).saturating_sub(1);
        let (since, idle, sum) = self.steps[place];
        sum + idle * (ns - since)
    }

    fn between(&self, from: u64, until: u64) -> u64 {
        self.until(until) - self.until(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Advice, Analysis};
    use crate::event::{IdleCause, StopReason, pack};
    use crate::log::tests::Script;

    /// Four threads of 20 us wait for their turns on worker 0, and worker 1 has nothing to do.
    fn beside_an_idle_worker(freedom: Freedom) -> Log {
        beside_an_idle_worker_of(freedom, None)
    }

    /// The same with these settings of the runtime.
    fn beside_an_idle_worker_of(freedom: Freedom, policy: Option<&'static str>) -> Log {
        let mut script = Script::new(2, 80_000);
        script.about.extend(policy.map(|policy| ("policy", policy)));
        for thread in 1..=4_u32 {
            script.name(thread, &format!("item {thread}"));
            script.put(0, 0, Event::Spawn, thread, pack(0, freedom as u32));
            let stopped = if thread == 1 { StopReason::None } else { StopReason::Exit };
            script.switch(0, u64::from(thread - 1) * 20_000, stopped, thread);
        }
        script.switch(0, 80_000, StopReason::Exit, 0).idle(1, 0, 80_000, IdleCause::Stop);
        script.log()
    }

    #[test]
    fn what_the_program_has_placed_is_advised_to_be_spread_by_the_program() {
        let of = |freedom| Analysis::of(&beside_an_idle_worker(freedom));
        let placed = of(Freedom::Placed);
        assert_eq!(placed.verdict.advice, Advice::Spread("item".to_owned()));
        assert!(placed.verdict.to_string().contains("`spawn_on`"), "{}", placed.verdict);
        for freedom in [Freedom::Unsaid, Freedom::UntilBegun, Freedom::Always] {
            assert_eq!(of(freedom).verdict.advice, Advice::Migrate, "{freedom:?}");
        }
    }

    /// What may move already is not told to be movable, and nobody is told to let move what moves already.
    #[test]
    fn threads_are_not_told_to_become_threads() {
        let moves = "Policy { migration: true, balance: Steal }";
        let of = |freedom, policy| Analysis::of(&beside_an_idle_worker_of(freedom, Some(policy))).verdict;
        for light in [Freedom::UntilBegun, Freedom::Unsaid] {
            let verdict = of(light, moves);
            assert_eq!(verdict.advice, Advice::MakeMovable, "{light:?}");
            assert!(verdict.to_string().contains("RADDLE_PROCESSES=full"), "{verdict}");
        }
        let movable = of(Freedom::Always, moves);
        assert_eq!(movable.advice, Advice::Coarser);
        assert!(!movable.to_string().contains("RADDLE_PROCESSES"), "{movable}");
        assert_eq!(of(Freedom::Placed, moves).advice, Advice::Spread("item".to_owned()));
        for stays in ["migration: false, balance: Steal", "migration: true, balance: None"] {
            for freedom in [Freedom::UntilBegun, Freedom::Always] {
                assert_eq!(of(freedom, stays).advice, Advice::Migrate, "{freedom:?} with {stays}");
            }
        }
    }

    /// Items that are placed on worker 0 let main go on in between, which worker 1 steals each time.
    #[test]
    fn who_steals_something_else_meanwhile_has_not_been_stealing_what_is_placed() {
        let of = |freedom: Freedom| {
            let mut script = Script::new(2, 0);
            script.name(99, "main").switch(0, 0, StopReason::None, 99).put(1, 0, Event::IdleBegin, 0, 0);
            for thread in 1..=10_u32 {
                script.name(thread, &format!("item {thread}"));
                script.put(0, 0, Event::Spawn, thread, pack(0, freedom as u32));
            }
            script.switch(0, 10, StopReason::Join, 1);
            for item in 1..=10_u32 {
                let end = u64::from(item) * 20_000;
                let next = (item + 1) % 11;
                script.wake(0, end - 10, 99, 0).switch(0, end, StopReason::Exit, next);
                script.put(1, end + 20, Event::Steal, 1, 0);
                script.put(1, end + 30, Event::IdleEnd, IdleCause::Stole as u32, 0);
                script.switch(1, end + 30, StopReason::None, 99).switch(1, end + 40, StopReason::Join, 0);
                script.put(1, end + 40, Event::IdleBegin, 0, 0);
            }
            Analysis::of(&script.log())
        };
        let placed = of(Freedom::Placed);
        assert!(placed.idle_ns(Class::Misplaced) > 150_000, "{placed:?}");
        assert_eq!(placed.verdict.advice, Advice::Spread("item".to_owned()));
        let movable = of(Freedom::Always);
        assert!(movable.idle_ns(Class::Stealing) > 150_000, "{movable:?}");
    }

    #[test]
    fn time_is_misplaced_as_often_as_workers_are_idle() {
        let mut script = Script::new(3, 100);
        script.put(0, 0, Event::Spawn, 1, 0).put(0, 0, Event::Spawn, 2, 0).put(0, 0, Event::Spawn, 3, 0);
        script.put(0, 0, Event::Spawn, 4, 0).switch(0, 0, StopReason::None, 1);
        script.switch(0, 100, StopReason::Exit, 0);
        script.idle(1, 0, 100, IdleCause::Stop).idle(2, 0, 60, IdleCause::Mail);
        script.switch(2, 60, StopReason::None, 5);
        let idle = IdleSum::of(&Analysis::of(&script.log()).workers);
        assert_eq!((idle.between(0, 60), idle.between(50, 70), idle.between(70, 100)), (120, 30, 30));
    }

    /// Such a file could be damaged or forged: it claims a third of a year.
    #[test]
    fn waits_may_add_up_to_more_than_64_bits() {
        let end = 1 << 53;
        let mut script = Script::new(11, end);
        for thread in 1..=300_u32 {
            script.put(0, 0, Event::Spawn, thread, pack(0, Freedom::Placed as u32));
        }
        for thread in 1..=300_u32 {
            let stopped = if thread == 1 { StopReason::None } else { StopReason::Exit };
            script.switch(0, end - 301 + u64::from(thread), stopped, thread);
        }
        script.switch(0, end, StopReason::Exit, 0);
        (1..11).for_each(|worker| {
            script.idle(worker, 0, end, IdleCause::Stop);
        });
        let log = script.log();
        let workers = Analysis::of(&log).workers;
        assert_eq!(
            Placements::of(&log).waited_while_idle(&log, &workers),
            WaitedBeside::Placed(PinnedLoad::Unevenly("thread".to_owned()))
        );
    }
}
