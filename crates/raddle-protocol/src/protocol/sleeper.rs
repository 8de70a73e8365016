//! Owns: `Sleeper`, what the queues of locks ask of the one who waits in them.
//! May use: `call`.
//! Never: a queue.
//!
//! On the machine a sleeper is a `wait::Waiter`; in the models it is a flag. The queues of `mutex`, `waitlist` and
//! `once` are generic in it, so that the models search the very code that runs.

use crate::call::WaitCall;
use std::time::Instant;

/// One wait of whoever runs.
///
/// # Safety
/// While its maker waits, others select it through its address, from any thread: [`select`](Self::select) and
/// [`try_select`](TimedSleeper::try_select) bear that, whether or not the type is `Sync`. All else is the maker's.
pub unsafe trait Sleeper: Sized {
    /// What is left to do when a wait has been ended: after it the sleeper may be gone.
    type Right;

    /// Opens a wait of the caller, which has no other under way.
    fn new(call: &'static WaitCall) -> Self;

    /// Waits until somebody has selected it.
    fn wait(&self);

    /// Ends the wait. Once for each sleeper that has no deadline.
    fn select(&self) -> Self::Right;

    /// Resumes the one whose wait was ended.
    fn wake(right: Self::Right);

    /// As [`wake`](Self::wake), for one that has to take what the caller has given back, and may take again itself
    /// before: so it is no gain if it runs at once.
    #[inline]
    fn wake_rival(right: Self::Right) {
        Self::wake(right);
    }
}

/// One wait that may have a deadline, and ends in more than one way.
pub trait TimedSleeper: Sleeper {
    /// Waits until somebody has selected an outcome; `None` if the deadline passed first.
    fn wait_timed(&self) -> Option<u32>;

    /// As [`wait_timed`](Self::wait_timed), until another deadline, if the sleeper knows what time it is.
    #[inline]
    fn wait_until(&self, _deadline: Option<Instant>) -> Option<u32> {
        self.wait_timed()
    }

    /// Ends the wait with `outcome`; `None` if the deadline has passed.
    fn try_select(&self, outcome: u32) -> Option<Self::Right>;

    /// The owner goes, after its deadline, and leaves this where it lies: others may still try to select it.
    fn give_up(&self);

    /// Nobody looks at it any more, after its owner has given up.
    fn discard(self);
}

/// A sleeper of which any number may be selected before the first is woken.
pub trait RowSleeper: TimedSleeper {
    /// Rights in the order in which they came, in no memory of its own: who waits brings what links it to the next.
    type Row: Default;

    /// Puts a right at the end.
    fn line_up(row: &mut Self::Row, right: Self::Right);

    /// Wakes all, in their order.
    fn wake_row(row: Self::Row);
}
