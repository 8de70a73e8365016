//! Owns: what locks and channels use to wait: one wait, ended by the first of several.
//! May use: `process::wait`, `protocol::selection`, `external`, `timer`.
//! Never: what is waited for.

mod waiter;

pub(crate) use waiter::{EXPIRED, Outcome, Waiter, WakeRight};
