//! One who waits in a model: a saved context, and whether it was queued.

use loom::sync::{Condvar, Mutex};
use raddle_protocol::model::Saved;

/// Where one waits until it is woken.
#[derive(Default)]
pub(super) struct Parked {
    context: Saved,
    /// Orders a waker before the one it queues, as every way between them does; and only these two.
    queued: Mutex<bool>,
    bell: Condvar,
}

impl Parked {
    /// Leaves the stack and then calls `enter`; waits if that says so. True if it waited.
    pub(super) fn wait(&self, enter: impl FnOnce() -> bool) -> bool {
        self.context.save();
        let waits = enter();
        if waits {
            let mut queued = self.queued.lock().unwrap();
            while !*queued {
                queued = self.bell.wait(queued).unwrap();
            }
            *queued = false;
        } else {
            self.context.resume();
        }
        waits
    }

    /// Queues who waits here. Only who has the right to.
    pub(super) fn wake(&self) {
        self.context.resume();
        *self.queued.lock().unwrap() = true;
        self.bell.notify_one();
    }
}
