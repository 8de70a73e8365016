//! Owns: the discrete-event model of a batch of independent processes, all spawned by one worker.
//! May use: the scheduler's own decisions (`raddle::Policy`, `raddle::Victim`, `raddle_core::decisions`).
//! Never: a decision of its own where the runtime has one; a clock, chance.
//!
//! | in the runtime | here |
//! |---|---|
//! | which victim a thief tries first | `Victim::first` |
//! | how much of a victim's list is worth a steal | `Look::fresh`, with what it would have seen |
//! | how much a busy worker gives, and how often | `Policy::surplus`, `QUANTUM_NS` |
//! | one searcher, which wakes the next when it has found work | the same, a wake later |
//! | timed sleep of one idle worker, from 25 us doubling to the tick | the same |
//!
//! Times are measured costs. Only one thief at a time can steal from a list; a shared queue gives one process at a
//! time; a thief pays for each victim that it tries in vain. The model leaves out caches, memory bandwidth, the kernel,
//! and interactions between processes. So it shows only where a policy stops scaling for its own reasons.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use raddle::Policy;
use raddle_core::decisions::{Look, QUANTUM_NS, Seen};

use super::Costs;

/// The watcher's first doze, as `crates/raddle-core/src/worker/sleep.rs` has it.
const FIRST_DOZE_NS: u64 = 25_000;

/// The simulated batch.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    pub count: usize,
    pub work_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The spawner spawns its next process.
    Spawn,
    /// A worker's process ends.
    Ends,
    /// A worker is awake and looks for work.
    Looks,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WorkerActivity {
    Busy,
    Dozes,
    Sleeps,
    Comes,
}

struct Worker {
    state: WorkerActivity,
    /// The waiting processes; and, as in `Seen`, how far the list reached, how far it was taken, and by whom.
    waiting: usize,
    reach: usize,
    passed: usize,
    started: usize,
    ended: u64,
    /// The length that was last published.
    published: (u64, usize),
    /// The time from which on a thief may use its list.
    list_free_ns: u64,
    /// What it knows of the others.
    looks: Vec<Look>,
    last: usize,
    doze_ns: u64,
    gave_ns: u64,
}

/// The workers and what they do.
pub struct Model<'a> {
    costs: &'a Costs,
    policy: Policy,
    /// Lengths are known only as of the last tick, and no worker is woken: each idle one looks at its own tick.
    ticks: bool,
    workers: Vec<Worker>,
    events: BinaryHeap<Reverse<(u64, usize, Event)>>,
    shared: usize,
    shared_free_ns: u64,
    to_spawn: usize,
    left: usize,
    work_ns: u64,
    random: u64,
}

