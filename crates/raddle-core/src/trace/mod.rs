//! Owns: what programs record themselves, and what jobs are called.
//! May use: `tracer`, `raddle-trace`.
//! Never: a file; what becomes of the records is the recorder's (`worker::recording`).
//!
//! What workers record of themselves stands in `worker/trace.rs`. Programs know this as `raddle::trace`.

mod job;
mod message;
mod team;
mod transaction;
mod user;

pub use crate::tracer::Mark;
#[doc(hidden)]
pub use crate::tracer::number_of_job;
#[doc(inline)]
pub use crate::{__trace_counter as counter, __trace_mark as mark, __trace_span as span};
#[doc(hidden)]
pub use job::{name_this_job, note_job};
#[doc(hidden)]
pub use message::{ExchangeNote, LookNote, MessageNote, note_exchange, number_of_name, who_records};
pub use raddle_trace::Level;
#[doc(hidden)]
pub use team::{TeamStep, note_step};
#[doc(hidden)]
pub use transaction::{note_committed, note_overtaken};
pub use user::{Entered, counter, enter, leave, mark};
