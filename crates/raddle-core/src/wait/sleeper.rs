//! Owns: the waiter of this scheduler as the sleeper of a protocol.
//! May use: `raddle-protocol`.
//! Never: a queue.

use super::waiter::{Outcome, Waiter, WakeRight};
use raddle_protocol::call::WaitCall;
use raddle_protocol::protocol::sleeper::{Sleeper, TimedSleeper};
use std::time::Instant;

// SAFETY: who selects it touches the selection, which is made for all threads, and what never changes.
unsafe impl Sleeper for Waiter {
    type Right = WakeRight;

    fn new(call: &'static WaitCall) -> Self {
        Waiter::new(call)
    }

    fn wait(&self) {
        let outcome = self.wait_firmly(None);
        debug_assert_ne!(outcome, Outcome::Expired, "there is no deadline");
    }

    fn select(&self) -> WakeRight {
        Waiter::try_select(self, 0).expect("a wait without a deadline is ended once")
    }

    fn wake(right: WakeRight) {
        right.wake();
    }

    fn wake_rival(right: WakeRight) {
        right.wake_behind();
    }
}

/// Without a deadline, but a cancellation of the caller is one.
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

    fn discard(self) {
        // It has ended; its owner may be in another wait by now.
        std::mem::forget(self);
    }
}
