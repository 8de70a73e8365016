//! Owns: what locks and channels use to wait: one wait, ended by the first of several; and to say what they wait for.
//! May use: `block::control`, `describe`, `worker::callback`, `raddle-protocol`.
//! Never: what is waited for.

mod author;
mod bell;
pub(crate) mod child;
pub mod external;
mod holder;
pub mod park;
mod refuse;
mod sleeper;
mod waiter;

pub use crate::block::EXPIRED;
pub use crate::describe::{
    CallOn, FirstOf, Guarded, Held, MEETINGS, Meeting, Parked, RECV, SEND, Subject, Thing, Wait, held_by,
};
pub use crate::worker::Callback;
pub use author::Author;
pub(crate) use bell::wait_loosely;
pub use holder::{Holder, Running, who_runs};
pub use raddle_protocol::call::{WaitCall, WaitReason};
pub use waiter::{Outcome, Waiter, WakeRight};
