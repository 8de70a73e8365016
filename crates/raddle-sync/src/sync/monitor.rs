//! Owns: `Monitor` and `Condition`: a short lock around a state, and waiting for the state to change.
//! May use: `host::describe`, `raddle-core`, `raddle-protocol`.
//! Never: a wait, or code of users, while the state is locked.
//!
//! For what waits seldom and works briefly: barriers and `mpsc`. The lock is the OS thread's own and is never held
//! over a wait, so that what needs no wait (to send to an unbounded channel, to come last to a barrier) is allowed in
//! a task, too, and while a process unwinds.

use super::sleepers::Timed;
use crate::host::{Subject, WaitCall};
use raddle_protocol::protocol::condvar::CondWord;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Instant;

/// A state under a short lock.
pub(super) struct Monitor<T>(Mutex<T>);

/// Where one waits for a state to change.
pub(super) struct Condition(CondWord<Timed>);

impl<T> Monitor<T> {
    pub(super) const fn new(state: T) -> Self {
        Monitor(Mutex::new(state))
    }

    /// For a look by somebody who must not wait.
    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        // A state is changed in one go, and what may panic (a wait in a task) comes before.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subject for Condition {
    const KIND: &'static str = "channel";
}

impl Condition {
    pub(super) const fn new() -> Self {
        Condition(CondWord::new())
    }

    /// Gives the lock back, waits for a notification until the deadline, locks again. False if the deadline passed.
    pub(super) fn wait<'a, T>(
        &self,
        monitor: &'a Monitor<T>,
        state: MutexGuard<'a, T>,
        call: &'static WaitCall,
        until: Option<Instant>,
    ) -> (MutexGuard<'a, T>, bool) {
        let notified = self.0.wait(Timed::until(call, until), || drop(state));
        (monitor.lock(), notified)
    }

    pub(super) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(super) fn notify_all(&self) {
        self.0.notify_all();
    }
}
