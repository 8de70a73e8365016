//! Owns: `ChangeWaiter`, one who waits for a change: parked, or a future, by its waker.
//! May use: `host`, `raddle-core`, `raddle-protocol`.
//! Never: which variables it waits for.

use crate::host::{self, Waiter};
use raddle_protocol::call::WaitCall;
use raddle_protocol::protocol::sleeper::{Sleeper, TimedSleeper};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// One who waits for a change.
pub(crate) enum ChangeWaiter {
    /// A process, a thread, or an OS thread.
    Parked(Waiter),
    /// A future.
    Polled(PolledWaiter),
}

/// A future that waits. Its lock is held for some loads and stores, and in no code of the program's: under it one side
/// says that the wait is over, or takes the waker; the other sees that, or leaves a waker. So no wake is missed.
#[derive(Default)]
pub(crate) struct PolledWaiter(Mutex<PolledState>);

#[derive(Default)]
struct PolledState {
    is_over: bool,
    waker: Option<Waker>,
}

/// What is left to do when a wait has been ended.
pub(crate) enum WakeUp {
    Parked(<Waiter as Sleeper>::Right),
    Polled(Option<Waker>),
}

impl PolledWaiter {
    fn state(&self) -> MutexGuard<'_, PolledState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) -> Option<Waker> {
        let mut state = self.state();
        state.is_over = true;
        state.waker.take()
    }

    /// Whether the wait is over. If it is not, the waker of `context` is called when it is.
    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<()> {
        // The program's code, as is the drop of what was there.
        let waker = context.waker().clone();
        let mut state = self.state();
        if state.is_over {
            return Poll::Ready(());
        }
        let before = state.waker.replace(waker);
        drop(state);
        drop(before);
        Poll::Pending
    }
}

// SAFETY: a parked one is selected as its waiter is. Of a polled one nothing is touched but by its lock; and it is
// reached by the list in which it stands, which it leaves before it goes.
unsafe impl Sleeper for ChangeWaiter {
    type Right = WakeUp;

    fn new(_call: &'static WaitCall) -> ChangeWaiter {
        ChangeWaiter::Parked(host::waiter())
    }

    fn wait(&self) {
        if let ChangeWaiter::Parked(waiter) = self {
            Sleeper::wait(waiter);
        }
    }

    fn select(&self) -> WakeUp {
        self.try_select(0).expect("a wait without a deadline is ended once")
    }

    fn wake(right: WakeUp) {
        match right {
            WakeUp::Parked(right) => <Waiter as Sleeper>::wake(right),
            WakeUp::Polled(waker) => waker.into_iter().for_each(call),
        }
    }
}

impl TimedSleeper for ChangeWaiter {
    fn wait_timed(&self) -> Option<u32> {
        self.wait_until(None)
    }

    fn wait_until(&self, deadline: Option<Instant>) -> Option<u32> {
        match self {
            ChangeWaiter::Parked(waiter) => TimedSleeper::wait_until(waiter, deadline),
            ChangeWaiter::Polled(polled) => polled.state().is_over.then_some(0),
        }
    }

    fn try_select(&self, outcome: u32) -> Option<WakeUp> {
        match self {
            ChangeWaiter::Parked(waiter) => TimedSleeper::try_select(waiter, outcome).map(WakeUp::Parked),
            ChangeWaiter::Polled(polled) => Some(WakeUp::Polled(polled.end())),
        }
    }

    fn give_up(&self) {}

    fn discard(self) {}
}

/// A waker that panics is the affair of whoever made it: others are still to be woken, and the transaction that wakes
/// them has committed.
fn call(waker: Waker) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
        host::lose(panic);
    }
}
