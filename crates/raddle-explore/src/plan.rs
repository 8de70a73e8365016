//! Owns: `Plan`: where the choices of a run come from.
//! May use: `chance`, `options`, `raddle-core`, `schedule`.
//! Never: a choice.

use crate::chance::Chooser;
use crate::options::Strategy;
use crate::schedule::Schedule;
use raddle_core::observe::Seed;

/// Where the choices of a runtime come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    Seed(u64, Strategy),
    Steps(Schedule),
}

impl Plan {
    /// The plan of a runtime with this seed.
    ///
    /// # Panics
    /// If it is no schedule, which [`is_schedule`](raddle_core::observe::Explorer::is_schedule) has seen.
    pub(crate) fn of(seed: &Seed) -> Plan {
        match seed {
            Seed::Number(seed) => Plan::Seed(*seed, Strategy::Mixed),
            Seed::Schedule(text) => Plan::Steps(text.parse().unwrap_or_else(|error| panic!("{error}"))),
        }
    }

    pub(crate) fn chooser(&self) -> Chooser {
        match self {
            Plan::Seed(seed, strategy) => Chooser::new(*strategy, *seed),
            Plan::Steps(schedule) => Chooser::Steps(schedule.clone()),
        }
    }
}
