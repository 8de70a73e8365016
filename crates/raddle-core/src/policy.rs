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
//!
//! What is `pub` here beside the settings are decisions as functions of what a worker knows. The workers ask them, and
//! so do the simulated workers of `raddle lab simulate`: what is simulated is then the policy that runs.

use std::time::Duration;

/// At most so many runnables move at once: their new worker is to have work, not to be where all of it waits.
pub(crate) const CHAIN_MAX: usize = 64;
/// A steal and the wake before it cost about so much, ns: what has waited for less is left to its owner.
pub const STEAL_NS: u64 = 10_000;
/// How long a batch may run before what is fresh has its turn, ns; surplus is given away this often.
pub const QUANTUM_NS: u64 = 50_000;

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

/// In which thread-local storage processes run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Processes {
    /// That of the worker which starts them, and with which they stay.
    Light,
    /// One of their own, so that they may move to whoever is idle after they have started, too.
    #[default]
    Full,
}

/// Hands every victim policy to the macro named, after what else that is to get. A row is the variant, its word in
/// `RADDLE_VICTIM`, whom it chooses, and the counter that it alone moves; settings, help, counters and tests derive
/// from it.
macro_rules! for_each_victim {
    ($macro:ident $($more:tt)*) => {
        $macro! {
            $($more)*
            /// The worker that published the largest backlog.
            #[default]
            Backlog "backlog", "the largest published backlog", victims_by_backlog;
            /// Any.
            Random "random", "any", victims_by_random;
            /// The next one after the last.
            Ring "ring", "the next one", victims_by_ring;
        }
    };
}

macro_rules! victims {
    (@list $first:literal $($more:literal)*) => { concat!($first $(, ", ", $more)*) };
    ($($(#[$attribute:meta])* $name:ident $word:literal, $what:literal, $counter:ident;)*) => {
        /// Whom a thief looks at first.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum Victim { $($(#[$attribute])* #[doc = concat!("\n\nIts word is `", $word, "`.")] $name),* }

        impl Victim {
            /// All of them, each by the word that `RADDLE_VICTIM` has for it.
            pub const ALL: &'static [(&'static str, Victim)] = &[$(($word, Victim::$name)),*];
            /// The words, for messages.
            pub(crate) const WORDS: &'static str = victims!(@list $($word)*);
            /// What the setting decides, for the help.
            pub(crate) const HELP: &'static str =
                concat!("whom an idle worker looks at first: ", victims!(@list $($what)*));
        }
    };
}

for_each_victim!(victims);
pub(crate) use for_each_victim;

impl Victim {
    /// The first of `workers` that the thief `thief` looks at, of which it knows the `backlog`; `last` is whom it
    /// looked at first before. The others follow in a ring.
    ///
    /// ```
    /// use raddle::Victim;
    /// let backlogs = [0, 3, 9];
    /// let first = |victim: Victim| victim.first(0, 3, |worker| backlogs[worker], || 7, 1);
    /// assert_eq!([Victim::Backlog, Victim::Random, Victim::Ring].map(first), [2, 1, 2]);
    /// ```
    pub fn first(
        self,
        thief: usize,
        workers: usize,
        backlog: impl Fn(usize) -> u64,
        random: impl FnOnce() -> u64,
        last: usize,
    ) -> usize {
        match self {
            Victim::Backlog => {
                let others = (0..workers).filter(|&worker| worker != thief);
                others.max_by_key(|&worker| backlog(worker)).unwrap_or(thief)
            }
            Victim::Random => random() as usize % workers,
            Victim::Ring => (last + 1) % workers,
        }
    }
}

/// When a fork made by `join`, `scope` or `fork` lies open to thieves.
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
    /// How often the balance `fair` acts, and the longest timed sleep of an idle worker while others are busy.
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
    /// Do idle workers take from others?
    pub fn steals(&self) -> bool {
        matches!(self.balance, Balance::Steal | Balance::Fair) && self.queues != Queues::Shared
    }

    /// Do busy workers give to idle ones?
    pub fn shares(&self) -> bool {
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
    pub fn queues_shared(&self) -> bool {
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

    /// May an extra worker take what waits behind one that stands in a call that the scheduler does not know?
    pub(crate) fn takes_from_standing(&self) -> bool {
        self.steals() && self.moves_started() && self.queues == Queues::PerWorker
    }

    /// Does an idle worker have a reason to look at busy ones?
    pub(crate) fn looks(&self) -> bool {
        self.steals()
    }

    pub(crate) fn takes_from_other_groups(&self) -> bool {
        matches!(self.queues, Queues::PerGroup(_)) && self.steals()
    }

    /// How many of so many movable runnables a worker with slack lays out or gives away.
    pub fn surplus(movable: usize) -> usize {
        (movable / 2).min(CHAIN_MAX)
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
