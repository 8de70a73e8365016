//! Owns: what is always counted, for each worker.
//! May use: `policy`.
//! Never: a read-modify-write; a count must cost no more than an addition in cache.
//!
//! One table names the counters; the struct, the snapshot and the printed report derive from it, and the table of
//! victim policies adds one for each. The counters that only one policy can produce say so: the tests of the policies
//! look at them.
//!
//! `--cfg raddle_uncounted` leaves them out, with idle times, samples and all of the recorder: only beside such a build
//! can be measured what they cost (the command stands in `docs/TRACE.md`). Tests do not pass in it.
//!
//! It uses relaxed atomics, each written by one worker only.

use crate::policy::{Victim, for_each_victim};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    // The counters of the victim policies stand between the others.
    (
        { $($before:tt)* } { $($after:tt)* }
        $($(#[$attribute:meta])* $variant:ident $word:literal, $what:literal, $victim:ident;)*
    ) => {
        counters! {
            $($before)*
            $(#[doc = concat!("Steals whose victim was ", $what, " (policy `victim=", $word, "` only).")] $victim;)*
            $($after)*
        }

        impl Counters {
            /// Steals whose victim was chosen by this policy.
            pub(crate) fn chosen_by(&self, victim: Victim) -> &AtomicU64 {
                match victim { $(Victim::$variant => &self.$victim),* }
            }
        }
    };
    ($($(#[doc = $doc:expr])* $name:ident;)*) => {
        /// One worker's counters.
        #[derive(Debug, Default)]
        #[repr(align(128))]
        pub(crate) struct Counters { $($(#[doc = $doc])* pub(crate) $name: AtomicU64),* }

        /// What the counters said at one moment: of one worker, or the sum of all.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Stats { $($(#[doc = $doc])* pub $name: u64),* }

        impl Counters {
            /// Reads each counter once; together they need not be of one instant.
            pub(crate) fn snapshot(&self) -> Stats {
                Stats { $($name: self.$name.load(Ordering::Relaxed)),* }
            }
        }

        impl std::ops::AddAssign for Stats {
            fn add_assign(&mut self, other: Stats) {
                $(self.$name += other.$name;)*
            }
        }

        impl Stats {
            /// Name and value of each counter, in the order of the table.
            pub fn entries(&self) -> impl Iterator<Item = (&'static str, u64)> {
                const NAMES: &[&str] = &[$(stringify!($name)),*];
                NAMES.iter().copied().zip([$(self.$name),*])
            }
        }
    };
}

for_each_victim! {
    counters {
    /// Turns given to runnables, as a worker budgets them until it looks around: something fresh, of which nobody knows
    /// how long it runs, may count for four.
    dispatches;
    /// Processes and tasks spawned here; not the processes of a virtual machine.
    spawns;
    /// Processes and tasks that ended here; not the processes of a virtual machine.
    exits;
    /// Turns given to tasks, each one poll of a future.
    polls;
    /// Wakes of something that then ran on the waker's worker.
    local_wakes;
    /// Wakes of something that belongs to another worker.
    remote_wakes;
    /// Communications for which somebody here looked out, so that nobody was woken (setting `spin` only).
    met_hot;
    /// Started runnables that came to run on another worker than before.
    migrations;
    /// Looks at another worker's queues.
    steals_tried;
    /// Looks that found something (policy `steal` and `fair` only).
    steals;
    /// Fresh runnables taken from other workers' lists (policy `steal` and `fair` only).
    fresh_stolen;
    /// Movable runnables laid out in the window for thieves (policy `steal` and `fair` only).
    published;
    } {
    /// Steals that gave less work than they cost.
    unprofitable;
    /// Catches that went home because they kept waking their old worker.
    sent_home;
    /// Forks that became jobs for anybody to take.
    promoted;
    /// Forks that lay open from the start (policy `futures=child` only).
    children_open;
    /// Jobs taken from another worker.
    jobs_stolen;
    /// Runnables handed to another worker by a busy one: to an idle one by policy `share`, and by who wakes a team.
    shared_out;
    /// Runnables woken behind others and handed to a worker that had run dry (policy `steal` and `fair` only).
    handed_over;
    /// Runnables moved from a longer to a shorter ready queue, nobody being idle (policy `fair` only).
    fair_moves;
    /// Runnables put into a queue that several workers share (policy `queues=shared` and `group` only).
    queue_shared;
    /// Runnables taken from a shared queue; with one queue a worker, only what was injected from outside.
    shared_taken;
    /// Runnables taken from the queue of another group (policy `queues=group` only).
    group_taken;
    /// Fresh runnables dealt to the workers in turn (policy `migration=off` only).
    round_robin;
    /// Fresh runnables placed by the program (`spawn_on`).
    placed;
    /// Alarms that rang.
    alarms;
    /// Times that the worker's OS thread slept.
    parks;
    /// Times that the worker ran dry until it had work again.
    idle_incidents;
    /// The nanoseconds of those times.
    idle_ns;
    /// Processes that could not get a stack.
    stacks_refused;
    }
}

impl Counters {
    /// Adds to a counter. Only the worker that owns the counter calls it.
    #[inline(always)]
    pub(crate) fn add(counter: &AtomicU64, n: u64) {
        if !cfg!(raddle_uncounted) {
            Counters::advance(counter, n);
        }
    }

    /// As [`add`](Counters::add), for what others decide by: counted without statistics, too.
    #[inline(always)]
    pub(crate) fn advance(counter: &AtomicU64, n: u64) {
        counter.store(counter.load(Ordering::Relaxed) + n, Ordering::Relaxed);
    }
}

impl fmt::Display for Stats {
    /// One `name value` line for each counter that is not zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entries()
            .filter(|(_, value)| *value != 0)
            .try_for_each(|(name, value)| writeln!(f, "{name:20} {value}"))
    }
}
