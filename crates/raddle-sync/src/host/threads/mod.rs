//! Owns: how locks and channels wait in a program without a scheduler: OS threads alone, and the kernel's futex.
//! May use: `raddle-protocol`.
//! Never: starting an OS thread. The twin `scheduler` has each of these names.
//!
//! | module | what the scheduler's has | here |
//! |---|---|---|
//! | `park` | who calls leaves its worker to others | it sleeps on a futex |
//! | `waiter` | a wait that a deadline or a cancellation ends | a deadline ends it |
//! | `holder` | who holds a lock, and on which worker | which OS thread |
//! | `describe` | what somebody waits for, for reports | nothing: nobody reports |
//! | `choice` | points at which a seed chooses | nothing |
//! | `region` | what may be cancelled | nothing |
//! | `crowd` | the processes of a worker come to a queue lock one by one | nothing: an OS thread has no worker |

pub(crate) mod choice;
mod crowd;
mod describe;
mod holder;
pub(crate) mod park;
pub(crate) mod region;
mod waiter;

pub(crate) use crowd::{Crowd, Through};
pub(crate) use describe::{Alternative as Guarded, CallOn, FirstOf, Subject, Thing, Wait};
pub use holder::Held;
pub(crate) use holder::{Holder, OsThread as Running};
pub(crate) use park::wake;
pub(crate) use raddle_protocol::call::{WaitCall, WaitReason};
pub(crate) use waiter::{EXPIRED, Outcome, Waiter, WakeRight};

/// Whether the caller must not wait, since a worker polls a future there. There is no worker.
#[inline(always)]
pub(crate) const fn at_home() -> bool {
    false
}
