//! Owns: what a report says of one who waits for a job.
//! May use: `describe::wait`, `raddle-protocol`.
//! Never: following what it names.

use crate::describe::Subject;
use raddle_protocol::header::Header;
use raddle_protocol::protocol::join::JoinWord;

/// A job that somebody else runs.
impl Subject for JoinWord<Header> {
    const KIND: &'static str = "job";

    fn awaits(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }
}
