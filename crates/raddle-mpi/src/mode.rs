//! Owns: `Mode`: who looks after what is under way; and the counts of what the proxy has done.
//! May use: nothing.
//! Never: deciding which.

use std::fmt;
use std::time::Duration;

/// Who looks after what is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Who waits, while it waits: nothing of a large message moves before.
    #[default]
    Inline,
    /// The workers of the runtime, between two tasks, when they are idle, and at [`Net::point`](crate::Net::point).
    Shared,
    /// As `Shared`, with a watchdog: an OS thread that sleeps, and looks when nobody has for 2 ms.
    Watched,
    /// An OS thread that does nothing else; it sleeps while nothing is under way.
    Dedicated {
        /// The processor that it stays on.
        core: Option<usize>,
    },
    /// One of these, which is found by trying; [`Net::auto_report`](crate::Net::auto_report) says which, and why.
    Auto {
        /// A processor that a dedicated proxy may have for itself. Without one that mode is tried only where the
        /// rank may use four processors or more.
        core: Option<usize>,
    },
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Inline => "inline",
            Mode::Shared => "shared",
            Mode::Watched => "watched",
            Mode::Dedicated { .. } => "dedicated",
            Mode::Auto { .. } => "auto",
        })
    }
}

/// What the proxy has done since the net began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// How often somebody looked.
    pub polls: u64,
    /// How often for nothing.
    pub empty: u64,
    /// The longest time between two looks while something was under way.
    pub longest_gap: Duration,
    /// The time that all looks took.
    pub polling: Duration,
    /// The processor time of the proxy: the looks of workers, and all that its own OS thread has used, which is read
    /// when that goes to sleep, and about each ten milliseconds.
    pub processor: Duration,
}
