//! Owns: what a report says of those who wait for jobs and forks.
//! May use: `raddle-core`, `raddle-protocol`.
//! Never: following what it names.
//!
//! Who waits for a job that was taken waits at the job's join word, and the process that runs the job has the address
//! of the job in its control block: by that a report finds out who it is. A fork that another flow still has
//! privately names that flow.

use raddle_core::wait::{CallOn, Subject, WaitReason};
use raddle_protocol::header::Header;
use raddle_protocol::protocol::join::JoinWord;

pub(super) const JOIN: CallOn<JoinWord<Header>> = CallOn::new("raddle::join", WaitReason::Join);
pub(super) const JOIN_FORK: CallOn<JoinWord<Header>> = CallOn::new("Fork::join", WaitReason::Fork);
pub(super) const JOIN_PRIVATE_FORK: CallOn<Promised> = CallOn::new("Fork::join", WaitReason::Fork);

/// A fork that the flow which has made it still has.
pub(super) struct Promised {
    pub(super) maker: *const (),
}

impl Subject for Promised {
    const KIND: &'static str = "fork";

    fn awaits(&self) -> *const () {
        self.maker
    }
}
