//! Owns: what locks and channels use to wait: one wait, ended by the first of several; and to say what they wait for.
//! May use: `process::wait`, `protocol::selection`, `external`, `timer`.
//! Never: what is waited for.

mod bell;
mod describe;
#[cfg(all(test, not(loom)))]
mod tests;
mod thing;
mod waiter;

pub(crate) use bell::{Bell, wait_loosely};
pub(crate) use describe::{CallOn, Parked, Subject, Wait};
pub(crate) use thing::{FirstOf, Guarded, Thing};
pub(crate) use waiter::{EXPIRED, Outcome, Waiter, WakeRight};
