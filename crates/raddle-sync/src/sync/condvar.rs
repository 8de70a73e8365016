//! Owns: `Condvar` and `WaitTimeoutResult`.
//! May use: `host`, `raddle-core`, `raddle-protocol`.
//! Never: remembering a notification.

use super::sleepers::{Timed, deadline, refuse_to_wait_in_task};
use super::{LockResult, MutexGuard, PoisonError};
use crate::host::choice::{counted_point, now, settle};
use crate::host::region;
use crate::host::{CallOn, Subject, Thing, Wait, WaitReason};
use raddle_protocol::protocol::condvar::CondWord;
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::time::{Duration, Instant};

/// A condition variable, as [`std::sync::Condvar`].
///
/// Waiting parks the process. A wait ends by a notification or its deadline alone, never for no reason; but look at the
/// condition again all the same: somebody may have been faster. `notify_one` wakes who has waited longest. Unlike
/// `std`'s on some systems, it may be used with several mutexes.
///
/// ```
/// use raddle::sync::{Arc, Condvar, Mutex};
///
/// let pair = Arc::new((Mutex::new(false), Condvar::new()));
/// let other = pair.clone();
/// let waits = raddle::csp::spawn(move || {
///     let started = other.0.lock().unwrap();
///     *other.1.wait_while(started, |started| !*started).unwrap()
/// });
/// *pair.0.lock().unwrap() = true;
/// pair.1.notify_one();
/// assert!(waits.join().unwrap());
/// ```
pub struct Condvar {
    word: CondWord<Timed>,
}

const WAIT: CallOn<Condvar> = CallOn::new("Condvar::wait", WaitReason::Wait);
const TRANSACTION: CallOn<Condvar> =
    CallOn::new("atomically for another transaction's end", WaitReason::Wait);

impl Subject for Condvar {
    const KIND: &'static str = "condition variable";

    fn things(&self, each: &mut dyn FnMut(Thing)) {
        each(Thing::shared(Condvar::KIND, self));
    }
}

impl UnwindSafe for Condvar {}
impl RefUnwindSafe for Condvar {}

/// Whether a wait with a deadline ended by it.
#[derive(Debug, PartialEq, Eq, Copy, Clone)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// True if the deadline passed before a notification came.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

type Waited<'a, T> = LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>;

impl Condvar {
    /// One for which nobody waits.
    #[must_use]
    #[inline]
    pub const fn new() -> Condvar {
        Condvar { word: CondWord::new() }
    }

    /// Gives the lock back, waits for a notification, takes the lock again. No notification is missed between.
    ///
    /// # Errors
    /// If the mutex is poisoned when it is taken again: the error holds the guard.
    ///
    /// # Panics
    /// Inside a task.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.wait_inner(guard, None).0
    }

    /// As [`wait`](Self::wait), of a transaction at `site` that waits until another has ended: so reports say.
    ///
    /// # Errors
    /// As that.
    #[doc(hidden)]
    pub fn wait_in_transaction<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        site: &'static Location<'static>,
    ) -> LockResult<MutexGuard<'a, T>> {
        self.wait_at(guard, None, const { &TRANSACTION }, site).0
    }

    #[track_caller]
    fn wait_inner<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        until: Option<Instant>,
    ) -> (LockResult<MutexGuard<'a, T>>, bool) {
        self.wait_at(guard, until, const { &WAIT }, Location::caller())
    }

    #[track_caller]
    fn wait_at<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        until: Option<Instant>,
        call: &'static CallOn<Condvar>,
        site: &'static Location<'static>,
    ) -> (LockResult<MutexGuard<'a, T>>, bool) {
        counted_point("Condvar::wait");
        refuse_to_wait_in_task(call.name());
        let (guard, notified) = guard.without_lock(site, |mutex| {
            let wait = Wait::on(call, self, site);
            let _shown = wait.show();
            let sleeper = Timed::until(call.call(), until);
            self.word.wait(sleeper, || mutex.unlock(false))
        });
        if !notified && region::is_cancelled_now() {
            // Nothing of what the mutex guards was being changed: it is not poisoned by this.
            drop(guard);
            region::unwind();
        }
        (guard, notified)
    }

    /// Waits until `condition` is false.
    ///
    /// # Errors
    /// If the mutex is poisoned: the error holds the guard.
    ///
    /// # Panics
    /// Inside a task, if it has to wait.
    #[track_caller]
    pub fn wait_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// As [`wait`](Self::wait), for at most `dur` and the time that it takes to get the lock again.
    ///
    /// # Errors
    /// If the mutex is poisoned when it is taken again: the error holds the guard and the result.
    ///
    /// # Panics
    /// Inside a task.
    #[track_caller]
    pub fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, dur: Duration) -> Waited<'a, T> {
        let (guard, notified) = self.wait_inner(guard, deadline(dur));
        let ended = WaitTimeoutResult(!notified);
        match guard {
            Ok(guard) => Ok((guard, ended)),
            Err(poisoned) => Err(PoisonError::new((poisoned.into_inner(), ended))),
        }
    }

    /// As [`wait_timeout`](Self::wait_timeout), with a number of milliseconds; false if the time has passed.
    ///
    /// # Errors
    /// As [`wait_timeout`](Self::wait_timeout).
    ///
    /// # Panics
    /// Inside a task.
    #[deprecated(since = "0.1.0", note = "replaced by `Condvar::wait_timeout`, as in std")]
    #[track_caller]
    pub fn wait_timeout_ms<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        ms: u32,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        match self.wait_timeout(guard, Duration::from_millis(u64::from(ms))) {
            Ok((guard, ended)) => Ok((guard, !ended.timed_out())),
            Err(poisoned) => {
                let (guard, ended) = poisoned.into_inner();
                Err(PoisonError::new((guard, !ended.timed_out())))
            }
        }
    }

    /// Waits until `condition` is false, for at most `dur`.
    ///
    /// # Errors
    /// If the mutex is poisoned: the error holds the guard and the result.
    ///
    /// # Panics
    /// Inside a task, if it has to wait.
    #[track_caller]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        dur: Duration,
        mut condition: F,
    ) -> Waited<'a, T>
    where
        F: FnMut(&mut T) -> bool,
    {
        let until = deadline(dur);
        loop {
            if !condition(&mut *guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            if until.is_some_and(|until| until <= now()) {
                return Ok((guard, WaitTimeoutResult(true)));
            }
            guard = match self.wait_inner(guard, until) {
                (Ok(guard), _) => guard,
                (Err(poisoned), notified) => {
                    return Err(PoisonError::new((poisoned.into_inner(), WaitTimeoutResult(!notified))));
                }
            };
        }
    }

    /// Wakes the one who has waited longest, if anybody waits.
    #[inline]
    #[track_caller]
    pub fn notify_one(&self) {
        counted_point("Condvar::notify_one");
        self.word.notify_one();
        settle("Condvar::notify_one");
    }

    /// Wakes all who wait.
    #[inline]
    #[track_caller]
    pub fn notify_all(&self) {
        counted_point("Condvar::notify_all");
        self.word.notify_all();
        settle("Condvar::notify_all");
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

impl Default for Condvar {
    /// One for which nobody waits.
    fn default() -> Condvar {
        Condvar::new()
    }
}
