//! Owns: `TaskWord`, the word that says who may poll a task and who frees it.
//! May use: `order`, `loom`.
//! Never: the future, nor a queue; whoever is told to queue does it.
//!
//! | bits | meaning | who sets it | who takes it back |
//! |---|---|---|---|
//! | `SCHEDULED` | is in a queue, or will be put there by the one who polls it now | `wake` | `begin_poll` |
//! | `RUNNING` | is being polled | `begin_poll` | `end_poll` |
//! | `DONE` | its output is there (or taken); it is never polled again | `end_and_drop_ref` | nobody |
//! | the rest | count of references: wakers, and one while `SCHEDULED` or `RUNNING` | | |
//!
//! Transitions return what the caller must do next. All of them are read-modify-writes, so that the release of one
//! reaches the acquire of any that comes later: whoever polls next sees all that the last poll did, and all that those
//! did who woke it, although most of them found it woken already.

use crate::order;
use crate::prim::{AtomicUsize, Ordering};

const SCHEDULED: usize = 1;
const RUNNING: usize = 2;
const DONE: usize = 4;
const ONE_REF: usize = 8;

/// The word.
#[derive(Debug)]
pub struct TaskWord(AtomicUsize);

/// After a poll that returned `Pending`.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Polled {
    /// It waits for a wake; the caller drops its reference.
    Waits,
    /// It was woken during the poll: the caller queues it again.
    Again,
}

impl TaskWord {
    /// In its first queue, which has the one reference.
    #[allow(
        clippy::new_without_default,
        reason = "a task that is made is queued: nothing to have by default"
    )]
    #[inline]
    pub fn new() -> Self {
        TaskWord(AtomicUsize::new(SCHEDULED + ONE_REF))
    }

    /// Taken from a queue to be polled.
    #[inline]
    pub fn begin_poll(&self) {
        let before = self.0.fetch_xor(SCHEDULED | RUNNING, order::TASK_BEGIN());
        debug_assert!(before & (SCHEDULED | RUNNING | DONE) == SCHEDULED, "a task was polled out of turn");
    }

    /// The poll returned `Pending`.
    #[inline]
    pub fn end_poll(&self) -> Polled {
        // No acquire: what those did who woke it meanwhile is seen by the poll that comes.
        let before = self.0.fetch_and(!RUNNING, order::TASK_PENDING());
        if before & SCHEDULED == 0 { Polled::Waits } else { Polled::Again }
    }

    /// The future has ended, and who has polled it drops its reference. True if it was the last: the caller frees the
    /// task.
    #[must_use]
    #[inline]
    pub fn end_and_drop_ref(&self) -> bool {
        let before = self.0.fetch_sub(ONE_REF - DONE, order::TASK_DROP());
        debug_assert!(before & (RUNNING | DONE) == RUNNING, "a task ended that was not polled");
        before / ONE_REF == 1
    }

    /// Wakes. True if the caller must queue it; a reference for the queue has been taken.
    #[must_use]
    #[inline]
    pub fn wake(&self) -> bool {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            if seen & (SCHEDULED | DONE) != 0 {
                // It will be polled, or never again. A poll to come must see what the waker did: this changes nothing
                // but releases.
                match self.0.compare_exchange_weak(seen, seen, order::TASK_WAKE_AGAIN(), Ordering::Relaxed) {
                    Ok(_) => return false,
                    Err(now) => seen = now,
                }
                continue;
            }
            let queue = seen & RUNNING == 0;
            let to = (seen | SCHEDULED) + if queue { ONE_REF } else { 0 };
            match self.0.compare_exchange_weak(seen, to, order::TASK_WAKE(), Ordering::Relaxed) {
                Ok(_) => return queue,
                Err(now) => seen = now,
            }
        }
    }

    /// One more reference, made from one that the caller holds. False if the word is full of them: the caller must
    /// end the program.
    #[must_use]
    #[inline]
    pub fn add_ref(&self) -> bool {
        self.0.fetch_add(ONE_REF, Ordering::Relaxed) <= usize::MAX / 2
    }

    /// One more reference, by one who holds none, and knows otherwise that the word is there still. False if the last
    /// one is gone: whoever dropped that frees the task. (Or if the word is full of them.)
    #[must_use]
    #[inline]
    pub fn try_add_ref(&self) -> bool {
        // Relaxed: what the caller may touch it knows by what keeps the word there.
        let mut seen = self.0.load(Ordering::Relaxed);
        while (ONE_REF..=usize::MAX / 2).contains(&seen) {
            let to = seen + ONE_REF;
            match self.0.compare_exchange_weak(seen, to, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// One reference less. True if it was the last: the caller frees the task.
    #[must_use]
    #[inline]
    pub fn drop_ref(&self) -> bool {
        let before = self.0.fetch_sub(ONE_REF, order::TASK_DROP());
        before / ONE_REF == 1
    }

    /// Whether the future has ended. By one who has the task alone, since it has dropped the last reference.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.0.load(Ordering::Relaxed) & DONE != 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_wake_while_idle_queues_once() {
        let word = TaskWord::new();
        assert!(word.add_ref(), "for a waker");
        word.begin_poll();
        assert_eq!(word.end_poll(), Polled::Waits);
        assert!(!word.drop_ref(), "the waker is left");
        assert!(word.wake());
        assert!(!word.wake(), "it is queued already");
        word.begin_poll();
    }

    #[test]
    fn a_wake_during_the_poll_means_again() {
        let word = TaskWord::new();
        word.begin_poll();
        assert!(!word.wake());
        assert_eq!(word.end_poll(), Polled::Again);
        word.begin_poll();
        assert_eq!(word.end_poll(), Polled::Waits);
    }

    #[test]
    fn one_that_nobody_holds_gets_no_reference() {
        let word = TaskWord::new();
        word.begin_poll();
        assert!(word.try_add_ref());
        assert!(!word.drop_ref() && word.drop_ref());
        assert!(!word.try_add_ref(), "a flag is no reference");
    }

    #[test]
    fn one_that_is_done_is_not_queued() {
        let word = TaskWord::new();
        assert!(word.add_ref());
        word.begin_poll();
        assert!(!word.end_and_drop_ref());
        assert!(word.is_done() && !word.wake());
        assert!(word.drop_ref());
    }

    #[test]
    fn whom_nobody_can_wake_is_freed_at_its_end() {
        let word = TaskWord::new();
        word.begin_poll();
        assert!(word.end_and_drop_ref() && word.is_done());
    }
}
