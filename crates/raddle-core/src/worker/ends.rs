//! Owns: whether a worker's OS thread may end with the worker, and the word of it for whoever waits for that end.
//! May use: `block::inspect`, `raddle-protocol`.
//! Never: an OS thread that ends while something that has begun there may still be borrowed from.
//!
//! A light process uses the thread-local variables of its worker's OS thread. It may lend a reference to one of them to
//! whoever it waits for: to the processes of another runtime, in the closure of a `with`. If its own runtime ends
//! meanwhile, the process is abandoned, and its frames stay. So must the variable: an OS thread runs the destructors of
//! its variables when it ends, and gives their memory back. What was lent would dangle.
//!
//! So the OS thread of a worker stays if a light process that has begun there has not ended: it sleeps for ever. What a
//! thread has is its own, and stays with it; a task has no frame from which it could lend while it waits.

use super::{LocalWorker, Worker};
use crate::block::blocks;
use raddle_protocol::header::{OWN_TLS, STARTED};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many OS threads of this program stay.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// How many OS threads the program keeps since processes that have begun there have been abandoned.
pub fn os_threads_kept() -> usize {
    KEPT.load(Ordering::Relaxed)
}

impl LocalWorker {
    /// Whether something that has begun on this OS thread has been abandoned. After the worker's last turn.
    ///
    /// It looks at all control blocks, but only if the runtime has left something behind, or cannot say. One that has
    /// ended and has not been joined counts, too, then: perhaps it waits in the drop of its result.
    pub(super) fn has_abandoned(&self) -> bool {
        if self.shared().has_left_nothing() {
            return false;
        }
        let mut found = false;
        blocks().for_each(|block| {
            let is_here = block.header.worker.get() == self.as_word();
            let flags = block.header.flags_now();
            found |= is_here && block.number().is_some() && flags & (STARTED | OWN_TLS) == STARTED;
        });
        found
    }
}

impl Worker {
    /// The last that the worker's OS thread says: whether it stays.
    pub(crate) fn say_end(&self, stays: bool) {
        if stays {
            KEPT.fetch_add(1, Ordering::Relaxed);
        }
        let _only_once = self.stays.set(stays);
    }

    /// Waits until the worker's OS thread has said whether it stays.
    pub(crate) fn wait_for_end(&self) -> bool {
        *self.stays.wait()
    }
}

/// The OS thread stays: it never returns to where it would end.
pub(crate) fn stay() -> ! {
    loop {
        std::thread::park();
    }
}
