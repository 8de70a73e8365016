//! Owns: `Barrier` and `BarrierWaitResult`.
//! May use: `host`, `raddle-core`, `raddle-protocol`.
//! Never: an ordering of its own.
//!
//! A count and a phase in a monitor: the last to come begins the next phase and wakes the others. Whoever is woken late
//! finds the phase changed, however many have begun since, so phases never overlap. The barriers of `csp`, in which
//! processes enrol and from which they resign, are another thing.

use super::monitor::{Condition, Monitor};
use super::sleepers::{deadline, refuse_to_wait_in_task};
use crate::host::choice::counted_point;
use crate::host::region;
use crate::host::{CallOn, Subject, Thing, Wait, WaitReason};
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::time::{Duration, Instant};

/// Where `n` threads wait for each other, again and again, as [`std::sync::Barrier`].
///
/// ```
/// use raddle::sync::{Arc, Barrier};
///
/// let barrier = Arc::new(Barrier::new(3));
/// let others: Vec<_> = (0..2)
///     .map(|_| {
///         let barrier = barrier.clone();
///         raddle::csp::spawn(move || barrier.wait().is_leader())
///     })
///     .collect();
/// let leaders = usize::from(barrier.wait().is_leader());
/// let leaders = others.into_iter().fold(leaders, |sum, other| sum + usize::from(other.join().unwrap()));
/// assert_eq!(leaders, 1);
/// ```
pub struct Barrier {
    state: Monitor<BarrierState>,
    changed: Condition,
    threads: usize,
}

impl UnwindSafe for Barrier {}
impl RefUnwindSafe for Barrier {}

const WAIT: CallOn<Barrier> = CallOn::new("Barrier::wait", WaitReason::Barrier);

impl Subject for Barrier {
    const KIND: &'static str = "barrier";

    fn things(&self, each: &mut dyn FnMut(Thing)) {
        each(Thing::shared(Barrier::KIND, self));
    }

    fn state(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        // Who has the lock may have been stopped, so that it can be looked at.
        let Some(state) = self.state.try_lock() else { return write!(out, "for {}", self.threads) };
        write!(out, "{} of {} have come", state.arrived, self.threads)
    }
}

struct BarrierState {
    arrived: usize,
    phase: usize,
}

/// Whether the caller of a wait was the last to arrive.
pub struct BarrierWaitResult(bool);

impl Barrier {
    /// One for `n` threads. With 0 it is as with 1: nobody waits.
    #[must_use]
    #[inline]
    pub const fn new(n: usize) -> Barrier {
        let state = Monitor::new(BarrierState { arrived: 0, phase: 0 });
        Barrier { state, changed: Condition::new(), threads: n }
    }

    /// As [`wait`](Self::wait), for at most `timeout`; `None` if too few have come by then; the caller is then not
    /// counted. Not part of `std`'s.
    ///
    /// # Panics
    /// Inside a task, if it has to wait.
    ///
    /// ```
    /// use std::time::Duration;
    /// let barrier = raddle::sync::Barrier::new(2);
    /// assert!(barrier.wait_timeout(Duration::from_millis(1)).is_none());
    /// ```
    #[track_caller]
    pub fn wait_timeout(&self, timeout: Duration) -> Option<BarrierWaitResult> {
        self.wait_until(deadline(timeout))
    }

    /// Waits until `n` threads have come. One of them, the last, is told that it is the leader.
    ///
    /// # Panics
    /// Inside a task, if it has to wait.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        self.wait_until(None).expect("there is no deadline")
    }

    #[track_caller]
    fn wait_until(&self, until: Option<Instant>) -> Option<BarrierWaitResult> {
        counted_point("Barrier::wait");
        let mut state = self.state.lock();
        let phase = state.phase;
        if state.arrived + 1 < self.threads {
            // Who must not wait has not come.
            refuse_to_wait_in_task(WAIT.name());
            state.arrived += 1;
            let wait = Wait::on(const { &WAIT }, self, Location::caller());
            let _shown = wait.show();
            let mut in_time = true;
            while state.phase == phase {
                if !in_time {
                    state.arrived -= 1;
                    drop(state);
                    region::check();
                    return None;
                }
                (state, in_time) = self.changed.wait(&self.state, state, WAIT.call(), until);
            }
            return Some(BarrierWaitResult(false));
        }
        state.arrived = 0;
        state.phase = state.phase.wrapping_add(1);
        drop(state);
        self.changed.notify_all();
        Some(BarrierWaitResult(true))
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

impl BarrierWaitResult {
    /// True for exactly one of the threads that a phase releases: the last to arrive.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult").field("is_leader", &self.is_leader()).finish()
    }
}
