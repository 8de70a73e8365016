//! Owns: `TaskState`, the word that says who may poll a task and who frees it.
//! May use: `message`.
//! Never: the future.
//!
//! | bits | meaning |
//! |---|---|
//! | `SCHEDULED` | is in a queue, or will be put there by the one who polls it now |
//! | `RUNNING` | is being polled |
//! | `DONE` | its output is there (or taken); it is never polled again |
//! | the rest | count of references: handle, wakers, and one while `SCHEDULED` or `RUNNING` |
//!
//! Transitions return what the caller must do next. All of them are read-modify-writes: whoever polls next must see all
//! that the last poll did, and whoever wakes wants the poll to see what it did before.

use std::sync::atomic::{AtomicUsize, Ordering};

const SCHEDULED: usize = 1;
const RUNNING: usize = 2;
const DONE: usize = 4;
const ONE_REF: usize = 8;

/// The word.
#[derive(Debug)]
pub(crate) struct TaskState(AtomicUsize);

/// After a poll that returned `Pending`.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Parked {
    /// It waits for a wake; the caller drops its reference.
    Waits,
    /// It was woken during the poll: the caller queues it again.
    Again,
}

impl TaskState {
    /// In its first queue; references: handle and queue.
    pub(crate) fn new() -> Self {
        TaskState(AtomicUsize::new(SCHEDULED + 2 * ONE_REF))
    }

    /// Taken from a queue to be polled.
    pub(crate) fn begin_poll(&self) {
        // Acquire pairs with the release of the last `end_poll` or of a `wake`.
        let before = self.0.fetch_xor(SCHEDULED | RUNNING, Ordering::Acquire);
        debug_assert!(before & (SCHEDULED | RUNNING | DONE) == SCHEDULED, "a task was polled out of turn");
    }

    /// The poll returned `Pending`.
    pub(crate) fn end_poll(&self) -> Parked {
        // Release pairs with the acquire of the next `begin_poll`; acquire with the release of a `wake`.
        let before = self.0.fetch_and(!RUNNING, Ordering::AcqRel);
        if before & SCHEDULED == 0 { Parked::Waits } else { Parked::Again }
    }

    /// The future has ended.
    pub(crate) fn end(&self) {
        // Release pairs with the acquire of the last `drop_ref`.
        self.0.fetch_or(DONE, Ordering::Release);
    }

    /// Wakes. True if the caller must queue it; a reference for the queue has been taken.
    #[must_use]
    pub(crate) fn wake(&self) -> bool {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            if seen & (SCHEDULED | DONE) != 0 {
                // It will be polled, or never again. A poll to come must see what the waker did: this changes nothing
                // but releases, which the poll's acquire pairs with.
                match self.0.compare_exchange_weak(seen, seen, Ordering::Release, Ordering::Relaxed) {
                    Ok(_) => return false,
                    Err(now) => seen = now,
                }
                continue;
            }
            let queue = seen & RUNNING == 0;
            let to = (seen | SCHEDULED) + if queue { ONE_REF } else { 0 };
            // Release pairs with the acquire of the next `begin_poll` or `end_poll`; acquire with the release of the
            // last `end_poll`, since who wins the right to queue reads in the header where it ran.
            match self.0.compare_exchange_weak(seen, to, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return queue,
                Err(now) => seen = now,
            }
        }
    }

    /// One more reference, made from one that the caller holds.
    pub(crate) fn add_ref(&self) {
        let before = self.0.fetch_add(ONE_REF, Ordering::Relaxed);
        if before > usize::MAX / 2 {
            crate::message::fatal("more wakers of one task than fit into a word");
        }
    }

    /// One reference less. True if it was the last: the caller frees the task.
    #[must_use]
    pub(crate) fn drop_ref(&self) -> bool {
        // Release pairs with the acquire of whoever is last.
        let before = self.0.fetch_sub(ONE_REF, Ordering::AcqRel);
        before / ONE_REF == 1
    }

    /// Whether the future has ended.
    pub(crate) fn is_done(&self) -> bool {
        // Acquire pairs with the release in `end`.
        self.0.load(Ordering::Acquire) & DONE != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_while_idle_queues_once() {
        let state = TaskState::new();
        state.begin_poll();
        assert_eq!(state.end_poll(), Parked::Waits);
        assert!(!state.drop_ref(), "the handle is left");
        assert!(state.wake());
        assert!(!state.wake(), "it is queued already");
        state.begin_poll();
    }

    #[test]
    fn a_wake_during_the_poll_means_again() {
        let state = TaskState::new();
        state.begin_poll();
        assert!(!state.wake());
        assert_eq!(state.end_poll(), Parked::Again);
        state.begin_poll();
        assert_eq!(state.end_poll(), Parked::Waits);
    }

    #[test]
    fn a_cell_that_is_done_is_not_queued() {
        let state = TaskState::new();
        state.begin_poll();
        state.end();
        assert!(state.is_done() && !state.wake());
        assert!(!state.drop_ref());
        assert!(state.drop_ref());
    }
}
