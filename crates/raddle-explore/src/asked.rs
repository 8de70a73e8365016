//! Owns: `Asked`: what a run is allowed, and when it fails.
//! May use: `schedule`.
//! Never: a choice.

use crate::schedule::Rules;

/// What is asked of a run, besides its choices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// It fails if it has had so many turns.
    pub(crate) turns_max: u64,
    /// What still waits when the first process has ended and nothing can run is no failure.
    pub(crate) daemons: bool,
    /// An alarm may ring while others could still run.
    pub(crate) early_alarms: bool,
    /// Somebody will read what happened.
    pub(crate) logs: bool,
}

/// As [`Options::turns_max`](crate::Options::turns_max) is by default.
pub(crate) const TURNS_MAX: u64 = 100_000;

impl Asked {
    /// Those of its options that are not the usual ones.
    pub(crate) fn rules(&self) -> Rules {
        let Asked { turns_max, daemons, early_alarms, .. } = *self;
        Rules { early_alarms, daemons, turns_max: (turns_max != TURNS_MAX).then_some(turns_max) }
    }

    /// The same, by the rules of a schedule, too.
    pub(crate) fn by(self, rules: Rules) -> Asked {
        Asked {
            early_alarms: self.early_alarms || rules.early_alarms,
            daemons: self.daemons || rules.daemons,
            turns_max: rules.turns_max.unwrap_or(self.turns_max),
            logs: self.logs,
        }
    }
}
