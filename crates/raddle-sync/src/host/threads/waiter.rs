//! Owns: `Waiter`: one wait of an OS thread, ended by the first to select it or by a deadline.
//! May use: `raddle-protocol`.
//! Never: the queue that it stands in; that belongs to the lock or the channel.
//!
//! It lies in the frame of the one who waits. Whoever selects looks at it under the lock that it was queued under, and
//! it leaves every queue under that lock before its frame goes: so nobody looks at a frame that is gone. After the
//! unlock only the [`WakeRight`] is used: whoever was selected in its sleep stays until it is woken.

use super::park::{ThreadParker, wake};
use raddle_protocol::call::WaitCall;
use raddle_protocol::header::Header;
use raddle_protocol::protocol::selection::{Selected, Selection, WaitNumber};
use raddle_protocol::protocol::sleeper::{Sleeper, TimedSleeper};
use std::ptr::NonNull;
use std::time::Instant;

/// The outcome of a wait whose deadline passed.
pub(crate) const EXPIRED: u32 = Selection::OUTCOMES - 1;

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Somebody selected this number.
    Selected(u32),
    /// The deadline passed first. Nobody will select this wait any more.
    Expired,
}

/// One wait. See the module for who may touch it when.
pub(crate) struct Waiter {
    word: Selection,
    number: WaitNumber,
    parker: ThreadParker,
}

/// The right, and the duty, to wake one who waits. Empty if it had not gone to sleep.
#[must_use = "whoever was selected sleeps until it is woken"]
pub(crate) struct WakeRight(Option<NonNull<Header>>);

// SAFETY: the right to wake an OS thread is a right that any thread may use.
unsafe impl Send for WakeRight {}

impl WakeRight {
    /// The right to wake one that waits by [`wait_registered`](super::park::wait_registered).
    ///
    /// # Safety
    /// The caller has just taken the one right to wake what begins with `header`, which waits.
    #[inline]
    pub(crate) unsafe fn of(header: *mut Header) -> WakeRight {
        WakeRight(NonNull::new(header))
    }

    /// Wakes the one who waits, if it waits.
    #[inline]
    pub(crate) fn wake(self) {
        if let Some(header) = self.0 {
            // SAFETY: the selection said that it waits and that we ended its wait.
            unsafe { wake(header.as_ptr()) };
        }
    }
}

impl Waiter {
    /// Opens a wait of the caller.
    #[inline]
    pub(crate) fn new(_call: &'static WaitCall) -> Waiter {
        let word = Selection::new();
        let number = word.begin();
        Waiter { word, number, parker: ThreadParker::new() }
    }

    /// Ends the wait with `outcome`, if nobody was first. Under the lock of the queue in which it stands; the right is
    /// used after the unlock.
    #[inline]
    pub(crate) fn try_select(&self, outcome: u32) -> Option<WakeRight> {
        match self.word.select(self.number, outcome) {
            Selected::Lost => None,
            Selected::Running => Some(WakeRight(None)),
            Selected::Parked => Some(WakeRight(NonNull::new(self.parker.header()))),
        }
    }

    /// Whether nobody has ended the wait yet. Under the lock of a queue in which it stands; those of others may end it
    /// at any time.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.word.is_open(self.number)
    }

    fn outcome(&self) -> Option<Outcome> {
        self.word.outcome().map(|o| if o == EXPIRED { Outcome::Expired } else { Outcome::Selected(o) })
    }

    /// Waits for the outcome, at most until `deadline`.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> Outcome {
        if self.word.park()
            && !self.parker.sleep(deadline)
            && self.word.select(self.number, EXPIRED) == Selected::Lost
        {
            // Selected at the last moment: the wake is on its way to this frame.
            let woken = self.parker.sleep(None);
            debug_assert!(woken, "there is no deadline to pass");
        }
        self.outcome().expect("a wait ends with an outcome")
    }

    /// Closes the wait: whoever tries to select it from now on comes too late. By its owner, once.
    pub(crate) fn end(&self) {
        self.word.end();
    }
}

// SAFETY: who selects it touches atomics.
unsafe impl Sleeper for Waiter {
    type Right = WakeRight;

    fn new(call: &'static WaitCall) -> Self {
        Waiter::new(call)
    }

    fn wait(&self) {
        let outcome = Waiter::wait(self, None);
        debug_assert_ne!(outcome, Outcome::Expired, "there is no deadline");
    }

    fn select(&self) -> WakeRight {
        Waiter::try_select(self, 0).expect("a wait without a deadline is ended once")
    }

    fn wake(right: WakeRight) {
        right.wake();
    }
}

impl TimedSleeper for Waiter {
    fn wait_timed(&self) -> Option<u32> {
        self.wait_until(None)
    }

    fn wait_until(&self, deadline: Option<Instant>) -> Option<u32> {
        match Waiter::wait(self, deadline) {
            Outcome::Selected(outcome) => Some(outcome),
            Outcome::Expired => None,
        }
    }

    fn try_select(&self, outcome: u32) -> Option<WakeRight> {
        Waiter::try_select(self, outcome)
    }

    fn give_up(&self) {
        self.end();
    }

    fn discard(self) {}
}