impl<'a> Model<'a> {
    pub fn new(costs: &'a Costs, policy: Policy, ticks: bool, workers: usize) -> Self {
        let worker = |_| Worker {
            state: WorkerActivity::Sleeps,
            waiting: 0,
            reach: 0,
            passed: 0,
            started: 0,
            ended: 0,
            published: (0, 0),
            list_free_ns: 0,
            looks: vec![Look::default(); workers],
            last: 0,
            doze_ns: FIRST_DOZE_NS,
            gave_ns: 0,
        };
        Model {
            costs,
            policy,
            ticks,
            workers: (0..workers).map(worker).collect(),
            events: BinaryHeap::new(),
            shared: 0,
            shared_free_ns: 0,
            to_spawn: 0,
            left: 0,
            work_ns: 0,
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// How long the batch takes, in nanoseconds.
    pub fn run(mut self, batch: Batch) -> f64 {
        (self.to_spawn, self.left, self.work_ns) = (batch.count, batch.count, batch.work_ns);
        self.workers[0].state = WorkerActivity::Busy;
        // Far enough from zero that a worker never examined counts as examined long ago.
        let begun = 1_000_000_000;
        self.at(begun, 0, Event::Spawn);
        for worker in 1..self.workers.len() {
            self.workers[worker].state = WorkerActivity::Dozes;
            let (timed_sleep, tick) = (FIRST_DOZE_NS, self.tick_ns());
            let first =
                if self.ticks { tick * worker as u64 / self.workers.len() as u64 } else { timed_sleep };
            if self.ticks || worker == 1 {
                self.at(begun + first, worker, Event::Looks);
            } else {
                self.workers[worker].state = WorkerActivity::Sleeps;
            }
        }
        let mut now = begun;
        while self.left > 0 {
            let Some(Reverse((time, worker, event))) = self.events.pop() else { break };
            now = time;
            match event {
                Event::Spawn => self.spawn(now),
                Event::Ends => self.ends(now, worker),
                Event::Looks => self.looks(now, worker),
            }
        }
        (now - begun) as f64
    }

    fn at(&mut self, time: u64, worker: usize, event: Event) {
        self.events.push(Reverse((time, worker, event)));
    }

    fn tick_ns(&self) -> u64 {
        self.policy.tick.as_nanos() as u64
    }

    fn spawn(&mut self, now: u64) {
        let now = now + self.costs.spawn_ns as u64;
        if self.policy.queues_shared() {
            self.shared += 1;
            self.call_next(now);
        } else {
            let spawner = &mut self.workers[0];
            spawner.waiting += 1;
            spawner.reach += 1;
            self.gives(now, 0);
        }
        self.to_spawn -= 1;
        match self.to_spawn {
            0 => self.next(now, 0),
            _ => self.at(now, 0, Event::Spawn),
        }
    }

    fn ends(&mut self, now: u64, worker: usize) {
        self.left -= 1;
        self.workers[worker].ended += 1;
        self.gives(now, worker);
        self.next(now, worker);
    }

    /// Runs the next process of its own, or looks for work.
    fn next(&mut self, now: u64, index: usize) {
        if self.policy.queues_shared() && self.shared > 0 {
            self.shared -= 1;
            let from = now.max(self.shared_free_ns);
            self.shared_free_ns = from + self.costs.queue_ns as u64;
            let free = self.shared_free_ns;
            return self.runs(free, index);
        }
        let worker = &mut self.workers[index];
        if worker.waiting > 0 {
            worker.waiting -= 1;
            worker.passed += 1;
            worker.started += 1;
            return self.runs(now, index);
        }
        worker.state = WorkerActivity::Comes;
        worker.doze_ns = FIRST_DOZE_NS;
        self.looks(now, index);
    }

    fn runs(&mut self, now: u64, index: usize) {
        self.workers[index].state = WorkerActivity::Busy;
        let ends = now + self.work_ns + self.costs.turn_ns as u64;
        self.at(ends, index, Event::Ends);
    }

    /// An idle worker searches once, and then runs what it found, or sleeps with or without a time-out.
    fn looks(&mut self, now: u64, thief: usize) {
        if (self.policy.queues_shared() && self.shared > 0) || self.workers[thief].waiting > 0 {
            self.call_next(now);
            return self.next(now, thief);
        }
        let (mut now, found) = if self.policy.steals() { self.steals(now, thief) } else { (now, 0) };
        if found > 0 {
            self.workers[thief].waiting += found;
            self.workers[thief].reach += found;
            if !self.ticks {
                self.call_next(now);
            }
            return self.next(now, thief);
        }
        let somebody_dozes =
            self.workers.iter().enumerate().any(|(i, w)| i != thief && w.state == WorkerActivity::Dozes);
        let tick_ns = self.tick_ns();
        let worker = &mut self.workers[thief];
        if self.ticks {
            worker.state = WorkerActivity::Dozes;
            now += tick_ns;
        } else if somebody_dozes || !self.policy.steals() {
            worker.state = WorkerActivity::Sleeps;
            return;
        } else {
            worker.state = WorkerActivity::Dozes;
            now += worker.doze_ns + self.costs.wake_ns as u64;
            worker.doze_ns = (worker.doze_ns * 2).min(tick_ns);
        }
        self.at(now, thief, Event::Looks);
    }

    /// Tries victims in the policy's order; returns when it is done, and what it got.
    fn steals(&mut self, now: u64, thief: usize) -> (u64, usize) {
        let count = self.workers.len();
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let random = self.random;
        for worker in &mut self.workers {
            let tick = now / self.policy.tick.as_nanos() as u64;
            if worker.published.0 != tick {
                worker.published = (tick, worker.waiting);
            }
        }
        let known = |worker: usize| {
            let of = &self.workers[worker];
            if self.ticks { of.published.1 as u64 } else { of.waiting as u64 }
        };
        let first = self.policy.victim.first(thief, count, known, || random, self.workers[thief].last);
        self.workers[thief].last = first;
        let mut now = now;
        for step in 0..count {
            let victim = (first + step) % count;
            if victim == thief || (self.ticks && known_at_tick(&self.workers[victim]) == 0) {
                continue;
            }
            now += self.costs.steal_ns as u64 / 4;
            let got = self.takes(&mut now, thief, victim);
            if got > 0 {
                return (now, got);
            }
        }
        (now, 0)
    }

    fn takes(&mut self, now: &mut u64, thief: usize, victim: usize) -> usize {
        let Worker { reach, passed, started, ended, waiting, list_free_ns, .. } = self.workers[victim];
        let seen = Seen { reach, passed, started, ended };
        let worth = match self.ticks {
            true => waiting,
            false => self.workers[thief].looks[victim].fresh(*now, seen).saturating_sub(passed),
        };
        let got = worth.min(waiting).div_ceil(2);
        if got == 0 {
            return 0;
        }
        *now = (*now).max(list_free_ns) + self.costs.steal_ns as u64;
        let from = &mut self.workers[victim];
        (from.list_free_ns, from.waiting, from.passed) = (*now, waiting - got, passed + got);
        got
    }

    /// With work sharing, gives work to a sleeping worker once per quantum.
    fn gives(&mut self, now: u64, giver: usize) {
        let worker = &self.workers[giver];
        let given = Policy::surplus(worker.waiting);
        if !self.policy.shares() || given == 0 || now - worker.gave_ns < QUANTUM_NS {
            return;
        }
        let idle = |worker: &Worker| matches!(worker.state, WorkerActivity::Sleeps | WorkerActivity::Dozes);
        let Some(taker) = self.workers.iter().position(idle) else { return };
        let worker = &mut self.workers[giver];
        (worker.waiting, worker.passed, worker.gave_ns) =
            (worker.waiting - given, worker.passed + given, now);
        self.workers[taker].waiting += given;
        self.workers[taker].reach += given;
        self.workers[taker].state = WorkerActivity::Comes;
        self.at(now + self.costs.wake_ns as u64, taker, Event::Looks);
    }

    /// Wakes a sleeping worker to search, unless one is already searching or waking up.
    fn call_next(&mut self, now: u64) {
        if self.workers.iter().any(|worker| worker.state == WorkerActivity::Comes) {
            return;
        }
        if let Some(sleeper) = self.workers.iter().position(|worker| worker.state == WorkerActivity::Sleeps) {
            self.workers[sleeper].state = WorkerActivity::Comes;
            self.at(now + self.costs.wake_ns as u64, sleeper, Event::Looks);
        }
    }
}

fn known_at_tick(worker: &Worker) -> usize {
    worker.published.1
}
