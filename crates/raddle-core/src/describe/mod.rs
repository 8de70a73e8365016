//! Owns: what somebody waits for, in the words of a report.
//! May use: nothing.
//! Never: following what is not waited for any more.

mod held;
mod meeting;
mod thing;
mod wait;

pub use held::{Held, held_by};
pub use meeting::{MEETINGS, Meeting, RECV, SEND};
pub use thing::{FirstOf, Guarded, Thing};
pub use wait::{CallOn, Parked, Subject, Wait};
pub(crate) use wait::{JOIN, PARK};
