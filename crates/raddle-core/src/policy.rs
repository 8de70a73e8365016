//! Owns: the scheduler's policies, as values.
//! May use: nothing.
//! Never: a fork of the scheduler's code; a policy is asked at the few places where it makes a difference.
//!
//! | question | asked by | answers |
//! |---|---|---|
//! | how many task queues | spawn, wake of the movable, refill | one a worker, one a group, one shared |
//! | how is work balanced | surplus at a quantum, an idle worker | steal, share, fair, none |
//! | whom does a thief look at first | search | largest backlog, random, ring |
//! | which forks may a thief take | each fork that is asked for one | the oldest few, each |
//! | may a started movable one change workers | wake, surplus, steal | migration on, off |

use std::time::Duration;

/// How many task queues there are for what any worker may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queues {
    /// Each worker has its own (and an idle one may look into others').
    #[default]
    PerWorker,
    /// Each group of so many workers has one.
    PerGroup(usize),
    /// All workers have one.
    Shared,
}

/// Who moves work when some worker has too much and another too little.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balance {
    /// The idle one takes (work-stealing).
    #[default]
    Steal,
    /// The busy one gives, when it sees an idle one (work-sharing).
    Share,
    /// As `Steal`; and when nobody is idle, one runnable a tick moves from the longer to the shortest ready queue.
    Fair,
    /// Nobody: everything stays where it was spawned or placed.
    None,
}

/// What the processes of CSP are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Processes {
    /// Light: without thread-local storage of their own, so that they stay with the worker that started them.
    #[default]
    Light,
    /// Threads: they move to whoever is idle after they have started, too, and cost as much as a
    /// [`thread`](crate::thread).
    Full,
}

/// Whom a thief looks at first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Victim {
    /// The worker that published the largest backlog.
    #[default]
    Backlog,
    /// Any.
    Random,
    /// The next one after the last.
    Ring,
}

/// When a fork of a `join`, a `scope` or a `future` lies open to thieves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Futures {
    /// The oldest few of a computation do, at a bounded rate; the others are calls that nobody else sees.
    #[default]
    Lazy,
    /// Each, from the start (child stealing): for comparison.
    Child,
}

/// A runtime's policy. Made by the runtime's builder, which refuses contradictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// How many task queues.
    pub queues: Queues,
    /// Who moves work.
    pub balance: Balance,
    /// Whom a thief looks at first.
    pub victim: Victim,
    /// Whether a started runnable that may move does.
    pub migration: bool,
    /// When a fork lies open to thieves.
    pub futures: Futures,
    /// How often the balance `fair` acts, and the longest doze of an idle worker that watches busy ones.
    pub tick: Duration,
    /// How long an idle worker keeps looking before it sleeps.
    pub spin: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            queues: Queues::default(),
            balance: Balance::default(),
            victim: Victim::default(),
            migration: true,
            futures: Futures::default(),
            tick: Duration::from_millis(10),
            spin: Duration::ZERO,
        }
    }
}

impl Policy {
    pub(crate) fn steals(&self) -> bool {
        matches!(self.balance, Balance::Steal | Balance::Fair) && self.queues != Queues::Shared
    }

    pub(crate) fn shares(&self) -> bool {
        self.balance == Balance::Share
    }

    pub(crate) fn is_fair(&self) -> bool {
        self.balance == Balance::Fair
    }

    /// May something started come to run elsewhere?
    pub(crate) fn moves_started(&self) -> bool {
        self.migration && self.balance != Balance::None
    }

    /// Does movable work go through a queue of several workers?
    pub(crate) fn queues_shared(&self) -> bool {
        self.queues != Queues::PerWorker
    }

    /// Does what is spawned go to its spawner's own list?
    pub(crate) fn spawns_stay(&self) -> bool {
        !self.queues_shared() && !self.shares() && (self.migration || self.balance == Balance::None)
    }

    /// Is what is spawned dealt to the workers in turn?
    pub(crate) fn places_round_robin(&self) -> bool {
        !self.migration && self.balance != Balance::None
    }

    /// Does an idle worker have a reason to look at busy ones?
    pub(crate) fn looks(&self) -> bool {
        self.steals()
    }

    pub(crate) fn takes_from_other_groups(&self) -> bool {
        matches!(self.queues, Queues::PerGroup(_)) && self.steals()
    }

    pub(crate) fn tick_ns(&self) -> u64 {
        u64::try_from(self.tick.as_nanos()).unwrap_or(u64::MAX)
    }

    pub(crate) fn spin_ns(&self) -> u64 {
        u64::try_from(self.spin.as_nanos()).unwrap_or(u64::MAX)
    }

    /// How many queues `workers` need, and so how many workers share each.
    pub(crate) fn group_size(&self, workers: usize) -> usize {
        match self.queues {
            Queues::PerWorker | Queues::Shared => workers,
            Queues::PerGroup(size) => size.min(workers),
        }
    }
}
