//! Owns: how the queues of locks wait on the machine, and what is done between two looks at a lock.
//! May use: `wait::Waiter`, `process::wait`.
//! Never: a queue.

use crate::header::Kind;
use crate::process::wait::yield_now;
use crate::protocol::sleeper::{Sleeper, TimedSleeper};
use crate::wait::{Outcome, Waiter, WakeRight};
use crate::worker::current_header;
use std::hint::spin_loop;
use std::time::{Duration, Instant};

impl Sleeper for Waiter {
    type Right = WakeRight;

    fn new(what: &'static str) -> Self {
        Waiter::new(what)
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

/// A wait that may have a deadline.
pub(crate) struct Timed {
    waiter: Waiter,
    deadline: Option<Instant>,
}

impl Timed {
    pub(super) fn until(what: &'static str, deadline: Option<Instant>) -> Timed {
        Timed { waiter: Waiter::new(what), deadline }
    }
}

impl Sleeper for Timed {
    type Right = WakeRight;

    fn new(what: &'static str) -> Self {
        Timed::until(what, None)
    }

    fn wait(&self) {
        Sleeper::wait(&self.waiter);
    }

    fn select(&self) -> WakeRight {
        Sleeper::select(&self.waiter)
    }

    fn wake(right: WakeRight) {
        right.wake();
    }
}

impl TimedSleeper for Timed {
    fn wait_timed(&self) -> Option<u32> {
        match self.waiter.wait(self.deadline) {
            Outcome::Selected(outcome) => Some(outcome),
            Outcome::Expired => None,
        }
    }

    fn try_select(&self, outcome: u32) -> Option<WakeRight> {
        self.waiter.try_select(outcome)
    }
}

/// When `timeout` from now has passed; `None` if that is later than a clock can tell.
pub(super) fn deadline(timeout: Duration) -> Option<Instant> {
    Instant::now().checked_add(timeout)
}

/// Looks so often, when its turn is near, before it gives the core away.
const LOOKS: u32 = 64;
/// A turn is near when so many are before it.
///
/// PERF: 64 waiters on 2 workers, ns a lock (`queue_lock`): without a look at the number 1000 to 3500; near = 32, 4000
/// to 10000 in bad runs; 8, 80 to 280; 2, 100 to 150 (CLH) and 300 to 1400 (MCS). A thousand waiters still cost up to
/// 3500: the next one stands somewhere among 500 that its worker goes round. Parking those who are far would end that.
const NEAR: u32 = 2;

/// What one who waits by looking does between two looks: spins a while if its turn is near, else lets others run.
///
/// A process yields to the others of its worker, so that the holder, if it is one of them, goes on; an OS thread gives
/// its core to the kernel.
#[derive(Default)]
pub(super) struct Patience(u32);

impl Patience {
    #[inline]
    pub(super) fn look_again(&mut self, before: u32) {
        if before <= NEAR && self.0 < LOOKS {
            self.0 += 1;
            spin_loop();
        } else {
            yield_now();
        }
    }
}

/// Panics in a cell, which must not wait.
#[inline]
pub(super) fn refuse_to_wait_in_cell(what: &str) {
    // SAFETY: the word is null or the header of what runs here, which is alive.
    if unsafe { current_header().as_ref() }.is_some_and(|running| running.kind == Kind::Worker) {
        let _process = crate::process::wait::caller(what);
    }
}
