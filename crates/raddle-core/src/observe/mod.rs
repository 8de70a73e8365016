//! Owns: the places at which an observer is attached to the scheduler: hang reports, exploration, the recorder.
//! May use: nothing.
//! Never: knowing an observer; what it is told and asked is a trait that stands here.
//!
//! An observer is a crate above this one. It attaches itself before `main` begins, from a function that its object file
//! lists in `.init_array.00101`, so that a program has it by linking it and pays nothing for one that it does not link.
//! The number puts it before those without one, in which a program may start a runtime. The scheduler looks into the
//! [`Slot`] when a runtime begins, and at moments that are rare; what is frequent it writes itself, into words that
//! observers read.

mod dump;
mod futures;
mod interruption;
mod seed;
mod trace;
mod watcher;

pub use dump::{Content, Dump};
pub use futures::{ToldWait, WaitingFuture, waiting_futures};
pub use interruption::Interruption;
pub use seed::{EXPLORER, Explorer, Run, Seed, SeedFacts, Seeded, SeededSchedule};
pub use trace::TracePlan;
pub(crate) use watcher::note_change;
pub use watcher::{DeadlockHandler, HangPlan, OnDeadlock, WATCH_WORD};

use std::fmt;
use std::sync::OnceLock;

/// Where one kind of observer is attached.
pub struct Slot<T: ?Sized + 'static>(OnceLock<&'static T>);

impl<T: ?Sized> Slot<T> {
    /// Nobody is attached.
    pub const fn new() -> Slot<T> {
        Slot(OnceLock::new())
    }

    /// Attaches an observer, for good. The first one stays.
    pub fn attach(&self, observer: &'static T) {
        let _second = self.0.set(observer);
    }

    /// The observer, if the program has linked one.
    #[inline]
    pub fn get(&self) -> Option<&'static T> {
        self.0.get().copied()
    }
}

/// A setting asks for an observer that the program has not linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotLinked {
    /// What asks for it, in the words of a sentence.
    pub asked: &'static str,
    /// The crate that is missing.
    pub package: &'static str,
    /// The feature of the crate `raddle` that links it.
    pub feature: &'static str,
}

impl NotLinked {
    /// A seed was set.
    pub const EXPLORER: NotLinked =
        NotLinked { asked: "a seed is set (RADDLE_SEED)", package: "raddle-explore", feature: "explore" };

    /// Reports of hangs were asked for.
    pub(crate) const fn watcher(asked: &'static str) -> NotLinked {
        NotLinked { asked, package: "raddle-hang", feature: "hang" }
    }
    /// A trace is wanted.
    pub const RECORDER: NotLinked =
        NotLinked { asked: "a trace is wanted (RADDLE_TRACE)", package: "raddle-recorder", feature: "trace" };
}

impl fmt::Display for NotLinked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotLinked { asked, package, feature } = self;
        write!(
            f,
            "{asked}, and this program is built without `{package}`; build it with the feature `{feature}` of the \
             crate `raddle`"
        )
    }
}

impl std::error::Error for NotLinked {}
