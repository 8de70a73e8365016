//! Owns: `AbortHandle`, by which a task is ended before its end.
//! May use: `worker::choice`.
//! Never: the task kept alive: the future that nobody can wake any more still is dropped.

use crate::poll::join::JoinSlot;
use crate::worker::choice::counted_look;
use std::fmt;
use std::sync::Arc;

/// What is done to a task whose output's type is not known.
pub(crate) trait Abort: Send + Sync {
    fn abort(&self);
    fn has_ended(&self) -> bool;
}

impl<T: Send> Abort for JoinSlot<T> {
    fn abort(&self) {
        JoinSlot::abort(self);
    }

    fn has_ended(&self) -> bool {
        JoinSlot::has_ended(self)
    }
}

/// Aborts a task, and tells whether it has ended; from `JoinHandle::abort_handle`. Keeps neither future nor output.
#[derive(Clone)]
pub struct AbortHandle(Arc<dyn Abort>);

impl AbortHandle {
    pub(super) fn of(task: Arc<dyn Abort>) -> AbortHandle {
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
