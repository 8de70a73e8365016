//! Owns: how locks and channels wait in a program with a scheduler: its items, under the names that they use here.
//! May use: `raddle-core`.
//! Never: a function between a lock and the scheduler. The twin `threads` has each of these names.

mod awaiting;
mod crowd;

pub(crate) use awaiting::Awaiting;
pub(crate) use crowd::{Crowd, Through};
pub(crate) use raddle_core::region;
pub(crate) use raddle_core::task::{Sleep, sleep_until};
pub use raddle_core::wait::Held;
pub(crate) use raddle_core::wait::{
    CallOn, EXPIRED, FirstOf, Guarded, Holder, Outcome, Running, Subject, Thing, Wait, WaitCall, WaitReason,
    Waiter, WakeRight, park,
};
pub(crate) use raddle_core::worker::{at_home, choice, wake};
