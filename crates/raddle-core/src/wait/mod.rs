//! Owns: what locks and channels use to wait: one wait, ended by the first of several; and to say what they wait for.
//! May use: `process::wait`, `protocol::selection`, `external`, `timer`.
//! Never: what is waited for.

mod bell;
mod callback;
mod describe;
mod holder;
mod meeting;
mod sleeper;
mod thing;
mod waiter;

pub(crate) use bell::{Bell, wait_loosely};
pub use callback::Callback;
pub use describe::{CallOn, Parked, Subject, Wait};
pub use holder::Held;
pub use holder::{Holder, Running, held_by, who_runs};
pub use meeting::{MEETINGS, Meeting, RECV, SEND};
pub use thing::{FirstOf, Guarded, Thing};
pub use waiter::{EXPIRED, Outcome, Waiter, WakeRight};
