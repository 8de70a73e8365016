//! Owns: what is explored, how far, and by which strategy.
//! May use: `asked`.
//! Never: a choice.

use crate::asked::{Asked, TURNS_MAX};

/// How choices follow from a seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Even seeds at random, odd ones by priorities with a depth of 2 to 4.
    #[default]
    Mixed,
    /// At every choice each of those who could run is as likely as the others.
    Random,
    /// PCT: the highest of random priorities runs, and at `depth - 1` random steps whoever runs falls below all others.
    /// For bugs that so many events in a certain order bring about.
    Pct {
        /// How many events; from 1.
        depth: u32,
    },
}

/// What is explored, and how far.
///
/// ```
/// use raddle::explore::{Options, Strategy};
/// let options = Options { iterations: 100, strategy: Strategy::Pct { depth: 3 }, ..Options::default() };
/// assert_eq!(options.seed, 0);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many seeds; default: 1000.
    pub iterations: u32,
    /// How choices follow from a seed.
    pub strategy: Strategy,
    /// The first seed; the others follow it. Default: 0.
    pub seed: u64,
    /// A run that has had so many turns and operations fails; default: 100 000.
    pub turns_max: u64,
    /// Whether processes may wait for ever once the closure has returned, as servers do; default: no, that is a
    /// deadlock.
    pub daemons: bool,
    /// Whether an alarm may ring while others could still run, as on a machine that is too busy: finds who takes a
    /// time-out for impossible. Default: no: time stands still while anything can run.
    pub early_alarms: bool,
}

impl Default for Options {
    fn default() -> Options {
        let (iterations, turns_max) = (1000, TURNS_MAX);
        Options {
            iterations,
            strategy: Strategy::Mixed,
            seed: 0,
            turns_max,
            daemons: false,
            early_alarms: false,
        }
    }
}

impl Options {
    pub(crate) fn asked(&self) -> Asked {
        let Options { turns_max, daemons, early_alarms, .. } = *self;
        Asked { turns_max, daemons, early_alarms, logs: false }
    }
}
