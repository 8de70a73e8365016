//! Owns: `AbortHandle`, by which a task is ended before its end.
//! May use: `worker::choice`.
//! Never: the task kept alive: the future that nobody can wake any more still is dropped.

use crate::poll::share::{HasShares, TaskShare};
use crate::worker::choice::counted_look;
use std::fmt;

/// What is done to a task whose output's type is not known.
pub(crate) trait Abort: HasShares {
    fn abort(&self);
    fn has_ended(&self) -> bool;
}

/// Aborts a task, and tells whether it has ended; from `JoinHandle::abort_handle`. Keeps neither future nor output.
#[derive(Clone)]
pub struct AbortHandle(TaskShare<dyn Abort>);

impl AbortHandle {
    pub(super) fn of(task: TaskShare<dyn Abort>) -> AbortHandle {
        AbortHandle(task)
    }

    /// As [`JoinHandle::abort`](crate::task::JoinHandle::abort).
    pub fn abort(&self) {
        self.0.abort();
    }

    /// Whether the task has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        counted_look("task::AbortHandle::is_finished", || self.0.has_ended())
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").field("finished", &self.is_finished()).finish()
    }
}
