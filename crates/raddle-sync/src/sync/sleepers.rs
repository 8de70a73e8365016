//! Owns: how the queues of locks wait on the machine, and what is done between two looks at a lock.
//! May use: `host`, `raddle-core`, `raddle-protocol`.
//! Never: a queue.

use crate::host::Crowd;
use crate::host::Holder;
use crate::host::choice::now;
use crate::host::park::{let_others_run, others_wait_here, wait_entered};
use crate::host::{Outcome, WaitCall, Waiter, WakeRight};
use crate::host::{at_home, wake};
use raddle_protocol::header::Header;
use raddle_protocol::protocol::sleeper::{Sleeper, TimedSleeper};
use raddle_protocol::protocol::turn::Turn;
use std::hint::spin_loop;
use std::time::{Duration, Instant};

/// A wait that may have a deadline.
pub(crate) struct Timed {
    waiter: Waiter,
    deadline: Option<Instant>,
}

impl Timed {
    #[track_caller]
    pub(super) fn until(call: &'static WaitCall, deadline: Option<Instant>) -> Timed {
        Timed { waiter: Waiter::new(call), deadline }
    }
}

// SAFETY: it is selected as its waiter is, which bears that.
unsafe impl Sleeper for Timed {
    type Right = WakeRight;

    fn new(call: &'static WaitCall) -> Self {
        Timed::until(call, None)
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

    fn give_up(&self) {
        self.waiter.end();
    }

    fn discard(self) {
        self.waiter.discard();
    }
}

/// When `timeout` from now has passed; `None` if that is later than a clock can tell.
pub(super) fn deadline(timeout: Duration) -> Option<Instant> {
    now().checked_add(timeout)
}

/// The looks at a lock that sleepers barge into, before going to sleep: each after a pause, the first after 32 turns of
/// a spin loop, half a microsecond, and then twice as many, up to 128.
///
/// PERF: a look takes the lock's line away from the holder, who is in the middle of many short visits as a rule. So the
/// longer the pause, the longer whoever has the line goes on with it. Two processes on 2 workers that do nothing but
/// add under a mutex, ns a lock, by the length of the first pause: 1 gives 14.6, 4 gives 12.6, 8 gives 10.4, 16 gives
/// 9.1, 32 gives 7.9, 64 gives 8.0 (parking_lot 9.8, std 19.0 in the same rounds).
#[derive(Default)]
pub(super) struct Looks(u32);

impl Looks {
    const FIRST_PAUSE: u32 = 32;
    /// The pause doubles so often, and then there are no more looks ...
    const DOUBLINGS: u32 = 2;
    /// ... but so many while nobody else waits and the caller's worker has nothing else to run.
    ///
    /// PERF: bench `mutex`, 2 processes on 2 workers, ns a lock: 17 without, 5 with (parking_lot 7, std 20). A waiter
    /// that sleeps costs the holder a wake, and until it has come round each lock and unlock a look at the queue. For
    /// 64 processes it is no gain: there, the fewer compete the better.
    const ALONE: u32 = 15;

    /// Pauses before another look; false if it is time to sleep: then the next looks begin anew.
    ///
    /// `only` says whether nobody else waits. One who holds the lock on the caller's own worker cannot go on meanwhile.
    pub(super) fn again(&mut self, holder: &Holder, only: bool) -> bool {
        let more = || only && self.0 < Self::ALONE && !keeps_others_waiting();
        let enough = self.0 >= Self::DOUBLINGS && !more();
        if enough || !holder.may_run_meanwhile() {
            self.0 = 0;
            return false;
        }
        let pause = Self::FIRST_PAUSE << self.0.min(Self::DOUBLINGS);
        (0..pause).for_each(|_| spin_loop());
        self.0 += 1;
        true
    }
}

/// Looks so often, when its turn is near, before it gives the core away.
const LOOKS: u32 = 64;
/// A turn is near when so many are before it: then the next one is called up, while there is time for that.
///
/// PERF: bench `queue_lock`, CLH, 64 / 1000 waiters on 2 workers, ns a lock: 2 gives 60 to 180 / 260 to 350, 5 gives
/// 50 to 150 / 40 to 320, 12 as 5, 32 gives 85 to 340 / 470 and more. Two waiters: 40 to 100. What is left at 1000
/// is cache lines: a wake on another worker moves four of them, and half of all are.
const NEAR: u32 = 5;

/// One whose turn is far, and who has its worker to itself, looks so often before it goes to sleep: for about as long
/// as to wake its worker would take.
///
/// PERF: without it a worker slept and was woken for each row of its processes in the queue: bench `queue_lock`, 64
/// waiters on 2 workers, CLH: 1000 ns a lock at best.
const FAR_LOOKS: u32 = 2000;

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
            let_others_run();
        }
    }
}

/// The turn of whoever runs in a queue lock. Holds what the lock is called in the panic of a task.
pub(super) struct InTurn<'a> {
    call: &'static WaitCall,
    crowd: &'a Crowd,
    patience: Patience,
    /// So often it has looked with its turn far.
    far: u32,
}

impl<'a> InTurn<'a> {
    pub(super) fn new(call: &'static WaitCall, crowd: &'a Crowd) -> InTurn<'a> {
        InTurn { call, crowd, patience: Patience::default(), far: 0 }
    }
}

impl Turn for InTurn<'_> {
    type Who = Header;

    #[inline]
    fn is_near(&self, before: u32) -> bool {
        before <= NEAR
    }

    /// Not while it is the only one that its worker has: to wake a worker takes as long as a thousand hand-overs.
    fn should_sleep(&self, before: u32) -> bool {
        let sleeps = !self.is_near(before) && (self.far > FAR_LOOKS || others_wait_here());
        if sleeps {
            self.crowd.note();
        }
        sleeps
    }

    #[inline]
    fn look_again(&mut self, before: u32) {
        self.far += u32::from(!self.is_near(before));
        self.patience.look_again(before);
    }

    #[inline]
    fn sleep(&mut self, enter: impl FnOnce(*mut Header) -> bool) {
        wait_entered(self.call, enter);
    }

    #[inline]
    unsafe fn wake(who: *mut Header) {
        // SAFETY: it waits in a queue of ours, and the caller has just taken the one right to wake it.
        unsafe { wake(who) };
    }
}

/// Whether a task runs here, which must not wait.
#[inline(always)]
pub(super) fn in_task() -> bool {
    at_home()
}

/// Whether something else could run here while the caller looks again and again: for a task, always.
pub(super) fn keeps_others_waiting() -> bool {
    in_task() || others_wait_here()
}

/// Panics in a task, which must not wait.
#[inline(always)]
#[track_caller]
pub(super) fn refuse_to_wait_in_task(what: &str) {
    if in_task() {
        refuse(what);
    }
}

#[cold]
#[track_caller]
fn refuse(what: &str) {
    let _process = crate::host::park::caller(what);
}
